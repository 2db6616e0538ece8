# SPDX-License-Identifier: Apache-2.0
"""What is said of a suite of cases."""

from __future__ import annotations

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.sampling.cases import Case, check_ids, warnings
from truegreen.sampling.expect_read import expect_of


def case(name: str = "a", *, expect: dict | None = None, **also) -> Case:
    """A case with little in it."""
    return Case(
        id=f"c.yaml::{name}",
        file="c.yaml",
        line=3,
        input="in.txt",
        prompt=None,
        expect=expect_of(expect or {"format": "json"}),
        **also,
    )


def codes(*cases: Case) -> list[str]:
    """Codes of all warnings."""
    return [warning.code for warning in warnings(cases)]


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        ({"forbid_substrings": ["I cannot", "As an AI"]}, []),
        ({"forbid_substrings": ["```"]}, ["asserts-formatting"]),
        ({"forbid_substrings": ["a\nb"]}, ["asserts-formatting"]),
        ({"forbid_substrings": ["two  blanks"]}, ["asserts-formatting"]),
        ({"forbid_substrings": ["# Heading"]}, ["asserts-formatting"]),
        ({"forbid_substrings": ["**bold**"]}, ["asserts-formatting"]),
        ({"forbid_substrings": ["the quick brown fox jumps over the dog"]}, ["asserts-prose"]),
        ({"enum": ["safe", "unsafe"]}, []),
        ({"enum": {"k": ["this is a whole sentence of nine words here"]}}, ["asserts-prose"]),
        ({"enum": {"k": [1, True]}}, []),
        ({"regex": "^[0-9]{4}-[0-9]{2}$"}, []),
        ({"regex": r"\n\n"}, ["asserts-formatting"]),
        ({"regex": r"^# "}, ["asserts-formatting"]),
        ({"regex": "Thank you for your order we will ship it soon"}, ["asserts-prose"]),
    ],
)
def test_wording_and_layout_draw_a_warning(expect, expected):
    """Prose, white space and Markdown; structure does not."""
    assert expected == codes(case(expect=expect))


def test_a_warning_names_file_line_and_reason():
    """People find the place."""
    (warning,) = warnings([case(expect={"forbid_substrings": ["a\tb"]})])
    assert ("c.yaml", 3) == (warning.file, warning.line)
    assert "white space or Markdown" in warning.message


def test_a_second_golden_case_of_a_feature_draws_a_warning():
    """One for people to read; without a feature, or for another one, nothing is said."""
    first = case("a", golden=True, feature="changelog")
    assert [] == codes(first, case("b", feature="changelog"), case("c", golden=True), case("d", golden=True))
    assert [] == codes(first, case("b", golden=True, feature="search"))
    assert ["second-golden"] == codes(first, case("b", golden=True, feature="changelog"))


def test_two_cases_with_one_id_are_refused():
    """Samples are counted by id."""
    check_ids([case("a"), case("b")])
    with pytest.raises(UsageProblem) as caught:
        check_ids([case("a"), case("b"), case("a")])
    assert "unstable-id" == caught.value.code
