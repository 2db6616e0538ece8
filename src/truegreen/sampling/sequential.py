# SPDX-License-Identifier: Apache-2.0
"""Stopping rules of one case: when its passes and failures are enough to say PASS or FAIL.

What it decides: the verdict over numbered outcomes, read in the order of their numbers. What it leaves: what a
verdict means for a case, to ``states``; which sample starts next, to ``schedule``.

- The likelihood ratio of p_good against p_bad is multiplied up outcome by outcome. PASS when it reaches
  1/alpha_j, FAIL when it falls to beta/cases (Ville's inequality: neither bound is crossed with more than that
  probability however often one looks, for every p <= p_bad and every p >= p_good).
- alpha_1 = 0.8 alpha, alpha_j = 0.2 alpha / ((j - 1) j): all sequences of one pull request together spend alpha.
- The cap ends in undecided, never in a verdict by point estimate.
- Everything is decided on integers and fractions: two machines cannot differ.

Source: Wald, Sequential Analysis (1947); Ville, Étude critique de la notion de collectif (1939).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeAlias

import msgspec

from truegreen.core.errors import UsageProblem

SMOKE_CAP = 33
"""Most samples a case under ``smoke``; chosen in docs/adr/0003-cap-of-the-smoke-rule.md."""
FIXED_RUNS = 5
"""Samples a case under ``fixed`` in CI, as the article has it."""
HOOK_RUNS = 3
"""Samples a case under ``fixed`` in a hook, as the article has it."""
MOSTLY = Fraction(3, 5)
"""Pass rate that separates mostly passing from mostly failing."""
MAX_CAP = 500
"""Largest cap or n that a rule may have; beyond it the exact tables stop being instant."""


class Ruling(Enum):
    """What a rule says of one case."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    UNDECIDED = "undecided"


class SequentialRule(msgspec.Struct, frozen=True, kw_only=True):
    """Sample until the likelihood ratio decides, at most ``cap`` times."""

    kind: ClassVar[str] = "sequential"

    name: str
    """Name in the policy."""
    p_good: Fraction
    """A case that works this often must merge."""
    p_bad: Fraction
    """A case that works only this often must not."""
    alpha: Fraction
    """Largest probability of a false PASS over all sequences of one pull request."""
    beta: Fraction
    """Largest probability of any false FAIL over the whole suite."""
    cap: int
    """Most samples a case."""


class FixedRule(msgspec.Struct, frozen=True, kw_only=True):
    """Sample ``n`` times, then decide; only n of n is a pass."""

    kind: ClassVar[str] = "fixed"

    name: str
    """Name in the policy."""
    n: int
    """Samples a case."""

    @property
    def cap(self) -> int:
        """Most samples a case: n."""
        return self.n


Rule: TypeAlias = SequentialRule | FixedRule


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule says, and after how many outcomes."""

    ruling: Ruling
    """PASS, FAIL or UNDECIDED."""
    at: int
    """Outcomes that were read; later ones did not matter."""
    passes: int
    """Passes among those that were read."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as two rows of integers, one entry for each number of outcomes from 0 to the cap."""

    pass_at: tuple[int, ...]
    """Fewest passes of n outcomes that certify PASS; n + 1 where none do."""
    fail_at: tuple[int, ...]
    """Most passes of n outcomes that certify FAIL; -1 where none do."""

    def ruling(self, passes: int, outcomes: int) -> Ruling:
        """The verdict on ``passes`` of ``outcomes``."""
        if passes >= self.pass_at[outcomes]:
            return Ruling.PASS
        return Ruling.FAIL if passes <= self.fail_at[outcomes] else Ruling.UNDECIDED


def sequential(  # noqa: PLR0913 - a rule has these six numbers
    name: str, *, p_good: str, p_bad: str, alpha: str, beta: str, cap: int
) -> SequentialRule:
    """A sequential rule from decimal texts such as ``"0.95"``, so that no binary rounding enters.

    Raises: UsageProblem ``rule-out-of-range`` unless 0 < p_bad < p_good < 1, 0 < alpha, beta < 1 and the cap
    is from 1 to ``MAX_CAP``.
    """
    good, bad, a, b = (Fraction(text) for text in (p_good, p_bad, alpha, beta))
    if not 0 < bad < good < 1:
        raise UsageProblem(
            "rule-out-of-range", f"p_bad {p_bad} and p_good {p_good} must be 0 < p_bad < p_good < 1"
        )
    if not (0 < a < 1 and 0 < b < 1):
        raise UsageProblem("rule-out-of-range", f"alpha {alpha} and beta {beta} must lie between 0 and 1")
    _in_range("cap", cap)
    return SequentialRule(name=name, p_good=good, p_bad=bad, alpha=a, beta=b, cap=cap)


