# SPDX-License-Identifier: Apache-2.0
"""What a decision tells, before any medium: its leading cause, its cases, and whose they are.

What it decides: which cause leads and who is named. What it leaves: what passing cases prove, to ``measured``; room
and escaping, to the renderings.

- Within the decision's word the gate's order stands; a decision without causes speaks by its own code.
- Nobody is named where a lane as a whole, or nobody, is at fault.
- Rows are looked up, not searched: a decision may have very many.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from truegreen.core.decision import CaseRow, Cause, Decision
from truegreen.core.outcome import Word
from truegreen.report.measured import admitted, measured
from truegreen.report.reasons import Reason, facts_of, reason_of
from truegreen.report.sentence import Fact, Shown, filled


class Lead(msgspec.Struct, frozen=True, kw_only=True):
    """What leads a decision."""

    cause: Cause
    """The leading cause; for an admit the reason why it could be."""
    reason: Reason
    """Its words."""
    owner: str | None
    """Who is named beside it; none where a lane as a whole, or nobody, is at fault."""
    others: int
    """How many further causes there are."""


class Story:
    """One decision with its rows looked up."""

    def __init__(self, decision: Decision) -> None:
        """Index the rows of every lane."""
        self.decision = decision
        self._lanes = {lane.lane: lane for lane in reversed(decision.lanes)}
        self._rows: dict[tuple[str | None, str], CaseRow] = {}
        for lane in decision.lanes:
            for row in lane.cases:
                self._rows.setdefault((lane.lane, row.id), row)
                self._rows.setdefault((None, row.id), row)
        self._named = Counter(_name(case) for lane, case in self._rows if lane is None)
        self.lead = self._lead()
        lead = self.lead.cause
        self.causes = (lead, *(cause for cause in decision.causes if cause is not lead))

    @property
    def against(self) -> list[tuple[Cause, CaseRow]]:
        """Each case that speaks against the merge, with its cause, the leading one first."""
        told = ((cause, self.row(cause)) for cause in self.causes)
        return [(cause, row) for cause, row in told if row is not None and cause.word is not None]

    def row(self, cause: Cause) -> CaseRow | None:
        """The row of a cause's case, if it has one."""
        return None if cause.case is None else self._rows.get((cause.lane, cause.case))

    def owner(self, cause: Cause) -> str | None:
        """Who answers for a cause: its own owner, its case's, or its lane's; nobody where nobody is at fault."""
        if reason_of(cause.code).blameless:
            return None
        row, lane = self.row(cause), self._lanes.get(cause.lane or "")
        named = (cause.facts.get("owner"), row and row.owner, lane and lane.owner)
        return next((str(owner) for owner in named if owner), None)

    def short(self, case: str) -> str:
        """What people call a case: the part behind its file, unless two files have a case of that name."""
        name = _name(case)
        others = self._named[name] - ((None, case) in self._rows)
        return name if name and not others else case

    def facts(self, cause: Cause) -> dict[str, Fact]:
        """The facts that a cause's sentences may use; for an admit what was measured."""
        facts = facts_of(cause, owner=self.owner(cause))
        return measured(self.decision) | facts if cause.word is Word.ADMIT else facts

    def sentence(self, cause: Cause, shown: Shown) -> str:
        """The cause in one sentence with its facts."""
        if cause.word is Word.ADMIT:
            return admitted(self.decision)[0]
        return filled(reason_of(cause.code).line, self.facts(cause), shown)

    def _lead(self) -> Lead:
        decision = self.decision
        fitting = [cause for cause in decision.causes if cause.word is decision.word]
        first = [cause for cause in fitting if cause.code == decision.code] or fitting
        cause = first[0] if first else Cause(code=decision.code, word=decision.word)
        is_named = cause.case is not None or "owner" in cause.facts
        return Lead(
            cause=cause,
            reason=reason_of(cause.code),
            owner=self.owner(cause) if is_named else None,
            others=sum(1 for other in decision.causes if other is not cause),
        )


def _name(case: str) -> str:
    return case.partition("::")[2]
