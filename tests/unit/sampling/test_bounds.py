# SPDX-License-Identifier: Apache-2.0
"""The bounds against scipy, against the exact error of a sequential stop, and in words."""

from __future__ import annotations

from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from truegreen.core.errors import EvidenceProblem
from truegreen.sampling.bounds import (
    Bounds,
    EmptySampleProblem,
    anytime_high,
    anytime_low,
    both_in_words,
    bounds,
    exact_high,
    exact_low,
    high_in_words,
    low_in_words,
)
from truegreen.sampling.sequential import Ruling, fixed, limits, sequential, smoke

NEAR = 1e-9
"""Distance at which a quantile computed in floating point may fall on either side of a hundredth."""


def oracle_low(passed: int, asked: int) -> float:
    """The quantile form of the exact lower bound."""
    return float(beta.ppf(0.05, passed, asked - passed + 1)) if passed else 0.0


def oracle_high(passed: int, asked: int) -> float:
    """The quantile form of the exact upper bound."""
    return float(beta.ppf(0.95, passed + 1, asked - passed)) if passed < asked else 1.0


@pytest.mark.parametrize("asked", [1, 2, 3, 5, 10, 14, 20, 29, 41, 59, 100])
def test_exact_bounds_are_the_quantiles_rounded_outward(asked):
    """Every k of n: within a hundredth of scipy's quantile and never inside it."""
    for passed in range(asked + 1):
        low, high = oracle_low(passed, asked), oracle_high(passed, asked)
        assert exact_low(passed, asked) in {floor((low - NEAR) * 100) / 100, floor((low + NEAR) * 100) / 100}
        assert exact_high(passed, asked) in {ceil((high - NEAR) * 100) / 100, ceil((high + NEAR) * 100) / 100}
        assert exact_low(passed, asked) <= passed / asked <= exact_high(passed, asked)


@pytest.mark.parametrize(
    ("passed", "asked", "published"),
    [
        (3, 3, 0.368),
        (5, 5, 0.549),
        (10, 10, 0.741),
        (14, 14, 0.807),
        (2, 3, 0.135),
        (20, 20, 0.861),
        (29, 29, 0.902),
        (8, 10, 0.493),
        (19, 20, 0.784),
    ],
)
def test_published_lower_bounds_come_out_rounded_down(passed, asked, published):
    """The figures of the interval table, cut to two digits."""
    assert floor(published * 100) / 100 == exact_low(passed, asked)


def test_five_of_five_proves_little_more_than_half():
    """5 of 5 after a fixed n: at least 0.54, never 0.55 and never 1.00."""
    assert Bounds(low=0.54, high=1.0, anytime=False) == bounds(5, 0, 0, fixed(5))


@pytest.mark.parametrize(
    ("failed", "published"), [(3, 0.632), (5, 0.451), (10, 0.259), (14, 0.193), (20, 0.139)]
)
def test_published_upper_bounds_come_out_rounded_up(failed, published):
    """Only failures: the upper bounds of the table, rounded up."""
    assert ceil(published * 100) / 100 == exact_high(0, failed)


def test_unknown_samples_widen_both_ends():
    """Three passes, one failure and one sample without a verdict: low as 3 of 5, high as 4 of 5."""
    assert Bounds(low=exact_low(3, 5), high=exact_high(4, 5), anytime=False) == bounds(3, 1, 1, fixed(5))
    rule = smoke()
    shown = bounds(3, 1, 1, rule)
    assert Bounds(low=anytime_low(3, 5, rule), high=anytime_high(4, 5, rule), anytime=True) == shown


@pytest.mark.parametrize("ask", [exact_low, exact_high])
def test_no_sample_has_no_rate(ask):
    """0 of 0 is refused: 0.0 would read as "always fails"."""
    with pytest.raises(EmptySampleProblem):
        ask(0, 0)
    with pytest.raises(EmptySampleProblem):
        bounds(0, 0, 0, smoke())


@pytest.mark.parametrize(("passed", "asked"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(passed, asked):
    """More passes than samples, or fewer than none, is no evidence."""
    with pytest.raises(EvidenceProblem, match="cannot be"):
        exact_low(passed, asked)


RULES = [smoke(), sequential("standard", p_good="0.95", p_bad="0.80", alpha="0.05", beta="0.05", cap=60)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("cases", [1, 12, 100])
def test_the_bound_never_contradicts_the_rule(rule, cases):
    """Wherever the rule says PASS the low bound is p_bad or more; wherever it says FAIL the high one is p_good or less."""
    for j in (1, 3):
        table = limits(rule, cases=cases, j=j)
        for asked in range(1, rule.cap + 1):
            for passed in range(asked + 1):
                ruling = table.ruling(passed, asked)
                low, high = anytime_low(passed, asked, rule), anytime_high(passed, asked, rule)
                assert low <= high
                assert ruling is not Ruling.PASS or low >= rule.p_bad
                assert ruling is not Ruling.FAIL or high <= rule.p_good


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.6, 0.8, 0.9, 0.95])
def test_anytime_bounds_hold_at_every_look(rule, rate):
    """Looking after each of 60 samples, the chance that a bound ever misses the true rate is 5 % at most, exactly."""
    for misses in (
        lambda passed, asked: anytime_low(passed, asked, rule) > rate,
        lambda passed, asked: anytime_high(passed, asked, rule) < rate,
    ):
        still_open, missed = {0: 1.0}, 0.0
        for asked in range(1, 61):
            following: dict[int, float] = {}
            for passed, weight in still_open.items():
                following[passed + 1] = following.get(passed + 1, 0.0) + weight * rate
                following[passed] = following.get(passed, 0.0) + weight * (1 - rate)
            still_open = {}
            for passed, weight in following.items():
                if misses(passed, asked):
                    missed += weight
                else:
                    still_open[passed] = weight
        assert missed <= 0.05


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
def test_worst_case_bounds_enclose_every_completion(passed, failed, unknown):
    """Whatever the samples without a verdict would have said, the bounds enclose what that would have shown."""
    if passed + failed + unknown == 0:
        return
    for rule in (fixed(5), smoke()):
        shown = bounds(passed, failed, unknown, rule)
        for would_pass in range(unknown + 1):
            completed = bounds(passed + would_pass, failed + unknown - would_pass, 0, rule)
            assert shown.low <= completed.low
            assert shown.high >= completed.high


def test_bounds_read_as_sentences():
    """Words for people, with the percentage that was proved and nothing that was not."""
    six = bounds(6, 0, 0, smoke())
    assert "works at least 57 % of the time (95 % sure)" == low_in_words(six)
    assert "not shown to fail at all" == high_in_words(six)
    assert low_in_words(six) == both_in_words(six)
    dead = bounds(0, 3, 0, smoke())
    assert "works at most 82 % of the time (95 % sure)" == high_in_words(dead)
    assert "not shown to work at all" == low_in_words(dead)
    assert high_in_words(dead) == both_in_words(dead)
    mixed = bounds(3, 2, 0, fixed(5))
    assert "works between 18 % and 93 % of the time (each 95 % sure)" == both_in_words(mixed)
    nothing = bounds(0, 0, 1, smoke())
    assert "may work always, never or anything between" == both_in_words(nothing)
