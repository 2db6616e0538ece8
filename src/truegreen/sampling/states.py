# SPDX-License-Identifier: Apache-2.0
"""From the numbered samples of one case to its state.

What it decides: which samples count, how far they are read, and the state that they give. What it leaves: what
a state means for the merge, to ``merge.toml``; reading in order, to ``walk``; the arithmetic of rules and
bounds, to ``sequential`` and ``bounds``.

- Only the contiguous prefix by sample number is read, up to the first sample that decides; what lies behind a
  gap or behind the decision is disclosed and changes nothing.
- PASS without a straddle is stable-pass; FAIL without any pass is never-passed; another FAIL is mostly passing
  where p <= .60 is rejected too, else mostly failing; whatever ends undecided is inconclusive, with its cause.
- More redraws of transport losses than allowed withhold PASS, never FAIL.
- Two samples with one number contradict each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

import msgspec

from truegreen.core.errors import EvidenceProblem
from truegreen.sampling.bounds import Bounds, both_in_words, bounds, high_in_words, low_in_words
from truegreen.sampling.ledger import BUCKETS, Sample
from truegreen.sampling.sequential import FixedRule, Rule, Ruling
from truegreen.sampling.walk import Cause, Walk, as_it_counts, redraw_allowance

MISSING = "missing"
"""Reason of an invalid sample that was planned and never ended."""


class State(Enum):
    """What the samples of one case say of it."""

    STABLE_PASS = "stable-pass"  # noqa: S105 - a state, not a password
    NEVER_PASSED = "never-passed"
    MOSTLY_PASSING = "flaky-mostly-passing"
    MOSTLY_FAILING = "flaky-mostly-failing"
    INCONCLUSIVE = "inconclusive"


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Samples by bucket, over the contiguous prefix of their numbers."""

    read: int
    """Samples in the prefix: their numbers are 1 to ``read``."""
    passed: int
    """Bucket ``pass``."""
    failed: int
    """Bucket ``fail``."""
    invalid: int
    """Bucket ``invalid``, and samples that were disqualified."""
    transport: int
    """Bucket ``transport``: lost, and not redrawn."""
    claimed: int
    """Bucket ``claimed-transport``."""
    cold_passed: int
    """Passes that no prefix cache served."""
    cold_failed: int
    """Failures that no prefix cache served."""
    redrawn: int
    """Transport losses that were redrawn under the numbers of the prefix."""
    left: int
    """Samples behind the prefix: after a gap, or after the decision."""
    identical: int
    """Most passes that gave one and the same output, byte for byte; 0 where outputs are not known."""

    @property
    def unknown(self) -> int:
        """Samples of the prefix that say neither pass nor fail."""
        return self.invalid + self.transport + self.claimed


class CaseState(msgspec.Struct, frozen=True, kw_only=True):
    """State of one case and what it rests on."""

    state: State
    """The state."""
    cause: Cause
    """Why it is inconclusive; ``NONE`` for every other state."""
    tally: Tally
    """Samples up to the one that decided, or all of the prefix."""
    bounds: Bounds | None
    """Worst-case bounds of the pass rate; None if there is no sample."""

    @property
    def words(self) -> str:
        """What the samples prove, as a sentence part for people."""
        if self.bounds is None:
            return "not sampled"
        if self.state is State.STABLE_PASS:
            return low_in_words(self.bounds)
        if self.state in (State.NEVER_PASSED, State.MOSTLY_FAILING):
            return high_in_words(self.bounds)
        return both_in_words(self.bounds)


def in_order(samples: Iterable[Sample]) -> tuple[tuple[Sample, ...], int]:
    """The contiguous prefix by number from 1, and how many samples lie behind its end.

    Raises: EvidenceProblem ``sample-number-twice`` (contradictory) if two samples have one number,
    ``impossible-sample`` if a number is below 1 or a bucket is unknown.
    """
    by_number: dict[int, Sample] = {}
    for sample in samples:
        if sample.n < 1 or sample.bucket not in BUCKETS:
            raise EvidenceProblem(
                "impossible-sample", f"sample {sample.n} in bucket {sample.bucket[:40]!r} cannot be"
            )
        if sample.n in by_number:
            raise EvidenceProblem(
                "sample-number-twice",
                f"two samples have the number {sample.n}: {by_number[sample.n].bucket} and {sample.bucket}",
                contradictory=True,
            )
        by_number[sample.n] = sample
    prefix: list[Sample] = []
    while (following := by_number.get(len(prefix) + 1)) is not None:
        prefix.append(following)
    return tuple(prefix), len(by_number) - len(prefix)


