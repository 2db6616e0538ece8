# SPDX-License-Identifier: Apache-2.0
"""Shapes of inputs, and the answer to one.

What it decides: which shape an input has, by its keys alone. What it leaves: the answer, to the shape.

- An input has a shape if it has all of its keys and none beside those that the shape knows: a key that nobody
  reads could change the right answer.
- An input without a shape is ``unsupported``; so is one with two, which would be a defect of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

UNSUPPORTED = "unsupported"

PROSE = frozenset({"note", "notes", "comment"})
"""Keys for people, allowed in every input."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the product says to one input."""

    verdict: str
    """``admit``, ``hold``, ``block``, ``retry`` or ``unsupported``."""
    facts: dict[str, Any] = {}
    """Everything that was computed, by the name that cases use."""
    detail: str = ""
    """Why, in a sentence, where there is something to say."""


class Shape(Protocol):
    """One kind of input."""

    @property
    def name(self) -> str:
        """What the shape is called."""
        ...

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Whether an input has this shape."""
        ...

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """The product's answer."""
        ...


def has_keys(
    given: Mapping[str, Any], *, needed: frozenset[str], known: frozenset[str] = frozenset()
) -> bool:
    """Whether a mapping has all the keys that are needed, and none beside them that is not known."""
    return needed <= given.keys() <= needed | known | PROSE


def answer(given: Mapping[str, Any], shapes: Sequence[Shape]) -> Answer:
    """The answer of the one shape that an input has."""
    fitting = [shape for shape in shapes if shape.fits(given)]
    if len(fitting) != 1:
        names = " and ".join(shape.name for shape in fitting)
        detail = f"the input has two shapes: {names}" if fitting else "no shape has these keys"
        return Answer(verdict=UNSUPPORTED, detail=detail)
    return fitting[0].answer(given)
