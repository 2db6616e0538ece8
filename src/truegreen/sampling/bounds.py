# SPDX-License-Identifier: Apache-2.0
"""What k passes of n prove about a pass rate, rounded outward to two digits, and in words.

What it decides: one-sided bounds, each 95 % sure. What it leaves: which samples count, to ``states``.

- After a fixed n the bound is exact (Clopper and Pearson): 5 of 5 proves at least 0.54, not 1.00.
- After a sequential stop, or before one, it is anytime-valid: the rate against which the rule's own
  likelihood ratio has reached 20. It holds however often one looked, and it never contradicts the rule: a
  PASS shows at least p_bad, a FAIL at most p_good.
- Samples without a verdict are never left out: the low bound takes them as failures, the high one as passes.
- All comparisons are on integers, so that two machines print the same digits.

Source: Clopper and Pearson, Biometrika 26 (1934); Ville (1939) for the anytime-valid bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import comb

import msgspec

from truegreen.core.errors import EvidenceProblem
from truegreen.sampling.sequential import FixedRule, Rule, SequentialRule

SURE = Fraction(95, 100)
"""Confidence of each one-sided bound."""
STEPS = 100
"""Bounds are whole hundredths."""


class EmptySampleProblem(EvidenceProblem):
    """A rate was asked of no samples at all; a bound of 0.0 would read as "always fails"."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What samples prove about a pass rate: two one-sided bounds, each 95 % sure."""

    low: float
    """The case works at least this often, a fraction in hundredths, rounded down."""
    high: float
    """The case works at most this often, a fraction in hundredths, rounded up."""
    anytime: bool
    """True: valid at any stop; false: exact for a number of samples fixed beforehand."""


def exact_low(passed: int, asked: int, sure: Fraction = SURE) -> float:
    """Exact one-sided lower bound of the pass rate, rounded down to hundredths.

    Raises: EmptySampleProblem if nothing was asked.
    """
    _check(passed, asked)

    def excluded(hundredths: int) -> bool:
        scale: int = STEPS**asked
        return _at_least(passed, asked, hundredths) <= (1 - sure) * scale

    return _last(excluded) / STEPS


def exact_high(passed: int, asked: int, sure: Fraction = SURE) -> float:
    """Exact one-sided upper bound of the pass rate, rounded up to hundredths.

    Raises: EmptySampleProblem if nothing was asked.
    """
    _check(passed, asked)
    return _mirrored(exact_low(asked - passed, asked, sure))


def anytime_low(passed: int, asked: int, rule: SequentialRule, sure: Fraction = SURE) -> float:
    """Lower bound that holds at any stop, rounded down to hundredths.

    For a rate q below p_good the likelihood ratio of p_good against q is an e-process for every rate up to q;
    the bound is the largest q at which it has reached 1/(1 - sure).

    Raises: EmptySampleProblem if nothing was asked.
    """
    _check(passed, asked)
    return _low_against(rule.p_good, passed, asked, sure) / STEPS


def anytime_high(passed: int, asked: int, rule: SequentialRule, sure: Fraction = SURE) -> float:
    """Upper bound that holds at any stop, rounded up to hundredths: the mirror of ``anytime_low`` with p_bad.

    Raises: EmptySampleProblem if nothing was asked.
    """
    _check(passed, asked)
    return _mirrored(_low_against(1 - rule.p_bad, asked - passed, asked, sure) / STEPS)


@lru_cache(maxsize=4096)
def bounds(passed: int, failed: int, unknown: int, rule: Rule) -> Bounds:
    """Worst-case bounds: ``unknown`` samples (invalid, missing, lost) as failures below and as passes above.

    Raises: EmptySampleProblem if there is no sample of any sort.
    """
    asked = passed + failed + unknown
    if isinstance(rule, FixedRule):
        return Bounds(low=exact_low(passed, asked), high=exact_high(passed + unknown, asked), anytime=False)
    return Bounds(
        low=anytime_low(passed, asked, rule), high=anytime_high(passed + unknown, asked, rule), anytime=True
    )


def low_in_words(shown: Bounds) -> str:
    """The low bound as a sentence part: "works at least 54 % of the time (95 % sure)"."""
    low = round(shown.low * STEPS)
    return f"works at least {low} % of the time (95 % sure)" if low else "not shown to work at all"


def high_in_words(shown: Bounds) -> str:
    """The high bound as a sentence part: "works at most 46 % of the time (95 % sure)"."""
    high = round(shown.high * STEPS)
    return f"works at most {high} % of the time (95 % sure)" if high < STEPS else "not shown to fail at all"


def both_in_words(shown: Bounds) -> str:
    """Both bounds as a sentence part: "works between 34 % and 97 % of the time (each 95 % sure)"."""
    low, high = round(shown.low * STEPS), round(shown.high * STEPS)
    if low and high < STEPS:
        return f"works between {low} % and {high} % of the time (each 95 % sure)"
    if low:
        return low_in_words(shown)
    return high_in_words(shown) if high < STEPS else "may work always, never or anything between"


def _check(passed: int, asked: int) -> None:
    if asked == 0:
        raise EmptySampleProblem(
            "empty-sample", "a pass rate was asked of 0 samples, it needs at least 1", hint="truegreen sample"
        )
    if not 0 <= passed <= asked:
        raise EvidenceProblem("impossible-count", f"{passed} passes of {asked} samples cannot be")


def _at_least(passed: int, asked: int, hundredths: int) -> int:
    """Probability of ``passed`` or more of ``asked`` at rate ``hundredths``/100, times 100**asked."""
    return sum(
        comb(asked, seen) * hundredths**seen * (STEPS - hundredths) ** (asked - seen)
        for seen in range(passed, asked + 1)
    )


def _low_against(better: Fraction, passed: int, asked: int, sure: Fraction) -> int:
    failed = asked - passed
    # At rates of p_good and above the ratio is 1 or its reverse: they are never excluded from below.
    first_kept = -(-better.numerator * STEPS // better.denominator)
    worse, doubt = 1 - better, 1 - sure
    alternative: int = better.numerator**passed * worse.numerator**failed * STEPS**asked * doubt.numerator
    scale: int = better.denominator**asked * doubt.denominator

    def excluded(hundredths: int) -> bool:
        if hundredths >= first_kept:
            return False
        null: int = hundredths**passed * (STEPS - hundredths) ** failed
        return alternative >= null * scale

    return _last(excluded)


def _last(excluded: Callable[[int], bool]) -> int:
    """Largest number of hundredths that is excluded, 0 if none; ``excluded`` is true up to it and false after."""
    low, high = 0, STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if excluded(middle) else (low, middle)
    return low


def _mirrored(low: float) -> float:
    return (STEPS - round(low * STEPS)) / STEPS
