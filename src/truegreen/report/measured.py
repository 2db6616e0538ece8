# SPDX-License-Identifier: Apache-2.0
"""What passing cases prove and what they took, in words.

What it decides: the claim that an admit makes. What it leaves: bounds, to whoever counted the samples; room, to the
renderings.

- Only required lanes are counted, and a case that merges by an excuse is told apart.
- Answers that were replayed are told apart: a replay is no sample and proves no rate.
- The claim is made by the weakest bound of all passing cases; without a bound there is none.
- Nothing is said about money without a price table.
"""

from __future__ import annotations

from collections.abc import Sequence

from truegreen.core.decision import CaseRow, Decision, LaneRow
from truegreen.report.sentence import Fact

SHORT_COMMIT = 7
"""Digits of a commit id that people are shown; never an identity."""
HALF, OFTEN = 0.5, 0.75
"""Pass rates between which a bound reads "better than half the time"."""
MANY_SECONDS = 120
"""From here on a duration reads in minutes."""


def admitted(decision: Decision) -> tuple[str, str]:
    """What an admit says behind its word: what passes with its proof, and what that took."""
    lanes = required(decision)
    rows = [row for lane in lanes for row in lane.cases]
    took = f"{sum(lane.calls for lane in lanes)} calls, {duration(sum(lane.wall_ms for lane in lanes))}"
    replayed = sum(lane.replayed for lane in lanes)
    told = [_passing(rows, len(lanes))] if rows or not replayed else []
    if replayed:
        told.append(f"{replayed} recorded {'answer' if replayed == 1 else 'answers'} replayed, not sampled")
    return ", ".join(told), took


def short_head(decision: Decision) -> str:
    """The head commit as people name it; untrusted text."""
    return decision.about.head_sha[:SHORT_COMMIT]


def measured(decision: Decision) -> dict[str, Fact]:
    """What the required lanes measured, as the facts of an admit."""
    rows = [row for lane in required(decision) for row in lane.cases]
    return {
        "passed": sum(1 for row in rows if passes(row)),
        "cases": len(rows),
        "calls": sum(lane.calls for lane in required(decision)),
        "wall_s": round(sum(lane.wall_ms for lane in required(decision)) / 1000),
        "tokens": sum(lane.tokens for lane in required(decision)),
        "head": decision.about.head_sha,
    }


def required(decision: Decision) -> tuple[LaneRow, ...]:
    """The lanes that must hold."""
    return tuple(lane for lane in decision.lanes if lane.role == "required")


def passes(row: CaseRow) -> bool:
    """Whether a case lets a merge through by itself, not by an excuse."""
    return row.then == "merge" and not row.excused_until


def proved(rows: Sequence[CaseRow]) -> str:
    """What all these cases prove, by the weakest of their lower bounds; empty if nothing is proved.

    A lower bound of a half says that half and less is excluded.
    """
    lows = [row.bound_low or 0.0 for row in rows]
    low = min(lows, default=0.0)
    each = "each " if len(lows) > 1 else ""
    if HALF <= low < OFTEN:
        return f"{each}better than half the time"
    return f"{each}more than {low * 100:.0f} % of the time" if low > 0 else ""


def duration(wall_ms: int) -> str:
    """A wall clock for people: "0.4 s", "26 s", "3 min"."""
    seconds = wall_ms / 1000
    if seconds < 1:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < MANY_SECONDS else f"{seconds / 60:.0f} min"


def _passing(rows: Sequence[CaseRow], lanes: int) -> str:
    if not rows:
        return f"{lanes} of {lanes} required lanes hold"
    passing = [row for row in rows if passes(row)]
    proof = proved(passing)
    excused = sum(1 for row in rows if row.excused_until)
    told = f"{len(passing)} of {len(rows)} {'case passes' if len(rows) == 1 else 'cases pass'}"
    return told + (f" ({proof})" if proof else "") + (f", {excused} excused by quarantine" if excused else "")
