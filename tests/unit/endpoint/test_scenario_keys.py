# SPDX-License-Identifier: Apache-2.0
"""Shapes of a scenario's values: words, check and schema say the same."""

import jsonschema_rs
import pytest

from truegreen.core.shapes import OneOf, Text, Whole
from truegreen.endpoint.scenario_keys import (
    INNER,
    LISTS,
    MOST_ANSWER_CHARACTERS,
    TABLES,
    Answer,
    Answers,
    Expression,
    Number,
    Texts,
    Truth,
    answer_text,
)

VALUES = [True, 0, 1, 0.5, -1, 7.0, "", "x", "(", [], ["x"], [1], [{}], {}, {"a": [1]}, float("inf")]


@pytest.mark.parametrize(
    "shape",
    [Number(least=0, most=1), Answer(), Answers(), Truth(), Texts()],
    ids=lambda shape: type(shape).__name__,
)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_schema_and_check_agree(shape, value):
    """On every value that JSON has; the check may only be stricter about numbers that JSON has not."""
    if value == float("inf"):
        assert shape.wrong(value)
        return
    assert jsonschema_rs.is_valid(shape.schema(), value) is (shape.wrong(value) is None)


def test_an_expression_must_compile():
    """The reason is part of what is asked."""
    assert None is Expression().wrong("a|b")
    assert "unterminated" in Expression().wrong("(").asked
    assert Expression().wrong("").is_type
    assert jsonschema_rs.is_valid(Expression().schema(), "a")


def test_answers_are_texts_or_json_in_one_line():
    """A text is never quoted again."""
    assert '{"a": "é"}' == answer_text({"a": "é"})
    assert '"a"' == answer_text('"a"')
    assert "[]" == answer_text([])
    assert None is Answer().wrong("x" * MOST_ANSWER_CHARACTERS)
    assert Answer().wrong("x" * (MOST_ANSWER_CHARACTERS + 1))


def test_every_table_is_reached_and_every_key_has_a_meaning():
    """The tables form one tree from the root; the documentation has a sentence for each key."""
    reached = {"", *(f"{outer}.{name}".strip(".") for outer, names in INNER.items() for name in names)}
    assert set(TABLES) == reached
    assert set(TABLES) >= LISTS
    for table in TABLES.values():
        for key in table.values():
            assert key.meaning
            assert key.shape.words()
            assert isinstance(
                key.shape, (Number, Answer, Answers, Truth, Texts, Expression, OneOf, Text, Whole)
            )
