# SPDX-License-Identifier: Apache-2.0
"""The grammar of sentences with facts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.report.sentence import filled, names_in, parsed


def _as_it_is(_name, value):
    return str(value)


def test_facts_stand_where_the_braces_were():
    """Texts and numbers alike."""
    assert "a of 3, b" == filled("{x} of {n}, b", {"x": "a", "n": 3}, _as_it_is)


def test_an_optional_part_goes_with_its_fact():
    """It stays when every fact in it is known, and is left out whole otherwise."""
    template = "down[ ({code} at {host})], again"
    assert "down (429 at h), again" == filled(template, {"code": 429, "host": "h"}, _as_it_is)
    assert "down, again" == filled(template, {"code": 429}, _as_it_is)


def test_another_missing_fact_reads_as_a_question_mark():
    """A rendering never fails for the want of a word."""
    assert "? of 2" == filled("{x} of {n}", {"n": 2}, _as_it_is)


def test_every_fact_goes_through_the_function_that_makes_it_harmless():
    """It gets the name, so that a command can quote and a page can mark up."""
    assert "<x:a> b" == filled("{x} b", {"x": "a"}, lambda name, value: f"<{name}:{value}>")


def test_a_fact_is_never_read_as_a_template():
    """Braces and brackets in a value stay what they are."""
    assert "{n}[{n}]" == filled("{x}", {"x": "{n}[{n}]", "n": 1}, _as_it_is)


def test_names_can_be_asked_with_and_without_the_optional_ones():
    """What a cause has to bring is less than what it may bring."""
    assert {"a", "b"} == names_in("{a}[ {b}]")
    assert {"a"} == names_in("{a}[ {b}]", needed=True)


@pytest.mark.parametrize(
    "template", ["{", "}", "{A}", "{}", "a]", "[{a}", "[[{a}]]", "[a]", "[]", "{a}[", "{a b}", "[{a}]]"]
)
def test_a_sentence_that_breaks_the_grammar_is_refused(template):
    """Stray braces, brackets that do not match, and optional parts that depend on nothing."""
    with pytest.raises(EvidenceProblem) as caught:
        parsed(template)
    assert "bad-sentence" == caught.value.code


@given(st.text(alphabet="ab{}[] ", max_size=20), st.text(max_size=5))
def test_no_template_does_anything_but_fill_or_refuse(template, value):
    """Whatever the text: a refusal with a code, or a sentence."""
    try:
        pieces = parsed(template)
    except EvidenceProblem:
        with pytest.raises(EvidenceProblem, match="bad-sentence"):
            filled(template, {"a": value}, _as_it_is)
    else:
        told = filled(template, {"a": value, "b": "-"}, _as_it_is)
        assert len(told) >= len(value) * sum(piece.parts.count(("name", "a")) for piece in pieces)
