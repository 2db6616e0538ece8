# SPDX-License-Identifier: Apache-2.0
"""What a change does to the recordings, in numbers that a reviewer can check."""

import json

import msgspec
import pytest

from factories.cassettes import CHAT, answered, asked, folder, recorder
from factories.contracts import SCHEMA, contract_files
from truegreen.cassettes.cassette import Header
from truegreen.cassettes.cassette_file import read_cassette, sealed, write_cassette
from truegreen.cassettes.store import REPLACED_LOG
from truegreen.cassettes.upkeep.review import lines, review

LABELS = (("x-truegreen-template", "labels"), ("x-truegreen-template-version", "1"))
LATER = "2026-11-30T00:00:00Z"


def _text(label, reason="because"):
    return json.dumps({"label": label, "reason": reason})


def _record(path, answers, *, now="2026-11-29T00:00:00Z", first=0):
    """A recording for each answer, by seed."""
    store = recorder(path, now=now, since=now)
    for seed, text in enumerate(answers, start=first):
        store.keep(asked(CHAT | {"seed": seed}, headers=LABELS), answered(text))


def _files(path, **more):
    opened = folder(path)
    files = {name: opened.read(name) for name in opened.names()}
    log = opened.read(REPLACED_LOG)
    return files | contract_files(**more) | ({REPLACED_LOG: log} if log else {})


def _hows(found):
    return sorted(one.how for one in found.touched)


def test_the_summary_counts_what_changed(tmp_path):
    """Three answers changed of which one decides otherwise, one is new, one gone, one recorded again."""
    _record(tmp_path, [_text("bug")] * 5)
    base = _files(tmp_path)
    _record(tmp_path, [_text("feature"), _text("bug", "b"), _text("bug", "c"), _text("bug")], now=LATER)
    _record(tmp_path, [_text("bug")], now=LATER, first=9)
    head = _files(tmp_path)
    gone = (set(base) & set(head) - set(contract_files()) - {REPLACED_LOG}) - {
        one.file for one in review(base, head).touched
    }
    del head[gone.pop()]
    found = review(base, head)
    assert (
        "3 changed answers, 1 changed decision field, schema 5/5, 1 new, 1 removed,"
        " 1 recorded again without a change"
    ) == found.line()
    assert (False, False) == (found.is_wrong, found.is_unknown)
    assert ["answer-changed"] * 3 + ["new", "recorded-again", "removed"] == _hows(found)


def test_nothing_changed_is_nothing(tmp_path):
    """The same folder twice."""
    _record(tmp_path, [_text("bug")])
    found = review(_files(tmp_path), _files(tmp_path))
    assert (
        (),
        "0 changed answers, 0 changed decision fields, schema 0/0, 0 new, 0 removed, 0 recorded again without a change",
    ) == (found.touched, found.line())


def test_a_replaced_answer_must_stand_in_the_log(tmp_path):
    """Without the line, with a line of another key, with another digest: told, and wrong."""
    _record(tmp_path, [_text("bug")])
    base = _files(tmp_path)
    _record(tmp_path, [_text("feature")], now=LATER)
    head = _files(tmp_path)
    assert not review(base, head).is_wrong
    log = head.pop(REPLACED_LOG)
    for forged in (
        None,
        b"",
        b"{",
        log.replace(b"sha256:", b"sha256:0"),
        b'{"key":1,"replaced":[2]}\n',
        b'{"key":1}\n[]\n',
    ):
        found = review(base, head | ({REPLACED_LOG: forged} if forged is not None else {}))
        assert (True, "unlogged") == (found.is_wrong, found.touched[0].problem)
        assert any("does not stand in replaced.jsonl" in line for line in lines(found))


@pytest.mark.parametrize("head", [b"", b"other\n", b"one\ntw"])
def test_the_log_only_grows(head):
    """Lines of base that are gone or changed are told."""
    found = review({REPLACED_LOG: b"one\ntwo\n"}, {REPLACED_LOG: head})
    assert (False, True) == (found.log_grows, found.is_wrong)
    assert "replaced.jsonl lost or changed lines that base has" in lines(found)
    assert review({REPLACED_LOG: b"one\n"}, {REPLACED_LOG: b"one\ntwo\n"}).log_grows


