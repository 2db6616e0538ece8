# SPDX-License-Identifier: Apache-2.0
"""Checks of older attempts: they count against the newest, never for it.

- Exact is part by part: a part that a re-run did not repeat keeps its attempt.
- An older attempt that failed stands, whatever came later.
- An attempt that the runner took away without an artifact is no member; more than ``retries`` of them hold.
- An attempt that ended and left no record is a missing member: only a new push starts afresh.
"""

from __future__ import annotations

from collections.abc import Iterator

from truegreen.core.decision import Cause
from truegreen.core.outcome import Outcome
from truegreen.gate.ground import Ground, Unreachable
from truegreen.gate.model import LaneEvidence
from truegreen.gate.place import Place


def older_left_their_records(place: Place, ground: Ground) -> Iterator[Cause]:
    """Every older attempt that was not lost to the runner has its record."""
    del ground
    if place.kind.attempt == "pool":
        return
    for one in place.older:
        if place.record_of(one) is None and not place.is_lost(one):
            yield place.hold("left-no-record", run_id=one.run.run_id, attempt=one.attempt.attempt)


def not_lost_too_often(place: Place, ground: Ground) -> Iterator[Cause]:
    """Attempts lost to the runner stay within the lane's ``retries``."""
    del ground
    if len(place.lost) > place.lane.retries:
        yield place.hold("cancelled-too-often", lost=len(place.lost), retries=place.lane.retries)


def no_older_failure(place: Place, ground: Ground) -> Iterator[Cause]:
    """No older attempt failed on what is judged now.

    A pooling lane's newest ledger carries its older attempts; here speaks one that it passes over.
    """
    for candidate in place.older_records:
        if place.kind.attempt == "pool" and not place.is_passed_over(candidate):
            continue
        alone = LaneEvidence(lane=place.lane, newest=(candidate,), older=(), j=1, is_complete=True)
        try:
            failed = place.kind.judge(alone, ground).row.outcome is Outcome.FAILS
        except Unreachable as err:
            yield place.hold(err.code, **err.facts)
            continue
        if failed:
            run_id, run_attempt, _, _ = candidate.identity
            yield place.block("older-attempt-failed", run_id=run_id, attempt=run_attempt)


EXACT_CHECKS = (older_left_their_records, not_lost_too_often, no_older_failure)
"""Every check of older attempts of exact lanes, in order."""
