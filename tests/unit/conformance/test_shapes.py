# SPDX-License-Identifier: Apache-2.0
"""Which shape an input has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truegreen.conformance.shapes import UNSUPPORTED, Answer, answer, has_keys


class Fixed:
    """A shape that is known by one key."""

    def __init__(self, name: str) -> None:
        """The name is the key."""
        self.name = name

    def fits(self, given: Mapping[str, Any]) -> bool:
        """By its key."""
        return has_keys(given, needed=frozenset({self.name}), known=frozenset({"other"}))

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """The value itself."""
        return Answer(verdict=given[self.name])


def test_an_input_is_answered_by_the_one_shape_that_it_has():
    """Keys that the shape knows, and notes for people, may stand beside."""
    shapes = (Fixed("a"), Fixed("b"))
    assert "hold" == answer({"a": "hold", "other": 1, "note": "text"}, shapes).verdict


def test_an_input_without_a_shape_is_unsupported():
    """A key that nobody reads could change the right answer."""
    found = answer({"a": "hold", "strange": 1}, (Fixed("a"),))
    assert (UNSUPPORTED, "no shape has these keys") == (found.verdict, found.detail)
    assert UNSUPPORTED == answer({}, ()).verdict


def test_an_input_with_two_shapes_is_unsupported():
    """Which of two answers would be right is not ours to guess."""
    found = answer({"a": "hold"}, (Fixed("a"), Fixed("a")))
    assert (UNSUPPORTED, "the input has two shapes: a and a") == (found.verdict, found.detail)