def joined(attempts: Sequence[Sequence[Sample]], rule: Rule) -> tuple[Sample, ...]:
    """The samples of several attempts as one sequence, oldest attempt first.

    A later attempt may give a new outcome to a number whose sample was lost in transport and, under a fixed
    rule, to one that is missing. Under a sequential rule a missing sample stands: it may have been slow
    because it was failing, and a redraw would hide that.

    Raises: EvidenceProblem ``sample-number-twice`` (contradictory) for any other number that comes twice.
    """
    slots: dict[int, Sample] = {}
    for attempt in attempts:
        in_order(attempt)
        for sample in attempt:
            earlier = slots.get(sample.n)
            if earlier is not None and not may_be_refilled(earlier, rule):
                raise EvidenceProblem(
                    "sample-number-twice",
                    f"two attempts have a sample {sample.n}: {earlier.bucket} and {sample.bucket}",
                    contradictory=True,
                )
            slots[sample.n] = sample
    return tuple(slots[number] for number in sorted(slots))


def may_be_refilled(sample: Sample, rule: Rule) -> bool:
    """Whether a later attempt may give a new outcome to this sample's number."""
    if sample.bucket == "transport":
        return True
    return isinstance(rule, FixedRule) and sample.bucket == "invalid" and sample.reason == MISSING


def tally(samples: Iterable[Sample]) -> Tally:
    """Buckets over the contiguous prefix by number, copies of one answer disqualified.

    Raises: EvidenceProblem as ``in_order`` does.
    """
    prefix, left = in_order(samples)
    seen: set[str] = set()
    return _tallied([as_it_counts(sample, seen) for sample in prefix], left)


def state(  # noqa: PLR0913 - a state depends on these six values
    samples: Iterable[Sample],
    rule: Rule,
    *,
    cases: int,
    j: int = 1,
    truncated: Cause = Cause.NONE,
    attempts: int = 1,
) -> CaseState:
    """The state of one case in a suite of ``cases`` cases.

    ``truncated`` says why sampling ended before every case was decided (``BUDGET`` or ``MISSING``);
    ``attempts`` is how many attempts the samples come from, each with its own allowance of redraws.

    Raises: EvidenceProblem as ``in_order`` does.
    """
    prefix, beyond = in_order(samples)
    walk = Walk(rule, cases=cases, j=j)
    for sample in prefix:
        if not walk.is_open:
            break
        walk.take(sample)
    counted = _tallied(walk.taken, beyond + len(prefix) - len(walk.taken))
    shown = bounds(counted.passed, counted.failed, counted.unknown, rule) if counted.read else None
    found, cause = _named(walk, counted, truncated)
    if found is State.STABLE_PASS and counted.redrawn > attempts * redraw_allowance(rule):
        found, cause = State.INCONCLUSIVE, Cause.TRANSPORT
    return CaseState(state=found, cause=cause, tally=counted, bounds=shown)


def disqualified(suite: Mapping[str, Sequence[Sample]]) -> dict[str, tuple[Sample, ...]]:
    """The samples of a whole suite with copies of one answer moved to ``invalid``.

    Cases are read by id and samples by number: the first one with a request id keeps it.
    """
    seen: set[str] = set()
    return {
        case: tuple(as_it_counts(sample, seen) for sample in sorted(suite[case], key=lambda one: one.n))
        for case in sorted(suite)
    }


def _tallied(taken: Sequence[Sample], left: int) -> Tally:
    buckets = Counter(sample.bucket for sample in taken)
    cold = Counter(sample.bucket for sample in taken if not sample.cached_tokens)
    outputs = Counter(
        sample.output_sha256 for sample in taken if sample.bucket == "pass" and sample.output_sha256
    )
    return Tally(
        read=len(taken),
        passed=buckets["pass"],
        failed=buckets["fail"],
        invalid=buckets["invalid"],
        transport=buckets["transport"],
        claimed=buckets["claimed-transport"],
        cold_passed=cold["pass"],
        cold_failed=cold["fail"],
        redrawn=sum(sample.replaces for sample in taken),
        left=left,
        identical=max(outputs.values(), default=0),
    )


def _named(walk: Walk, counted: Tally, truncated: Cause) -> tuple[State, Cause]:
    if walk.ruling is Ruling.PASS:
        return State.STABLE_PASS, Cause.NONE
    if walk.ruling is Ruling.FAIL:
        if not counted.passed:
            return State.NEVER_PASSED, Cause.NONE
        return (State.MOSTLY_PASSING if walk.is_mostly_passing() else State.MOSTLY_FAILING), Cause.NONE
    if walk.cause is not Cause.NONE:
        return State.INCONCLUSIVE, walk.cause
    return State.INCONCLUSIVE, truncated if truncated is not Cause.NONE else Cause.MISSING
