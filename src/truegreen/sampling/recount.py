# SPDX-License-Identifier: Apache-2.0
"""Counting a ledger again: the states that its own samples give.

What it decides: which samples of which attempts are one sequence, and the state under a given rule. What it
leaves: believing the ledger, to the gate; what a state means, to the merge table.

- Samples of linked attempts come first, oldest first, then the ledger's own.
- The producer claims states through ``claimed_states``, and the gate recounts through it: they cannot differ on
  one ledger under one rule.
"""

from __future__ import annotations

from truegreen.sampling.ledger import LedgerBody, Sample
from truegreen.sampling.sequential import Rule, named
from truegreen.sampling.states import CaseState, disqualified, joined, state
from truegreen.sampling.walk import Cause

NOT_SAMPLED = "not-sampled"
"""Claimed state of a case without any sample."""


def rule_used(body: LedgerBody) -> Rule:
    """The stopping rule that the producer says it applied.

    Raises: UsageProblem for a rule that does not exist.
    """
    if body.rule.name == "fixed":
        return named("fixed", samples=body.rule.samples)
    return named(body.rule.name, cap=body.rule.cap)


def attempts_of(body: LedgerBody, case: str) -> list[tuple[Sample, ...]]:
    """Samples of one case, a tuple an attempt, oldest first, this attempt last."""
    return _attempts(body).get(case, [])


def _attempts(body: LedgerBody) -> dict[str, list[tuple[Sample, ...]]]:
    """Case id to its samples, a tuple an attempt, oldest first."""
    found: dict[str, list[tuple[Sample, ...]]] = {}
    for link in body.chain:
        if link.standing == "samples":
            for earlier in link.cases:
                found.setdefault(earlier.id, []).append(earlier.samples)
    for row in body.cases:
        found.setdefault(row.id, []).append(row.samples)
    return found


def lost_of(body: LedgerBody, case: str) -> tuple[Sample, ...]:
    """Transport losses of one case that were redrawn, over all attempts."""
    earlier = [sample for link in body.chain for row in link.cases if row.id == case for sample in row.lost]
    return (*earlier, *(sample for row in body.cases if row.id == case for sample in row.lost))


def ended_why(body: LedgerBody) -> Cause:
    """Why sampling ended before every case was decided, in the words of states."""
    return {
        "measured": Cause.NONE,
        "interrupted": Cause.MISSING,
        "cap-calls": Cause.BUDGET,
        "cap-minutes": Cause.BUDGET,
        "no-redraws-left": Cause.TRANSPORT,
    }.get(body.ended, Cause.MISSING)


def suite_of(body: LedgerBody, rule: Rule) -> dict[str, tuple[Sample, ...]]:
    """Case id to its samples over all attempts by number, copies of one answer moved to ``invalid``.

    Raises: EvidenceProblem for numbers that contradict each other.
    """
    attempts = _attempts(body)
    return disqualified({case: joined(attempts.get(case, []), rule) for case in body.planned})


def recounted(body: LedgerBody, rule: Rule, *, j: int) -> dict[str, CaseState | None]:
    """Case id to its state under ``rule`` as the j-th sequence; None where no attempt has a sample.

    Raises: EvidenceProblem for numbers that contradict each other.
    """
    truncated, all_attempts = ended_why(body), _attempts(body)
    found: dict[str, CaseState | None] = {}
    for case, samples in suite_of(body, rule).items():
        attempts = sum(1 for one in all_attempts.get(case, []) if one)
        found[case] = (
            state(samples, rule, cases=len(body.planned), j=j, truncated=truncated, attempts=attempts)
            if samples
            else None
        )
    return found


def claimed_states(body: LedgerBody) -> dict[str, str]:
    """Case id to the state that the producer claims by its own rule and sequence number.

    Raises: EvidenceProblem for numbers that contradict each other; UsageProblem for a rule that does not exist.
    """
    found = recounted(body, rule_used(body), j=body.rule.j or 1)
    return {case: one.state.value if one else NOT_SAMPLED for case, one in found.items()}