def smoke(cap: int = SMOKE_CAP) -> SequentialRule:
    """The default on a pull request: better than half the time, or not."""
    return sequential("smoke", p_good="0.95", p_bad="0.50", alpha="0.05", beta="0.05", cap=cap)


def fixed(n: int = FIXED_RUNS) -> FixedRule:
    """The article's rule: ``n`` samples, and only n of n is stable.

    Raises: UsageProblem ``rule-out-of-range`` unless n is from 1 to ``MAX_CAP``.
    """
    _in_range("samples", n)
    return FixedRule(name="fixed", n=n)


def named(name: str, *, samples: int = FIXED_RUNS, cap: int = SMOKE_CAP) -> Rule:
    """The rule that a policy names: ``samples`` counts for ``fixed``, ``cap`` for ``smoke``.

    Raises: UsageProblem ``unknown-rule`` for another name, ``rule-out-of-range`` as the rules do.
    """
    if name == "smoke":
        return smoke(cap)
    if name == "fixed":
        return fixed(samples)
    raise UsageProblem(
        "unknown-rule", f"rule {name[:40]!r} is none of smoke, fixed", hint="truegreen policy show"
    )


def alpha_share(alpha: Fraction, j: int) -> Fraction:
    """Share of ``alpha`` for the j-th fresh sequence of a case within one pull request, counted from 1."""
    if j < 1:
        raise UsageProblem("rule-out-of-range", f"sequence number {j} must be 1 or more")
    return alpha * Fraction(4, 5) if j == 1 else alpha * Fraction(1, 5) / ((j - 1) * j)


@lru_cache(maxsize=256)
def limits(rule: Rule, *, cases: int, j: int = 1) -> Limits:
    """The rule's integer table for a suite of ``cases`` cases and the j-th sequence.

    Raises: UsageProblem ``rule-out-of-range`` if ``cases`` or ``j`` is below 1.
    """
    if cases < 1:
        raise UsageProblem("rule-out-of-range", f"a suite of {cases} cases has nothing to decide")
    if isinstance(rule, FixedRule):
        alpha_share(Fraction(1), j)
        undecided = tuple(range(1, rule.n + 1))
        return Limits(pass_at=(*undecided, rule.n), fail_at=(*(-1 for _ in undecided), rule.n - 1))
    for_pass = 1 / alpha_share(rule.alpha, j)
    return Limits(
        pass_at=tuple(_fewest_passes(rule, for_pass)),
        fail_at=tuple(_most_passes(rule, rule.beta / cases)),
    )


def read(outcomes: Sequence[bool], rule: Rule, *, cases: int, j: int = 1) -> Verdict:
    """The verdict over outcomes in the order of their numbers: the first crossing decides.

    ``outcomes`` is the contiguous prefix by sample number, never the order of completion: with failures that
    are slower than passes that order is biased towards PASS.
    """
    table = limits(rule, cases=cases, j=j)
    passes = 0
    for at, passed in enumerate(outcomes[: rule.cap], start=1):
        passes += passed
        ruling = table.ruling(passes, at)
        if ruling is not Ruling.UNDECIDED:
            return Verdict(ruling=ruling, at=at, passes=passes)
    return Verdict(ruling=Ruling.UNDECIDED, at=min(len(outcomes), rule.cap), passes=passes)


def passes_still_needed(passes: int, outcomes: int, rule: Rule, *, cases: int, j: int = 1) -> int | None:
    """How many passes in a row would certify PASS now; None if the cap comes first."""
    table = limits(rule, cases=cases, j=j)
    return next(
        (more for more in range(rule.cap - outcomes + 1) if passes + more >= table.pass_at[outcomes + more]),
        None,
    )


