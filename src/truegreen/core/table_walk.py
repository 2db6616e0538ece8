# SPDX-License-Identifier: Apache-2.0
"""The walk over every combination of a decision table's facts.

What it decides: which rows are reached by no combination. What it leaves: what to do about them, to the loader.

The product of the fields is one long integer with a bit per combination, so that the walk over a million
combinations is a few operations on integers: a row takes its combinations out of those that are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

Value = str | bool
"""A fact: one of its field's texts, or a boolean."""

MAX_COMBINATIONS = 2**20
"""Size of the product of all fields that is walked; a table of this size is checked in milliseconds."""


def combinations(fields: Mapping[str, Sequence[Value]]) -> int:
    """How many combinations of facts there are."""
    return prod(len(values) for values in fields.values())


def unreachable(
    fields: Mapping[str, Sequence[Value]], whens: Sequence[Mapping[str, Sequence[Value]]]
) -> tuple[int, ...]:
    """Places of the conditions that no combination reaches, because earlier ones take all that they would match."""
    left = (1 << combinations(fields)) - 1
    having = _having(fields)
    unreached = []
    for place, when in enumerate(whens):
        taken = left
        for field, values in when.items():
            taken &= sum(having[field, value] for value in values)
        if not taken:
            unreached.append(place)
        left &= ~taken
    return tuple(unreached)


def _having(fields: Mapping[str, Sequence[Value]]) -> dict[tuple[str, Value], int]:
    """For each value of each field, the combinations that have it; a combination's bit is its number in mixed radix."""
    masks: dict[tuple[str, Value], int] = {}
    total = combinations(fields)
    stride = 1
    for field, values in fields.items():
        with_first_value = _repeated((1 << stride) - 1, stride * len(values), total)
        for place, value in enumerate(values):
            masks[field, value] = with_first_value << place * stride
        stride *= len(values)
    return masks


def _repeated(block: int, period: int, total: int) -> int:
    """The block at every multiple of the period below ``total``, by doubling."""
    width = period
    while width < total:
        block |= block << width
        width *= 2
    return block & ((1 << total) - 1)
