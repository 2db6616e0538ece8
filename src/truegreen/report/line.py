# SPDX-License-Identifier: Apache-2.0
"""The one line of a decision: its word, the cause in words, the next action.

What it decides: which cause is told, in which words, and what is left out when room is short. What it leaves: the
words themselves, to the catalogue; the decision, to the gate.

- At most 140 characters (code points): what a forge keeps of a commit status. One line, whatever a name holds.
- The word and the action are never cut. Names are shortened first, then owner and count of other causes go, then the
  cause loses its end.
- A decision about one lane says HOLDS, FAILS or UNKNOWN; only a decision about everything says ADMIT.
- An admit says what was measured and what that proves, from the bounds; nothing about cost without a price table.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from truegreen.core.decision import CaseRow, Cause, Decision
from truegreen.core.outcome import Word
from truegreen.report.defused import cut, cut_middle, plain
from truegreen.report.reasons import Reason, facts_of, reason_of
from truegreen.report.sentence import Fact, filled

LIMIT = 140
"""Characters: the description of a commit status (GitHub) takes no more."""
SEPARATOR = " · "
SHORT_COMMIT = 7
"""Digits of a commit id that the line shows, for people; never an identity."""
HALF, OFTEN = 0.5, 0.75
"""Pass rates between which a bound reads "better than half the time"."""
MANY_SECONDS = 120
"""From here on a duration reads in minutes."""

_OF_ONE_LANE = {Word.ADMIT: "HOLDS", Word.HOLD: "UNKNOWN", Word.BLOCK: "FAILS"}
_WIDEST_WORD = 5
_BOTH_ENDS = frozenset({"case", "file", "container", "id"})
"""Facts whose end tells them from their neighbours: such a name is cut in its middle."""
_FACT_ROOM = (60, 40, 28)
"""Characters that each fact may take, tried in this order before something else is left out."""
_LAST_ROOM = (20, 12)
_OWNER_ROOM = 24


class Lead(msgspec.Struct, frozen=True, kw_only=True):
    """What leads a decision, before it is cut to any size."""

    cause: Cause
    """The leading cause; for an admit one with the facts that were measured."""
    reason: Reason
    """Its words."""
    facts: dict[str, Fact]
    """Its facts, not yet made harmless."""
    owner: str | None
    """Who is named beside it; none where a lane as a whole, or nobody, is at fault."""
    others: int
    """How many further causes there are."""


def line_of(decision: Decision) -> str:
    """The line of a decision; its own ``line`` field is not read."""
    head = head_of(decision)
    if decision.word is Word.ADMIT:
        return _admit_line(decision, head)
    lead = lead_of(decision)
    action = lead.reason.action
    room = LIMIT - len(head) - 1 - len(SEPARATOR) - len(action)
    cause = next((told for told in _tellings(decision, lead) if len(told) <= room), None)
    if cause is None:
        cause = cut(_told(decision, lead, _LAST_ROOM[-1]), room)
    return f"{head} {cause}{SEPARATOR}{action}"


def head_of(decision: Decision) -> str:
    """The decision word as people see it, padded to the widest, with the mode where it is not enforced."""
    word = decision.word.value.upper() if decision.only_lane is None else _OF_ONE_LANE[decision.word]
    return f"{word} (observe)" if decision.mode == "observe" else word.ljust(_WIDEST_WORD)


def lead_of(decision: Decision) -> Lead:
    """The cause that leads, with its words and facts."""
    cause = _leading(decision)
    reason = reason_of(cause.code)
    asked = owner_of(decision, cause)
    named = cause.case is not None or "owner" in cause.facts
    return Lead(
        cause=cause,
        reason=reason,
        facts=facts_of(cause, owner=asked),
        owner=asked if named and not reason.blameless else None,
        others=sum(1 for other in decision.causes if other is not cause),
    )


def owner_of(decision: Decision, cause: Cause) -> str | None:
    """Who answers for a cause: its own owner, its case's, or its lane's."""
    row = case_row(decision, cause)
    lane = next((lane for lane in decision.lanes if lane.lane == cause.lane), None)
    named = (cause.facts.get("owner"), row and row.owner, lane and lane.owner)
    return next((str(owner) for owner in named if owner), None)


def case_row(decision: Decision, cause: Cause) -> CaseRow | None:
    """The row of a cause's case, if it has one."""
    if cause.case is None:
        return None
    rows = (row for lane in decision.lanes if cause.lane in (None, lane.lane) for row in lane.cases)
    return next((row for row in rows if row.id == cause.case), None)