def failures_still_needed(passes: int, outcomes: int, rule: Rule, *, cases: int, j: int = 1) -> int | None:
    """How many failures in a row would certify FAIL now; None if the cap comes first."""
    table = limits(rule, cases=cases, j=j)
    return next(
        (more for more in range(rule.cap - outcomes + 1) if passes <= table.fail_at[outcomes + more]), None
    )


@lru_cache(maxsize=64)
def mostly_passing_stops(rule: SequentialRule, *, cases: int, j: int = 1) -> frozenset[tuple[int, int]]:
    """The FAIL stops (outcomes, passes) at which a pass rate of .60 or less is rejected too.

    The statistic is the pass rate at the stop. Stops are taken from the highest rate down, as many as together
    have a probability of at most alpha_j when p = .60, counted exactly over all sequences that end there. Each
    has a rate above .60, so its probability only falls when p does: a case with p <= .60 is called mostly
    passing with probability alpha_j at most.
    """
    level = alpha_share(rule.alpha, j)
    weights = _fail_stop_weights(rule, cases=cases, j=j)
    chosen: set[tuple[int, int]] = set()
    spent = Fraction(0)
    for stop in sorted(weights, key=lambda at: (Fraction(at[1], at[0]), at[0]), reverse=True):
        spent += weights[stop]
        if spent > level or Fraction(stop[1], stop[0]) <= MOSTLY:
            break
        chosen.add(stop)
    return frozenset(chosen)


def _in_range(what: str, value: int) -> None:
    if not 1 <= value <= MAX_CAP:
        raise UsageProblem("rule-out-of-range", f"{what} is {value}, it must be from 1 to {MAX_CAP}")


class _Likelihoods:
    """The likelihood ratio of p_good against p_bad, compared with a bound on integers alone."""

    def __init__(self, rule: SequentialRule, bound: Fraction) -> None:
        good, bad = rule.p_good, rule.p_bad
        good_failed, bad_failed = 1 - good, 1 - bad
        self._good = good.numerator * bad.denominator, good_failed.numerator * bad_failed.denominator
        self._bad = bad.numerator * good.denominator, bad_failed.numerator * good_failed.denominator
        self._bound = bound

    def difference(self, passes: int, outcomes: int) -> int:
        """Negative below the bound, 0 at it, positive above."""
        failures = outcomes - passes
        good: int = self._good[0] ** passes * self._good[1] ** failures
        bad: int = self._bad[0] ** passes * self._bad[1] ** failures
        return good * self._bound.denominator - bad * self._bound.numerator


def _fewest_passes(rule: SequentialRule, bound: Fraction) -> Iterator[int]:
    # One more outcome moves the boundary by 0 or 1, because a pass raises the ratio and a failure lowers it.
    ratio = _Likelihoods(rule, bound)
    fewest = 0
    for outcomes in range(rule.cap + 1):
        while fewest <= outcomes and ratio.difference(fewest, outcomes) < 0:
            fewest += 1
        yield fewest


def _most_passes(rule: SequentialRule, bound: Fraction) -> Iterator[int]:
    ratio = _Likelihoods(rule, bound)
    most = -1
    for outcomes in range(rule.cap + 1):
        while most < outcomes and ratio.difference(most + 1, outcomes) <= 0:
            most += 1
        yield most


def _fail_stop_weights(rule: SequentialRule, *, cases: int, j: int) -> dict[tuple[int, int], Fraction]:
    """Probability, at p = .60, of each (outcomes, passes) at which the rule stops with FAIL."""
    table = limits(rule, cases=cases, j=j)
    stops: dict[tuple[int, int], Fraction] = {}
    open_paths = {0: 1}
    for outcomes in range(1, rule.cap + 1):
        paths: dict[int, int] = {}
        for passes, count in open_paths.items():
            paths[passes] = paths.get(passes, 0) + count
            paths[passes + 1] = paths.get(passes + 1, 0) + count
        open_paths = {}
        for passes, count in paths.items():
            ruling = table.ruling(passes, outcomes)
            if ruling is Ruling.UNDECIDED:
                open_paths[passes] = count
            elif ruling is Ruling.FAIL:
                stops[outcomes, passes] = count * MOSTLY**passes * (1 - MOSTLY) ** (outcomes - passes)
    return stops
