# SPDX-License-Identifier: Apache-2.0
"""Reads the numbered samples of one case in the order of their numbers until one decides.

What it decides: when a reading ends, and why when it ends undecided. What it leaves: finding the prefix and
naming states, to ``states``; starting samples, to ``schedule``. Both read through this class, so that they
cannot differ.

- PASS takes invalid and claimed-transport samples as failures. FAIL takes invalid ones as passes and
  claimed-transport ones as nothing. More of them than losses may be redrawn end the reading.
- A transport loss that was not redrawn ends the reading: nothing was measured there.
- Warm samples (prefix cache used) never outvote a failing cold one: once a cold sample failed, only cold
  passes count towards PASS.
- Copies of one answer are one answer: a response-cache mark or a repeated request id disqualifies a sample.
"""

from __future__ import annotations

import math
from collections import Counter
from enum import Enum

import msgspec

from truegreen.sampling.ledger import Sample
from truegreen.sampling.quorum import quorum
from truegreen.sampling.sequential import (
    MOSTLY,
    FixedRule,
    Rule,
    Ruling,
    limits,
    mostly_passing_stops,
)


class Cause(Enum):
    """Why a case is inconclusive."""

    NONE = ""
    CAP = "cap"
    TRANSPORT = "transport"
    CLAIMED = "claimed-transport"
    INVALID = "invalid"
    COLD = "cold"
    BUDGET = "budget"
    MISSING = "missing"