def short_case(decision: Decision, case: str) -> str:
    """What people call a case: the part behind its file, unless two files have a case of that name."""
    name = case.partition("::")[2]
    ids = {row.id for lane in decision.lanes for row in lane.cases} | {case}
    return name if name and sum(1 for other in ids if other.partition("::")[2] == name) == 1 else case


def passes(row: CaseRow) -> bool:
    """Whether a case lets a merge through by itself, not by an excuse."""
    return row.then == "merge" and not row.excused_until


def proved(rows: list[CaseRow]) -> str:
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


def admitted(decision: Decision) -> tuple[str, str, str]:
    """What an admit says behind its word: what passes, what it took, on which commit; required lanes only."""
    lanes = [lane for lane in decision.lanes if lane.role == "required"]
    rows = [row for lane in lanes for row in lane.cases]
    took = f"{sum(lane.calls for lane in lanes)} calls, {duration(sum(lane.wall_ms for lane in lanes))}"
    head = plain(decision.about.head_sha[:SHORT_COMMIT])
    return _passing(rows, len(lanes)), took, f"{head}, working copy" if decision.about.local else head


def _passing(rows: list[CaseRow], lanes: int) -> str:
    if not rows:
        return f"{lanes} of {lanes} required lanes hold"
    passing = [row for row in rows if passes(row)]
    proof = proved(passing)
    excused = sum(1 for row in rows if row.excused_until)
    told = f"{len(passing)} of {len(rows)} {'case passes' if len(rows) == 1 else 'cases pass'}"
    return told + (f" ({proof})" if proof else "") + (f", {excused} excused by quarantine" if excused else "")


def _admit_line(decision: Decision, head: str) -> str:
    told, *rest = admitted(decision)
    tail = SEPARATOR.join(rest)
    told = cut(told, LIMIT - len(head) - 1 - len(SEPARATOR) - len(tail))
    return f"{head} {told}{SEPARATOR}{tail}"


def _leading(decision: Decision) -> Cause:
    fitting = [cause for cause in decision.causes if cause.word is decision.word]
    first = [cause for cause in fitting if cause.code == decision.code] or fitting
    return first[0] if first else Cause(code=decision.code, word=decision.word)


def _tellings(decision: Decision, lead: Lead) -> Iterator[str]:
    """The cause in ever fewer characters."""
    more = f" (and {lead.others} more)" if lead.others else ""
    owner = f"{SEPARATOR}owner {cut(plain(lead.owner), _OWNER_ROOM)}" if lead.owner else ""
    yield _told(decision, lead, LIMIT) + more + owner
    for extras in (more + owner, owner, ""):
        for room in _FACT_ROOM:
            yield _told(decision, lead, room) + extras
    for room in _LAST_ROOM:
        yield _told(decision, lead, room)


def _told(decision: Decision, lead: Lead, room: int) -> str:
    def shown(name: str, value: Fact) -> str:
        text = str(value)
        if name in ("case", "id"):
            text = short_case(decision, text)
        elif name == "ids":
            text = ", ".join(one.partition("::")[2] or one for one in text.split(", "))
        return (cut_middle if name in _BOTH_ENDS else cut)(plain(text), room)

    return filled(lead.reason.line, lead.facts, shown)