def test_answers_added_behind_replace_nothing(tmp_path):
    """One more answer to the same request needs no line."""
    _record(tmp_path, [_text("bug")])
    base = _files(tmp_path)
    recorder(tmp_path, now=LATER, since="2026-11-28T00:00:00Z").keep(
        asked(CHAT | {"seed": 0}, headers=LABELS), answered(_text("bug", "b"))
    )
    found = review(base, _files(tmp_path))
    assert (["answer-changed"], False) == (_hows(found), found.is_wrong)


def test_a_broken_contract_is_counted_and_told(tmp_path):
    """Without a word of the answer."""
    _record(tmp_path, [_text("bug"), _text("BOOM"), "no JSON at all"])
    found = review({}, _files(tmp_path))
    assert (3, 1, True) == (found.checked, found.kept, found.is_wrong)
    assert "BOOM" not in "\n".join(lines(found))


def test_what_cannot_be_read_is_unknown(tmp_path):
    """A cut file, contracts that are none."""
    _record(tmp_path, [_text("bug")])
    files = _files(tmp_path)
    name = next(name for name in files if name.endswith(".json") and "/" not in name)
    cut = review(files, files | {name: files[name][:40]})
    assert (["unreadable"], "cassette-truncated", True) == (
        _hows(cut),
        cut.touched[0].problem,
        cut.is_unknown,
    )
    odd = review({}, files | {"contracts.toml": b"x"})
    assert any("contracts cannot be read" in line for line in lines(odd))
    assert (True, 0) == (odd.is_unknown, odd.checked)
    linked = review({}, {"a.json": None})
    assert linked.is_unknown


def test_contracts_are_heads(tmp_path):
    """A loosened one is seen in the diff, and counts."""
    _record(tmp_path, [_text("other")])
    assert 0 == review({}, _files(tmp_path)).kept
    assert 1 == review({}, _files(tmp_path, schema=SCHEMA | {"properties": {}})).kept


def test_without_contracts_nothing_is_checked(tmp_path):
    """Which the summary shows: no schema, and no field of a decision."""
    _record(tmp_path, [_text("bug")])
    files = {name: data for name, data in _files(tmp_path).items() if "contract" not in name}
    assert "schema 0/0" in review({}, files).line()
    _record(tmp_path, [_text("feature")], now=LATER)
    head = {name: data for name, data in _files(tmp_path).items() if "contract" not in name}
    assert review(files, head).line().startswith("1 changed answer, 0 changed decision fields, schema 0/0")


def _coded(data, name):
    """The same recording with a content coding that nobody here undoes."""
    made = read_cassette(data, name)
    header = Header(name="content-encoding", value="x-unknown")
    answers = tuple(
        msgspec.structs.replace(one, headers=(*one.headers, header), view=None) for one in made.responses
    )
    return write_cassette(sealed(msgspec.structs.replace(made, responses=answers)))


def test_an_answer_that_is_not_decoded_is_unknown(tmp_path):
    """Not kept, not broken, not passed over: told, also where it replaces one that was."""
    _record(tmp_path, [_text("bug")])
    files = _files(tmp_path)
    name = next(name for name in files if name.endswith(".json") and "/" not in name)
    coded = files | {name: _coded(files[name], name)}
    for base in ({}, files):
        found = review(base, coded)
        assert (0, 1, True) == (found.checked, found.undecoded, found.is_unknown)
        assert any("not undone here" in line for line in lines(found))


def test_recorded_errors_are_not_held_against_a_contract(tmp_path):
    """No contract speaks of one."""
    recorder(tmp_path, keeps_errors=True).keep(asked(CHAT, headers=LABELS), answered("busy", status=429))
    assert ("new", 0, False) == (
        (found := review({}, _files(tmp_path))).touched[0].how, found.checked, found.is_wrong,
    )  # fmt: skip


def test_fields_are_compared_only_where_both_answers_are_decoded(tmp_path):
    """What is not decoded has no fields; and the answer counts as changed."""
    _record(tmp_path, [_text("bug")])
    base = _files(tmp_path)
    _record(tmp_path, [_text("feature")], now=LATER)
    head = _files(tmp_path)
    name = next(name for name in base if name.endswith(".json") and "/" not in name)
    found = review(base | {name: _coded(base[name], name)}, head)
    assert (1, 0) == (found.count("answer-changed"), found.changed_fields)
