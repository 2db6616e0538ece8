# SPDX-License-Identifier: Apache-2.0
"""Schemas and patterns that cannot hang and fetch nothing."""

from __future__ import annotations

import pytest

from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.sampling.linear import check_schema, pattern_matcher, violations


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_catastrophic_patterns_are_matched_in_linear_time(pattern):
    """Half a million characters that a backtracking engine would not survive."""
    assert not pattern_matcher(pattern)("a" * 500_000 + "!")


@pytest.mark.parametrize("pattern", ["(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", "(", "a{1000000}", "[b-a]"])
def test_patterns_without_a_linear_form_are_refused(pattern):
    """Look-around, back-references, errors, and what would not fit into memory."""
    with pytest.raises(UsageProblem) as caught:
        pattern_matcher(pattern)
    assert "bad-expectation" == caught.value.code


@pytest.mark.parametrize(
    "reference", ["https://example.invalid/x", "file:///etc/hostname", "other.json", "#/$defs/none"]
)
def test_a_schema_never_reads_anything(reference):
    """References to network, disk or nowhere are refused when the schema is read."""
    with pytest.raises(UsageProblem):
        check_schema({"$ref": reference})


def test_violations_have_places():
    """Path and message of each; none for a value that is valid."""
    schema = {"properties": {"a": {"items": {"type": "string"}}}}
    assert ["a.1"] == [where for where, _ in violations(schema, {"a": ["x", 1]})]
    assert [] == list(violations(schema, {"a": ["x"]}))


def test_a_schema_that_is_no_json_is_refused():
    """A set has no JSON form."""
    with pytest.raises(EvidenceProblem):
        check_schema({"enum": {1}})
