# SPDX-License-Identifier: Apache-2.0
"""How often decisions flip, from so many of so many: exact one-sided bounds.

What it decides: the bounds and what they show. What it leaves: what a flip is, to ``drift``.

- Exact (Clopper and Pearson), in whole numbers: no floating point decides.
- Both bounds are rounded outward to four decimals, so that what is claimed holds.

Source: Clopper and Pearson, Biometrika 26 (1934), each side at its own level.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Final

GRID: Final = 10_000
"""Bounds are multiples of one in so many."""
ALPHA: Final = Fraction(1, 20)
"""Error of each bound."""
MOST: Final = 2_000
"""Most decisions that are counted together."""


def at_least(flipped: int, asked: int, alpha: Fraction = ALPHA) -> Fraction:
    """Lower bound of the rate: the largest multiple at which so many or more are no likelier than ``alpha``.

    Raises: ValueError for counts that are none, or too many.
    """
    _check(flipped, asked)
    if flipped == 0:
        return Fraction(0)
    low, high = 0, GRID  # the tail grows with the rate: at low it is within alpha, at high it is not
    while high - low > 1:
        middle = (low + high) // 2
        if _tail(flipped, asked, middle) <= alpha:
            low = middle
        else:
            high = middle
    return Fraction(low, GRID)


def at_most(flipped: int, asked: int, alpha: Fraction = ALPHA) -> Fraction:
    """Upper bound of the rate: by symmetry the lower bound of what did not flip.

    Raises: ValueError for counts that are none, or too many.
    """
    return 1 - at_least(asked - flipped, asked, alpha)


def _tail(least: int, asked: int, rate: int) -> Fraction:
    """P(at least so many of ``asked``) at ``rate`` of ``GRID``, exactly."""
    other = GRID - rate
    ways = sum(comb(asked, n) * rate**n * other ** (asked - n) for n in range(least, asked + 1))
    return Fraction(ways, GRID**asked)


def _check(flipped: int, asked: int) -> None:
    if not 0 <= flipped <= asked or not 1 <= asked <= MOST:
        raise ValueError(f"{flipped} of {asked} is no count of 1 to {MOST} decisions")
