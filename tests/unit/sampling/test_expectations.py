# SPDX-License-Identifier: Apache-2.0
"""What follows from a set of expectations."""

from __future__ import annotations

import pytest

from truegreen.sampling.expect_read import expect_of


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"forbid_substrings": ["x"]}, True),
        ({"max_output_chars": 5, "format": "json"}, True),
        ({"max_items_per_key": 5}, True),
        ({"format": "json"}, False),
        ({"max_items_per_key": 5, "min_items_per_key": 1}, False),
        ({"forbid_substrings": ["x"], "required_keys": ["a"]}, False),
        ({"forbid_substrings": ["x"], "json_schema": {}}, False),
        ({"forbid_substrings": ["x"], "regex": "."}, False),
    ],
)
def test_only_negative_expectations_would_pass_on_nothing(given, expected):
    """Something forbidden or limited, and nothing asked."""
    assert expected is expect_of(given).is_only_negative


def test_keys_that_are_asked_come_once_in_order():
    """Closed lists, numbers, patterns; the whole answer is no key."""
    given = {"enum": {"b": [1]}, "number_range": {"a": [0, 1], "b": [0, 1]}, "regex": {"c": "x"}}
    assert ("b", "a", "c") == expect_of(given).keys_asked
    assert () == expect_of({"enum": [1], "number_range": [0, 1], "regex": "x"}).keys_asked
