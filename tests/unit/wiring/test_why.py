# SPDX-License-Identifier: Apache-2.0
"""What ``why`` takes its argument for, and what it reads."""

import json

import pytest

from factories import decisions as made
from factories.records import record_of
from truegreen.core.canonical import DEFAULT
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.report.line import line_of
from truegreen.report.reasons import catalogue
from truegreen.wiring.why import FORMATS, USUAL_PLACES, why

RECORD = record_of(made.broken_case())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("code", ["case-flaky", "all-lanes-hold", "topology-editable"])
def test_a_code_is_explained_in_every_form(tmp_path, code, form):
    """Admit, hold and note alike."""
    assert catalogue()[code].rule in why(code, tmp_path).text(form)


@pytest.mark.parametrize("form", FORMATS)
def test_a_decision_is_explained_in_every_form(tmp_path, form):
    """Its line, its leading cause, its evidence."""
    (tmp_path / "d.json").write_bytes(RECORD)
    told = why("d.json", tmp_path).text(form)
    for part in (line_of(made.broken_case()), "case-broken", made.digest("a")):
        assert part in told


def test_the_json_names_the_bytes_that_were_read(tmp_path):
    """The digest is the file's."""
    (tmp_path / "d.json").write_bytes(RECORD)
    assert sha256_of(RECORD) == json.loads(why("d.json", tmp_path).text("json"))["decision"]


def test_a_code_is_a_code_whatever_files_lie_around(tmp_path):
    """A file cannot take the place of the catalogue."""
    (tmp_path / "case-flaky").write_bytes(b"no decision")
    assert "case-flaky (hold)" in why("case-flaky", tmp_path).text("text")


def test_a_file_of_any_name_is_read_if_it_is_there(tmp_path):
    """Without an ending too."""
    (tmp_path / "mine").write_bytes(RECORD)
    assert "case-broken (block)" in why("mine", tmp_path).text("text")


@pytest.mark.parametrize("place", USUAL_PLACES)
def test_without_a_name_the_usual_places_are_looked_at(tmp_path, place):
    """Where the gate was told to leave its decision."""
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_bytes(RECORD)
    assert "case-broken (block)" in why(None, tmp_path).text("text")


@pytest.mark.parametrize(
    ("target", "problem", "code", "said"),
    [
        (None, ReachProblem, "no-decision", "no decision lies here"),
        ("gone.json", ReachProblem, "no-decision", "No such file"),
        (".", ReachProblem, "no-decision", "Is a directory"),
        ("a/b", ReachProblem, "no-decision", "No such file"),
        ("a.\x00", ReachProblem, "no-decision", "no name of a file"),
        ("a." + "x" * 400, ReachProblem, "no-decision", "File name too long"),
        ("case-flakey", UsageProblem, "unknown-reason-code", "the nearest are case-flaky"),
        ("xyzzy", UsageProblem, "unknown-reason-code", "none is called like it"),
        ("\x00", UsageProblem, "unknown-reason-code", "none is called like it"),
        ("", UsageProblem, "unknown-reason-code", "none is called like it"),
        ("y" * 5000, UsageProblem, "unknown-reason-code", "none is called like it"),
    ],
)
def test_what_is_neither_code_nor_file_is_one_clear_problem(tmp_path, target, problem, code, said):
    """Usage for a code that nobody knows, reach for a file that is not there."""
    folder = tmp_path / "x"
    folder.mkdir()
    with pytest.raises(problem) as caught:
        why(target, folder)
    assert (code, True) == (caught.value.code, said in caught.value.message)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (RECORD[: len(RECORD) // 2], "not-json"),
        (b"\xff\xfe", "byte-order-mark"),
        (b'{"a":1,"a":2}', "duplicate-key"),
        (b"[" * 100_000, "too-deep"),
        (b" " * (DEFAULT.max_bytes + 9), "too-large"),
        (b'{"schema":"truegreen/bundle/v1"}', "not-a-record"),
        (RECORD.replace(b'"word":"block"', b'"word":"admit!"', 1), "not-a-decision"),
    ],
)
def test_a_file_that_is_no_decision_is_refused_in_one_line(tmp_path, data, code):
    """Empty, cut, foreign, hostile: a problem of ours, never a crash."""
    (tmp_path / "d.json").write_bytes(data)
    with pytest.raises(EvidenceProblem) as caught:
        why("d.json", tmp_path)
    assert code == caught.value.code
