# SPDX-License-Identifier: Apache-2.0
"""When an answer agrees with the right one."""

from __future__ import annotations

import pytest

from truegreen.conformance.agreement import compare
from truegreen.conformance.shapes import UNSUPPORTED, Answer


def agrees(facts: dict, expect: dict, *, verdict: str = "hold") -> bool:
    """Whether an answer ``hold`` with these facts agrees."""
    return compare(Answer(verdict="hold", facts=facts), verdict=verdict, expect=expect).agrees


def test_the_verdict_and_every_computed_fact_have_to_be_right():
    """One wrong fact is disagreement, however right the rest is."""
    facts = {"passed": 3, "keys": ["a", "b"]}
    assert agrees(facts, {"passed": 3, "keys": ["a", "b"]})
    assert not agrees(facts, {"passed": 3, "keys": ["a"]})
    assert not agrees(facts, {"passed": 3}, verdict="block")


def test_what_was_not_computed_is_listed_and_does_not_count():
    """A fact that nobody computed is disclosed."""
    found = compare(Answer(verdict="hold", facts={"a": 1}), verdict="hold", expect={"a": 1, "b": 2})
    assert (True, ("b",)) == (found.agrees, found.not_computed)


def test_unsupported_agrees_with_nothing():
    """Not even with a file that asks for it."""
    found = compare(Answer(verdict=UNSUPPORTED), verdict=UNSUPPORTED, expect={})
    assert (False, False) == (found.agrees, found.is_verdict_right)


@pytest.mark.parametrize(
    ("found", "right", "expected"),
    [
        ({"reason": "duplicate-key"}, {"reason": "duplicate_key"}, True),
        ({"reason": "finish-reason-length"}, {"reason": "finish_reason=length"}, True),
        ({"reason": "not-json"}, {"reason": "duplicate_key"}, False),
        ({"sample": "no_evidence"}, {"sample": "no-evidence"}, True),
        ({"label": "a-b"}, {"label": "a_b"}, False),
        ({"reason": 1}, {"reason": "1"}, False),
        ({"rate": 0.1 + 0.2}, {"rate": 0.3}, True),
        ({"n": 1}, {"n": True}, False),
        ({"is": True}, {"is": 1}, False),
        ({"n": 1}, {"n": 1.0}, True),
        ({"list": [1, [2]]}, {"list": [1, [2]]}, True),
        ({"list": [1, 2]}, {"list": [2, 1]}, False),
        ({"list": "ab"}, {"list": ["a", "b"]}, False),
        ({"map": {"a": 1}}, {"map": {"a": 1.0}}, True),
        ({"map": {"a": 1}}, {"map": {"a": 1, "b": 2}}, False),
        ({"none": None}, {"none": None}, True),
        ({"none": None}, {"none": ""}, False),
    ],
)
def test_facts_are_compared_exactly_and_codes_by_their_words(found, right, expected):
    """Spelling of a code is no difference; a boolean is no number, an order is an order."""
    assert expected is agrees(found, right)


def test_what_differs_is_said():
    """Both values, for the person who reads the report."""
    found = compare(
        Answer(verdict="admit", facts={"n": 1, "w": "x"}), verdict="hold", expect={"n": 2, "w": "y"}
    )
    assert ("verdict admit, right is hold", "n 1, right is 2", 'w "x", right is "y"') == found.differing


@pytest.mark.parametrize(
    ("found", "right", "agrees"),
    [
        ({"a": 1, "b": None}, [1, None], True),
        ({"a": 1, "b": None}, {"a": 1}, True),
        ({"a": 1, "b": None}, {"a": 1, "b": None}, True),
        ({"a": 1, "b": None}, [None, 1], False),
        ({"a": 1, "b": None}, [1], False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"a": 2}, False),
        ([1], {"a": 1}, False),
    ],
)
def test_a_result_for_each_input_is_a_list_or_a_mapping(found, right, agrees):
    """A mapping may leave out inputs that came to nothing, and only those."""
    assert (
        agrees
        is compare(
            Answer(verdict="retry", facts={"wait": found}), verdict="retry", expect={"wait": right}
        ).agrees
    )
