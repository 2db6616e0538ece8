# SPDX-License-Identifier: Apache-2.0
"""A decision's record, read back."""

import json

import msgspec
import pytest
from hypothesis import given

from factories import decisions as made
from factories.hostile import TEXTS
from factories.records import record_of
from simulators.github_runner import commands_in
from truegreen.core.canonical import write_json
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.report.as_json import json_of, read_decision, shown_json


@pytest.mark.parametrize("defect", sorted(set(made.DEFECTS) - {"hostile-names"}))
def test_a_record_gives_its_decision_back(defect):
    """Every field survives, and the digest is that of the bytes."""
    decision = made.DEFECTS[defect]()
    record = record_of(decision)
    assert (decision, sha256_of(record)) == read_decision(record)


def test_the_json_is_the_record():
    """What people see is what has the digest."""
    record = record_of(made.broken_case())
    assert record.decode() + "\n" == json_of(record)


@given(TEXTS)
def test_the_json_is_safe_in_a_log_and_keeps_its_value(text):
    """Nothing in it is obeyed by a terminal or a runner, and it means what it meant."""
    value = {"a": text.replace("\ud800", ""), "##[": ["##", ["x"]]}
    told = json_of(write_json(value))
    assert value == json.loads(told)
    assert told.removesuffix("\n").isprintable()
    assert [] == commands_in(told)
    assert "##[" not in told


@given(TEXTS)
def test_any_document_is_safe_in_a_log_and_keeps_its_value(text):
    """The documents of other verbs hold names that somebody else chose, too."""
    value = {"a": text.replace("\ud800", ""), "##[": ["##", ["x"], "::error::x"]}
    told = shown_json(value)
    assert value == json.loads(told)
    assert all(line.isprintable() for line in told.splitlines())
    assert [] == commands_in(told)
    assert "##[" not in told


def _with_body(**changed):
    record = msgspec.json.decode(record_of(made.admit()))
    return write_json({**record, "body": {**record["body"], **changed}})


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (b"", "empty", ""),
        (b"{", "not-json", ""),
        (b"{}", "not-a-record", ""),
        (record_of(made.admit())[:-1], "not-json", ""),
        (record_of(made.admit()).replace(b"decision/v1", b"decision/v2"), "not-a-decision", "decision/v2"),
        (
            record_of(made.admit()).replace(b"decision/v1", b"sample-ledger/v1"),
            "not-a-decision",
            "sample-ledger",
        ),
        (_with_body(word="approve"), "not-a-decision", "approve"),
        (_with_body(extra=1), "not-a-decision", "extra"),
        (_with_body(lanes=3), "not-a-decision", "lanes"),
        (_with_body(exit_code=-1), "not-a-decision", "exit_code"),
        (_with_body(line="x" * 141), "not-a-decision", "line"),
    ],
)
def test_what_is_no_decision_is_refused_with_what_was_found(data, code, said):
    """Empty, cut, another kind, another version, a word or a field that nobody knows."""
    with pytest.raises(EvidenceProblem) as caught:
        read_decision(data)
    assert (code, True) == (caught.value.code, said in caught.value.message)
