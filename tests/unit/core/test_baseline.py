# SPDX-License-Identifier: Apache-2.0
"""The committed announcements: baseline and removals."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.baseline import read_baseline, read_removed
from truegreen.core.errors import EvidenceProblem

DIGEST = "sha256:" + "0" * 64


def _baseline(**changed):
    lane = {
        "ruler": DIGEST,
        "components": {"tests/llm": "h1:" + "A" * 43 + "="},
        "case_ids": ["a::1", "a::2"],
        "inputs": [],
        "prompts": ["prompts/reply.md"],
        "endpoint": None,
        "models_served": [],
        "previous": None,
        "reason": "first baseline",
    }
    return json.dumps({"schema": "truegreen/baseline/v1", "lanes": {"model-tests": lane | changed}}).encode()


def test_a_baseline_is_read_by_lane():
    """What was agreed on, and why."""
    lane = read_baseline(_baseline()).lanes["model-tests"]
    assert (("a::1", "a::2"), "first baseline", None) == (lane.case_ids, lane.reason, lane.previous)


@pytest.mark.parametrize(
    "data",
    [
        _baseline(reason=""),
        _baseline(reason=" \n"),
        _baseline(case_ids=["a::2", "a::1"]),
        _baseline(case_ids=["a::1", "a::1"]),
        _baseline(case_ids="a::1"),
        _baseline(rate=0.9),
        _baseline(ruler=None),
        _baseline(ruler="sha256:0"),
        _baseline(components={"tests/llm": "h1:x"}),
        b'{"schema": "truegreen/baseline/v2", "lanes": {}}',
        b'{"schema": "truegreen/baseline/v1"}',
        b'{"schema": "truegreen/baseline/v1", "lanes": []}',
        b"[]",
    ],
)
def test_a_baseline_that_says_less_or_more_is_refused(data):
    """No reason, ids out of order or twice, rates, other schemas: with the command that writes it right."""
    with pytest.raises(EvidenceProblem) as caught:
        read_baseline(data)
    assert ("bad-baseline", "truegreen ledger baseline") == (caught.value.code, caught.value.hint)


ENTRY = '[[removed]]\nid = "a::1"\nlane = "model-tests"\nreason = "the feature is gone"\nowner = "@ana"\n'
HEAD = 'schema = "truegreen/removed/v1"\n'


def test_removals_are_read_in_order():
    """One id may be gone from two lanes; a rename says where it went."""
    text = HEAD + ENTRY + 'renamed_to = "a::9"\n' + ENTRY.replace("model-tests", "other")
    assert [("model-tests", "a::9"), ("other", None)] == [
        (entry.lane, entry.renamed_to) for entry in read_removed(text.encode())
    ]


def test_a_file_without_entries_removes_nothing():
    """It is a file, and it is empty."""
    assert () == read_removed(HEAD.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        ENTRY,
        HEAD.replace("v1", "v2"),
        HEAD + ENTRY + ENTRY,
        HEAD + ENTRY.replace("@ana", ""),
        HEAD + ENTRY.replace("a::1", ""),
        HEAD + "x = " + "[" * 5000,
        HEAD + "x = " + "1" * 5000,
        HEAD + ENTRY.replace("the feature is gone", "  "),
        HEAD + ENTRY + 'rate = "0.9"\n',
        HEAD + ENTRY.replace('"@ana"', "1"),
        HEAD + 'id = "a"\nid = "b"\n',
        HEAD + "removed = [",
        "\ufeff" + HEAD,
    ],
)
def test_removals_that_say_less_or_more_are_refused(text):
    """No owner, no reason, an id twice, unknown keys, no TOML."""
    with pytest.raises(EvidenceProblem) as caught:
        read_removed(text.encode())
    assert "bad-removed" == caught.value.code


@given(st.binary(max_size=100))
def test_whatever_the_bytes_there_is_an_answer_or_a_problem(data):
    """No other exception leaves the readers."""
    for read in (read_baseline, read_removed):
        with pytest.raises(EvidenceProblem):
            read(data)
