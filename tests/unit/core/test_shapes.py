# SPDX-License-Identifier: Apache-2.0
"""Shapes of values: check, words and schema say the same."""

import datetime as dt

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.policy_keys import KEYS
from truegreen.core.shapes import FORMATS, Above, ListOf, OneOf, Rule, Text, Whole, asked, written

SHAPES = {
    "text": Text(meaning="a text", max_characters=3),
    "ruled": Text(
        meaning="a text",
        max_characters=5,
        rules=(Rule(pattern="[^b]*", asked="no b"), Rule(format="nfc", asked="composed")),
    ),
    "one": OneOf(values=("a",)),
    "two": OneOf(values=("a", "b")),
    "whole": Whole(least=-1, most=3),
    "above": Above(most=2, unit="seconds"),
    "list": ListOf(item=OneOf(values=("a", "b")), meaning="a list", least=1, most=2),
} | {".".join(key.path): key.shape for key in KEYS.values()}

ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 1200),
    st.floats(-2, 4, allow_nan=False).filter(lambda number: not number.is_integer()),
    st.text(alphabet="ab/.*!\\ \n\u0301eé@~-:\u0085", max_size=6),
    st.sampled_from(
        ["main", "tests/llm", ".github/workflows/a.yml", "a" * 1025, "docs/**", "refs/heads/a", "@"]
    ),
)


@pytest.mark.parametrize("name", SHAPES)
@given(value=st.one_of(ATOMS, st.lists(ATOMS, max_size=3), st.dictionaries(st.just("a"), ATOMS)))
def test_check_and_schema_agree(name, value):
    """Whatever the value, both take it or both refuse it."""
    shape = SHAPES[name]
    schema = jsonschema_rs.Draft202012Validator(shape.schema(), validate_formats=True, formats=dict(FORMATS))
    assert schema.is_valid(value) == (shape.wrong(value) is None)


@pytest.mark.parametrize(
    ("name", "value", "is_type", "words"),
    [
        ("text", 1, True, "asked a text"),
        ("text", "", False, "asked a text of 1 to 3 characters"),
        ("text", "aaaa", False, "asked a text of 1 to 3 characters"),
        ("ruled", "ab", False, "asked no b"),
        ("ruled", "e\u0301", False, "asked composed"),
        ("ruled", "be\u0301", False, "asked no b"),
        ("one", "b", False, 'asked "a"'),
        ("two", "c", False, "one of a, b"),
        ("two", ["a"], True, "one of a, b"),
        ("whole", 4, False, "asked a whole number from -1 to 3"),
        ("whole", 1.0, True, "asked a whole number from -1 to 3"),
        ("whole", False, True, "asked a whole number from -1 to 3"),
        ("above", 0, False, "asked a number of seconds above 0 and up to 2"),
        ("above", float("inf"), False, "asked a number of seconds above 0 and up to 2"),
        ("above", 1 << 2000, False, "asked a number of seconds above 0 and up to 2"),
        ("above", True, True, "asked a number of seconds above 0 and up to 2"),
        ("list", "a", True, "asked a list"),
        ("list", [], False, "asked a list, 1 to 2 of them"),
        ("list", ["a", "c"], False, "one of a, b"),
        ("list", ["a", 1], True, "one of a, b"),
        ("list", ["a", "a"], False, "asked a list, each once"),
    ],
)
def test_what_is_asked_is_said_in_words(name, value, is_type, words):
    """A wrong type and a wrong value are told apart."""
    refused = SHAPES[name].wrong(value)
    assert (is_type, words) == (refused.is_type, asked(refused))


def test_a_list_says_which_element():
    """So that the element's own line can be shown."""
    assert [(1,), (1,), ()] == [SHAPES["list"].wrong(value).steps for value in (["a", 1], ["a", "a"], [])]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\x1b\n", '"a\\x1b\\x0a"'),
        ("redis://ana:hunter2@h:1/0", '"redis://…@h:1/0"'),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        ([1, 2], "a list of 2"),
        ({}, "a table"),
        (1.5, "1.5"),
        (1 << 127, "170141183460469231731687303715884105728"),
        (1 << 128, "a number of 129 bits"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (float("nan"), "nan"),
    ],
)
def test_a_value_is_shown_bounded_and_defused(value, shown):
    """Whatever a file holds, the sentence stays a sentence."""
    assert shown == written(value)


def test_a_long_value_is_cut():
    """Dates and numbers as texts do."""

    class Long:
        def __str__(self):
            return "x" * 41

    assert "x" * 40 + "…" == written(Long())


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("instant", "2026-11-01T00:00:00Z", "2026-11-31T00:00:00Z"),
        ("nfc", "\u00e9", "e\u0301"),
        ("path-pattern", "docs/**", "!docs"),
    ],
)
def test_a_format_is_what_the_readers_ask(name, good, bad):
    """Our formats have no meaning of their own."""
    assert (True, False) == (FORMATS[name](good), FORMATS[name](bad))