class Walk:
    """Reads the samples of one case in the order of their numbers, one at a time.

    ``ruling`` is what it came to; while that is undecided, ``cause`` says why it ended, or ``NONE`` while it is
    open for more samples.
    """

    def __init__(self, rule: Rule, *, cases: int, j: int = 1) -> None:
        """Nothing read yet; ``cases`` is the size of the suite, ``j`` the sequence within the pull request."""
        self.rule = rule
        self.cases = cases
        self.j = j
        self.ruling = Ruling.UNDECIDED
        self.cause = Cause.NONE
        self.taken: list[Sample] = []
        self.count = Counter[str]()
        self._seen_ids: set[str] = set()
        self._table = limits(rule, cases=cases, j=j)

    @property
    def is_open(self) -> bool:
        """Whether another sample may still change the result."""
        return self.ruling is Ruling.UNDECIDED and self.cause is Cause.NONE

    def take(self, sample: Sample) -> None:
        """Read the next sample; its number must be the next one."""
        sample = as_it_counts(sample, self._seen_ids)
        self.taken.append(sample)
        self.count[sample.bucket] += 1
        if sample.bucket in ("pass", "fail") and not sample.cached_tokens:
            self.count[f"cold-{sample.bucket}"] += 1
        if sample.bucket == "transport":
            self.cause = Cause.TRANSPORT
        elif isinstance(self.rule, FixedRule):
            self._decide_fixed(self.rule.n)
        else:
            self._decide_sequential()

    def still_needed(self) -> int | None:
        """How many samples must still come before the reading can end with a verdict; None if the cap is nearer.

        Counted as passes in a row or, where no row of passes can certify PASS any more, as failures in a row.
        """
        if isinstance(self.rule, FixedRule):
            return self.rule.n - len(self.taken)
        towards_pass = self._reach(Ruling.PASS, *self._towards_pass())
        return towards_pass if towards_pass is not None else self._reach(Ruling.FAIL, *self._towards_fail())

    def is_mostly_passing(self) -> bool:
        """Whether a case with ruling FAIL still works more often than .60; never claimed with unknown samples."""
        count = self.count
        if isinstance(self.rule, FixedRule):
            return self._towards_pass()[0] >= _mostly(self.rule.n)
        has_warm_passes = count["pass"] > count["cold-pass"]
        if self._unknown or (count["cold-fail"] and has_warm_passes):
            return False
        stops = mostly_passing_stops(self.rule, cases=self.cases, j=self.j)
        return (len(self.taken), count["pass"]) in stops

    @property
    def _unknown(self) -> int:
        return self.count["invalid"] + self.count["claimed-transport"]

    def _towards_pass(self) -> tuple[int, int]:
        """Passes and outcomes when whatever says nothing counts as a failure."""
        count = self.count
        passes = count["cold-pass"] if count["cold-fail"] else count["pass"]
        return passes, passes + count["fail"] + self._unknown

    def _towards_fail(self) -> tuple[int, int]:
        """Passes and outcomes when invalid counts as a pass and claimed-transport as nothing."""
        passes = self.count["pass"] + self.count["invalid"]
        return passes, passes + self.count["fail"]

    def _decide_sequential(self) -> None:
        if self._table.ruling(*self._towards_pass()) is Ruling.PASS:
            self.ruling = Ruling.PASS
        elif self._table.ruling(*self._towards_fail()) is Ruling.FAIL:
            self.ruling = Ruling.FAIL
        elif self._is_only_warm():
            self.cause = Cause.COLD
        elif self._unknown > redraw_allowance(self.rule):
            self.cause = self._spoiler()
        elif self.still_needed() is None:
            self.cause = self._cause_without_verdict()

    def _decide_fixed(self, n: int) -> None:
        if len(self.taken) < n:
            return
        passed, _ = self._towards_pass()
        self.ruling = quorum(passed, self._unknown, needed=n)
        is_open = self.ruling is Ruling.UNDECIDED
        if is_open or quorum(passed, self._unknown, needed=_mostly(n)) is Ruling.UNDECIDED:
            self.ruling, self.cause = Ruling.UNDECIDED, self._spoiler()

    def _would_pass_with_warm_ones(self) -> bool:
        return self._table.ruling(self.count["pass"], len(self.taken)) is Ruling.PASS

    def _is_only_warm(self) -> bool:
        """Whether only warm passes lift the case over the bound, and the next ones will be warm as well."""
        cold, warm = self.count["cold-pass"], self.count["pass"] - self.count["cold-pass"]
        return warm > cold and self._would_pass_with_warm_ones()

    def _cause_without_verdict(self) -> Cause:
        """Who is to blame: warm passes or samples without a verdict, if a verdict were in reach without them."""
        passes, failed = self.count["pass"], self.count["fail"]
        if self._reach(Ruling.PASS, passes, len(self.taken)) is not None:
            return Cause.COLD
        for ruling in (Ruling.PASS, Ruling.FAIL):
            if self._unknown and self._reach(ruling, passes, passes + failed) is not None:
                return self._spoiler()
        return Cause.CAP

    def _reach(self, ruling: Ruling, passes: int, outcomes: int) -> int | None:
        """How many passes in a row (for PASS), or failures (for FAIL), lead there within the cap; 0 if it is there."""
        step = 1 if ruling is Ruling.PASS else 0
        for more in range(self.rule.cap - len(self.taken) + 1):
            if self._table.ruling(passes + step * more, outcomes + more) is ruling:
                return more
        return None

    def _spoiler(self) -> Cause:
        return Cause.INVALID if self.count["invalid"] else Cause.CLAIMED


def redraw_allowance(rule: Rule) -> int:
    """How many transport losses of one case may be redrawn in one attempt: a tenth of the cap, at least 2."""
    return max(2, rule.cap // 10)


def as_it_counts(sample: Sample, seen_ids: set[str]) -> Sample:
    """The sample, moved to ``invalid`` if it is a copy of another answer; its ids are added to ``seen_ids``."""
    if sample.bucket not in ("pass", "fail"):
        return sample
    named = [request_id for request_id in sample.request_ids if request_id]
    ids = set(named)
    is_copy = bool(ids & seen_ids) or len(ids) < len(named)
    seen_ids |= ids
    if sample.marks:
        return msgspec.structs.replace(sample, bucket="invalid", reason="response-cache")
    return (
        msgspec.structs.replace(sample, bucket="invalid", reason="repeated-request-id") if is_copy else sample
    )


def _mostly(n: int) -> int:
    """Fewest passes of n that are mostly passing."""
    return math.ceil(MOSTLY * n)
