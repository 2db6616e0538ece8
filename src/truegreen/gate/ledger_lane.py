# SPDX-License-Identifier: Apache-2.0
"""Is the lane's universe the agreed one: ruler, baseline, case ids?

What it decides: holds about what judges and which cases there are. What it leaves: each case's own answer, to
``ledger_cases``; which ledgers count, to ``verify`` and ``complete``.

- Whether the ruler is the agreed one, ``agreed`` says.
- Ids that base had and this ledger lacks, or that turned into skips, hold until a committed entry names them,
  beyond the lane's ``allow_removed``.
- Each check is one function of ``CHECKS``, so that a test can take one away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from truegreen.core.baseline import LaneBaseline
from truegreen.core.decision import Cause
from truegreen.core.lane_digests import LaneDigests
from truegreen.core.outcome import Word
from truegreen.gate.agreed import RULER_CHECKS, of_lane
from truegreen.gate.ground import Ground
from truegreen.gate.model import Candidate, LaneEvidence
from truegreen.sampling.ledger import LedgerBody

SKIPS = frozenset({"skip", "skipped", "xfail", "xfailed", "xpass"})
"""Reasons of samples that a test gave instead of an answer."""
SHOWN_IDS = 3
"""Ids that a cause names; the count says how many there are."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One lane's newest ledger with what it is compared to."""

    evidence: LaneEvidence
    """The lane's evidence."""
    candidate: Candidate
    """The newest ledger."""
    body: LedgerBody
    """Its body."""
    digests: LaneDigests
    """Ruler and subject of the tested tree."""
    agreed: LaneBaseline | None
    """The lane's baseline in the tested tree."""
    base: LaneBaseline | None
    """The lane's baseline in the base that the tested tree stands on."""
    ground: Ground
    """The gate's own knowledge."""

    @property
    def gated(self) -> frozenset[str]:
        """Ids that count: golden cases are for people, and turning a case golden takes it away."""
        return frozenset(case.id for case in self.body.cases if not case.golden)

    def hold(self, code: str, **facts: str | int) -> Cause:
        """A hold about the lane."""
        return Cause(code=code, word=Word.HOLD, lane=self.evidence.lane.name, facts=facts)


def view_of(evidence: LaneEvidence, ground: Ground) -> View:
    """The newest ledger and what it is compared to.

    Raises: Unreachable when a tree or a baseline cannot be read.
    """
    candidate = evidence.newest[0]
    subject = candidate.envelope.subject
    return View(
        evidence=evidence,
        candidate=candidate,
        body=candidate.body,
        digests=ground.digests(evidence.lane, subject.tested_tree),
        agreed=of_lane(ground.baseline_at(subject.tested_tree), evidence.lane.name),
        base=of_lane(
            ground.baseline_of_base(ground.base_of(evidence.lane, subject.base_sha)), evidence.lane.name
        ),
        ground=ground,
    )


def something_was_planned(view: View) -> Iterator[Cause]:
    """A lane without cases proves nothing."""
    if not view.gated:
        yield view.hold("nothing-sampled")


def ids_are_announced(view: View) -> Iterator[Cause]:
    """The baseline lists the cases that were sampled."""
    if view.agreed is None or view.agreed.ruler != view.digests.ruler.digest:
        return
    listed, planned = set(view.agreed.case_ids), view.gated
    if new := sorted(planned - listed):
        yield view.hold("tests-unannounced", ids=_few(new), count=len(new))
    base_ids = set(view.base.case_ids) if view.base else set()
    if gone := sorted(listed - planned - base_ids):
        yield view.hold("tests-not-sampled", ids=_few(gone), count=len(gone))


def nothing_was_removed(view: View) -> Iterator[Cause]:
    """Every id of base is still asked, or its removal is announced."""
    if view.base is None:
        return
    planned = view.gated
    named = {
        entry.id
        for entry in view.ground.removed
        if entry.lane == view.evidence.lane.name and (entry.renamed_to is None or entry.renamed_to in planned)
    }
    gone = sorted(set(view.base.case_ids) - planned - named)
    if len(gone) > view.evidence.lane.allow_removed:
        yield view.hold("tests-removed", ids=_few(gone), count=len(gone))


def nothing_turned_into_a_skip(view: View) -> Iterator[Cause]:
    """No id of base answers with skips only."""
    base_ids = set(view.base.case_ids) if view.base else set()
    skipped = [
        case.id
        for case in view.body.cases
        if case.id in base_ids and case.samples and all(sample.reason in SKIPS for sample in case.samples)
    ]
    if len(skipped) > view.evidence.lane.allow_removed:
        yield view.hold("tests-turned-skip", ids=_few(skipped), count=len(skipped))


LaneCheck = Callable[[View], Iterator[Cause]]

CHECKS: tuple[LaneCheck, ...] = (
    something_was_planned,
    nothing_was_removed,
    nothing_turned_into_a_skip,
    *RULER_CHECKS,
    ids_are_announced,
)
"""Every check of a lane's universe, in the order in which they are told."""


def _few(ids: list[str]) -> str:
    shown = ", ".join(ids[:SHOWN_IDS])
    return shown if len(ids) <= SHOWN_IDS else f"{shown} and {len(ids) - SHOWN_IDS} more"
