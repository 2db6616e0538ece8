# SPDX-License-Identifier: Apache-2.0
"""From an answer to its value, and to the texts in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.sampling.decoded import decode, folded, is_blank, second_key, texts


def test_every_text_and_key_of_a_value_has_its_place():
    """Nested in objects and lists; numbers and null are no texts."""
    value = {"a": "x", "b": [{"c": "y"}, 1, None, "z"]}
    expected = [
        ("decoded key a", "a"),
        ("decoded value of a", "x"),
        ("decoded key b", "b"),
        ("decoded key b[0].c", "c"),
        ("decoded value of b[0].c", "y"),
        ("decoded value of b[3]", "z"),
    ]
    assert expected == list(texts(value))
    assert [("decoded value", "x")] == list(texts("x"))
    assert [] == list(texts(None))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("DROP", "drop"),
        ("Stra\u00dfe", "STRASSE"),
        ("\ufb01x", "FIX"),
        ("a\u200bb", "AB"),
        ("\u212b", "a\u030a"),
        ("x\ufe0f", "X"),
    ],
)
def test_texts_that_look_alike_fold_alike(one, other):
    """Letter case, ligatures, invisible characters, composed forms."""
    assert folded(one) == folded(other)


@given(st.text())
def test_folding_twice_changes_nothing_more(text):
    """A folded text is its own folded form, so that what is sought and where it is sought meet."""
    assert folded(text) == folded(folded(text))


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b", "\ufeff \u2060", "\u00ad"])
def test_what_cannot_be_seen_is_blank(text):
    """White space and format characters."""
    assert is_blank(text)
    assert not is_blank(text + ".")


def test_the_second_key_is_found_only_where_there_is_one():
    """An answer without one, or that is no JSON, has none."""
    assert "a" == second_key('{"a": 1, "a": 2}')
    assert second_key('{"a": 1}') is None
    assert second_key("no json") is None


def test_an_answer_that_is_too_long_is_refused():
    """More than four megabytes are not decoded."""
    with pytest.raises(EvidenceProblem) as caught:
        decode('"' + "x" * (4 * 1024 * 1024) + '"', may_be_fenced=True)
    assert "too-large" == caught.value.code
