# SPDX-License-Identifier: Apache-2.0
"""What a decision hangs on in an answer."""

import json

import pytest

from factories.contracts import contract_files
from truegreen.cassettes.contracts import read_contracts
from truegreen.cassettes.paths import pattern_of
from truegreen.cassettes.upkeep.decisions import changed_fields, decided, values_at

JSON = "application/json"


def _contract(**more):
    return read_contracts(contract_files(**more)).of("labels")


def _body(*texts):
    choices = [{"finish_reason": "stop", "message": {"content": text}} for text in texts]
    return json.dumps({"choices": choices}).encode()


def _decided(*values, **more):
    return decided(
        _contract(**more), _body(*(v if isinstance(v, str) else json.dumps(v) for v in values)), JSON
    )


BUG = {"label": "bug", "reason": "x"}


def test_only_declared_fields_decide():
    """Other words, other order: the same decision."""
    assert () == changed_fields(_decided(BUG), _decided({"reason": "other words", "label": "bug"}))
    assert ("label",) == changed_fields(_decided(BUG), _decided(BUG | {"label": "feature"}))


@pytest.mark.parametrize(("old", "new"), [(0, False), (1, True), ("1", 1), (None, ""), ([1], [1, 1])])
def test_types_decide_too(old, new):
    """0 is not false."""
    assert ("label",) == changed_fields(_decided(BUG | {"label": old}), _decided(BUG | {"label": new}))


def test_a_declared_field_that_is_gone_has_changed():
    """Absent is a value of its own, and equal to itself."""
    assert ("label",) == changed_fields(_decided(BUG), _decided({"reason": "x"}))
    assert () == changed_fields(_decided({"reason": "x"}), _decided({"reason": "y"}))


def test_every_choice_decides():
    """And every element of a list that is declared."""
    assert ("label",) == changed_fields(_decided(BUG, BUG), _decided(BUG, BUG | {"label": "feature"}))
    tags = {"decision": ("tags[*]",)}
    assert ("tags[1]",) == changed_fields(
        _decided(BUG | {"tags": [1, 2]}, **tags), _decided(BUG | {"tags": [1, 3]}, **tags)
    )


def test_an_answer_that_is_no_json_has_no_decision():
    """It breaks the contract instead."""
    found = _decided("I would say: bug")
    assert (None, 1) == (found.decision, len(found.broken))
    assert () == changed_fields(_decided(BUG), found)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a.b", [1]),
        ("a", [{"b": 1, "c": 2}]),
        ("a.*", [1, 2]),
        ("l[*].x", [3, 4]),
        ("l[1].x", [4]),
        ("l[9]", []),
        ("a[0]", []),
        ("l.x", []),
    ],
)
def test_values_at_a_pattern(pattern, expected):
    """Names, places, every one of either; what is not there is nowhere."""
    value = {"a": {"b": 1, "c": 2}, "l": [{"x": 3}, {"x": 4}]}
    assert expected == [found for _, found in values_at(value, pattern_of(pattern))]
