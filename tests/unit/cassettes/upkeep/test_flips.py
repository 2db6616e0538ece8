# SPDX-License-Identifier: Apache-2.0
"""Exact bounds of a rate, against scipy's."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from truegreen.cassettes.upkeep.flips import GRID, at_least, at_most

STEP = 1 / GRID


@st.composite
def counts(draw):
    """So many of so many."""
    asked = draw(st.integers(1, 120))
    return draw(st.integers(0, asked)), asked


@given(counts())
def test_both_bounds_are_clopper_and_pearsons_rounded_outward(count):
    """Never inside of them, and outside by less than one step."""
    flipped, asked = count
    low = beta.ppf(0.05, flipped, asked - flipped + 1) if flipped else 0.0
    high = beta.ppf(0.95, flipped + 1, asked - flipped) if flipped < asked else 1.0
    assert low - STEP - 1e-9 <= float(at_least(flipped, asked)) <= low + 1e-9
    assert high - 1e-9 <= float(at_most(flipped, asked)) <= high + STEP + 1e-9


def test_the_ends_are_whole():
    """Nothing flipped is at least nothing; everything flipped at most everything."""
    assert (Fraction(0), Fraction(1)) == (at_least(0, 9), at_most(9, 9))


def test_one_flip_of_twelve_proves_little():
    """At least half a percent; eight of twelve prove two in five."""
    assert Fraction(42, GRID) == at_least(1, 12)
    assert at_least(8, 12) > Fraction(2, 5) - Fraction(1, 100)


@pytest.mark.parametrize(("flipped", "asked"), [(-1, 3), (4, 3), (0, 0), (1, 100_000)])
def test_counts_that_are_none_are_refused(flipped, asked):
    """Nothing is computed for them."""
    with pytest.raises(ValueError, match="is no count"):
        at_least(flipped, asked)
