# SPDX-License-Identifier: Apache-2.0
"""Reading expectations: what is refused, and what follows from what."""

from __future__ import annotations

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.sampling.expect_read import expect_of


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "expect is null"),
        ({}, "expect is a mapping of 0"),
        ([], "expect is a list of 0"),
        ("json", 'expect is "json"'),
        ({"forbid_substrings": []}, "asks for nothing"),
        ({"format": "text"}, "asks for nothing"),
        ({"required_key": ["a"]}, 'unknown expectation "required_key"'),
        ({"format": "xml"}, 'format is "xml"'),
        ({"format": True}, "format is true"),
        ({"format": "text", "required_keys": ["a"]}, "are about decoded JSON"),
        ({"format": "text", "number_range": [0, 1]}, "are about decoded JSON"),
        ({"required_keys": "a"}, 'required_keys is "a", a list of texts'),
        ({"required_keys": [1]}, 'required_keys.0 is "1", a text is asked'),
        ({"required_keys": [""]}, "a text is asked"),
        ({"required_keys": ["a", "a"]}, "a second time"),
        ({"forbid_substrings": ["\u200b"]}, "nothing is visible"),
        ({"forbid_substrings": [False]}, "forbid_substrings.0 is false"),
        ({"max_items_per_key": "5"}, 'max_items_per_key is "5"'),
        ({"max_items_per_key": True}, "max_items_per_key is true"),
        ({"max_items_per_key": -1}, 'is "-1", a whole number of 0 or more'),
        ({"max_items_per_key": 1.5}, "a whole number"),
        ({"max_output_chars": 0}, "a whole number of 1 or more"),
        ({"max_output_chars": None}, "max_output_chars is null"),
        ({"min_items_per_key": 3, "max_items_per_key": 2}, "more than max_items_per_key"),
        ({"json_schema": "schema.json"}, "no file can be read here"),
        ({"json_schema": 5}, "a schema or the path"),
        ({"json_schema": {"type": "strin"}}, "cannot be used"),
        ({"json_schema": {"$ref": "https://example.invalid/s.json"}}, "cannot be used"),
        ({"json_schema": {"$ref": "file:///etc/passwd"}}, "cannot be used"),
        ({"json_schema": {"pattern": "(?=a)b"}}, "cannot be used"),
        ({"json_schema": {"const": 2**60}}, "outside"),
        ({"enum": []}, "enum is a list of 0"),
        ({"enum": "a"}, 'enum is "a"'),
        ({"enum": {}}, "enum is empty"),
        ({"enum": {"k": "a"}}, 'enum.k is "a"'),
        ({"enum": [["a"]]}, "enum.0 is a list of 1"),
        ({"number_range": [1]}, "number_range is a list of 1"),
        ({"number_range": [1, 2, 3]}, "number_range is a list of 3"),
        ({"number_range": ["a", 2]}, "number_range is a list of 2"),
        ({"number_range": [2, 1]}, "has min 2, more than max 1"),
        ({"number_range": {}}, "number_range is empty"),
        ({"number_range": {"k": 5}}, 'number_range.k is "5"'),
        ({"number_range": {"k": {"min": True}}}, "number_range.k is a mapping of 1"),
        ({"number_range": {"k": {"from": 1}}}, "number_range.k is a mapping of 1"),
        ({"regex": 5}, 'regex is "5"'),
        ({"regex": ""}, 'regex is ""'),
        ({"regex": {}}, "regex is empty"),
        ({"regex": "("}, "no look-around"),
        ({"regex": r"(a)\1"}, "no look-around, no back-reference"),
        ({"regex": "(?<=a)b"}, "no look-around"),
        ({"regex": {"k": "\ud800"}}, "no look-around"),
    ],
)
def test_what_is_no_expectation_is_refused(given, words):
    """Wrong keys, types and contradictions, each with its place and what was found."""
    with pytest.raises(UsageProblem) as caught:
        expect_of(given)
    assert "bad-expectation" == caught.value.code
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max_output_chars": 5}, "text"),
        ({"regex": "a"}, "text"),
        ({"enum": ["a"]}, "text"),
        ({"required_keys": ["a"]}, "json"),
        ({"max_items_per_key": 0}, "json"),
        ({"json_schema": {}}, "json"),
        ({"number_range": [0, 1]}, "json"),
        ({"enum": {"k": ["a"]}}, "json"),
        ({"regex": {"k": "a"}}, "json"),
        ({"format": "fenced-json", "required_keys": ["a"]}, "fenced-json"),
        ({"format": "json"}, "json"),
    ],
)
def test_what_is_expected_says_whether_the_answer_is_decoded(given, expected):
    """Expectations about keys and numbers make it JSON unless the case names a form."""
    assert expected == expect_of(given).format


def test_keys_called_min_and_max_are_keys_when_they_hold_bounds():
    """``{min: 0}`` is a bound of the answer, ``{min: [0, 1]}`` bounds the key min."""
    (whole,) = expect_of({"number_range": {"min": 0}}).ranges
    assert (None, 0, None) == (whole.key, whole.low, whole.high)
    (keyed,) = expect_of({"number_range": {"min": [0, 1]}}).ranges
    assert ("min", 0, 1) == (keyed.key, keyed.low, keyed.high)


def test_a_schema_that_is_named_is_read_by_the_caller():
    """The reader is asked with the name as it stands there."""
    asked = []
    found = expect_of(
        {"json_schema": "s.json"}, read_schema=lambda name: asked.append(name) or {"type": "object"}
    )
    assert (["s.json"], {"type": "object"}) == (asked, found.json_schema)
    with pytest.raises(UsageProblem, match="a schema or the path"):
        expect_of({"json_schema": "s.json"}, read_schema=lambda _: [1])


def test_places_are_named_by_the_caller():
    """A case file names file and line."""
    with pytest.raises(UsageProblem, match=r"^here 7: enum\.k\.0 is a mapping of 0"):
        expect_of({"enum": {"k": [{}]}}, at=lambda path: f"here {len(path) + 4}")
