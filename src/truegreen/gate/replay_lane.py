# SPDX-License-Identifier: Apache-2.0
"""What a replay proves of its lane: every request had its recording, and every recording keeps its contract.

What it decides: holds and blocks of a lane whose newest record is a ``contract-check``. What it leaves: which
records count, to ``verify`` and ``complete``; contradictions, to ``replay_record``.

- Only a whole replay proves anything. A miss of a whole replay fails; in a queue it holds, because a recording that
  is missing there is nobody's fault in it.
- The recordings are read again from the tested tree: what the record says of them only adds to what is found.
- Every file of their folder that base lacks needs somebody who vouches for it.
- A replay is not a sample, and the decision says so. For a lane that is sampled where there is a key, the ruler must
  be the agreed one here too.
- Each check is one function of ``CHECKS``, so that a test can take one away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from truegreen.cassettes.contract_check import Checked, ContractCheckBody
from truegreen.cassettes.contract_check import Finding as Wrong
from truegreen.core.baseline import LaneBaseline
from truegreen.core.decision import Cause, LaneRow
from truegreen.core.digest import H1, h1_of_files
from truegreen.core.instants import instant
from truegreen.core.lane_digests import LaneDigests
from truegreen.core.outcome import Outcome, Word
from truegreen.core.policy import CONTRACT_CHECK
from truegreen.core.replay_session import ReplaySession, is_weaker
from truegreen.gate.agreed import RULER_CHECKS, of_lane
from truegreen.gate.ground import Ground
from truegreen.gate.model import Candidate, Judged, LaneEvidence
from truegreen.gate.recordings import Provenance, provenance_of, recordings_at

WORDS = {"fails": Word.BLOCK, "unknown": Word.HOLD, "note": None}
"""What a finding's weight is in the gate's words."""
SHOWN_CHARS = 200
"""Most characters of a text of a record that a cause repeats."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One lane's newest replay with what it is compared to."""

    evidence: LaneEvidence
    """The lane's evidence."""
    candidate: Candidate
    """The newest record."""
    body: ContractCheckBody
    """Its body."""
    checked: Checked
    """The recordings of the tested tree."""
    committed: H1 | None
    """Digest of the folder of the tested tree; None if nothing is in it."""
    provenance: Provenance
    """Who vouches for those that are new."""
    digests: LaneDigests
    """Ruler and subject of the tested tree."""
    agreed: LaneBaseline | None
    """The lane's baseline in the tested tree."""
    base: LaneBaseline | None
    """The lane's baseline in the base."""
    ground: Ground
    """The gate's own knowledge."""

    @property
    def session(self) -> ReplaySession | None:
        """The replay."""
        return self.body.session

    @property
    def whole(self) -> ReplaySession | None:
        """The replay, if it was a whole one."""
        return self.session if self.session is not None and self.session.complete else None

    def hold(self, code: str, **facts: str | int) -> Cause:
        """A hold about the lane."""
        return Cause(code=code, word=Word.HOLD, lane=self.evidence.lane.name, facts=facts)

    def block(self, code: str, **facts: str | int) -> Cause:
        """A block about the lane."""
        return Cause(code=code, word=Word.BLOCK, lane=self.evidence.lane.name, facts=facts)


def something_was_replayed(view: View) -> Iterator[Cause]:
    """There was a replay, and a recording answered."""
    if view.session is None or (view.whole and not view.session.hits and not view.session.misses):
        yield view.hold("nothing-replayed")


def replay_was_whole(view: View) -> Iterator[Cause]:
    """Everything ran, to its own end."""
    session = view.session
    if session is not None and (not session.complete or session.command_exit is None):
        why = session.incomplete_because or "the command did not end by itself"
        yield view.hold("replay-incomplete", problem=why[:SHOWN_CHARS])


def nothing_left(view: View) -> Iterator[Cause]:
    """No request left for an upstream, and nothing tried to pass the door."""
    session = view.session
    if session is not None and (session.upstream_calls or session.guard_stops):
        yield view.block(
            "replay-reached-out",
            calls=session.upstream_calls,
            stopped=session.guard_stops,
            guard=session.guard,
        )


def recordings_stayed(view: View) -> Iterator[Cause]:
    """The replay read the tested tree's bytes and changed none."""
    session = view.session
    if session is not None and not session.before == session.after == view.committed:
        yield view.block(
            "recordings-changed",
            before=str(session.before),
            after=str(session.after),
            committed=str(view.committed),
        )


def guard_is_enough(view: View) -> Iterator[Cause]:
    """The command was held by the guard that the policy demands, or a stronger one."""
    demanded, session = view.evidence.lane.guard, view.session
    if demanded is not None and session is not None and is_weaker(session.guard, demanded):
        yield view.hold("guard-too-weak", guard=session.guard, asked=demanded)


def every_request_was_recorded(view: View) -> Iterator[Cause]:
    """A whole replay missed nothing."""
    if view.whole is None or not view.whole.misses:
        return
    first = view.whole.misses[0]
    facts: dict[str, str | int] = {
        "count": len(view.whole.misses),
        "key": first.key or "",
        "template": (first.template or "")[:SHOWN_CHARS],
        "nearest": (first.nearest or "")[:SHOWN_CHARS],
        "differs_at": (first.differs_at or "")[:SHOWN_CHARS],
    }
    if view.ground.facts.event == "merge_group":
        yield view.hold("needs-recording", **facts)
    else:
        yield view.block("recording-missing", **facts)


def command_held(view: View) -> Iterator[Cause]:
    """What was run against the recordings passed."""
    session = view.whole
    if session is not None and session.command_exit and not session.misses:
        yield view.block("replay-failed", exit=session.command_exit)


def every_recording_was_played(view: View) -> Iterator[Cause]:
    """The recordings describe this code: it still asks for each of them, as often as it was answered."""
    if view.whole is None:
        return
    played: Counter[str] = Counter()
    for hit in view.whole.hits:
        played[hit.file] += hit.count
    unused = [one for one in view.checked.recordings if played[one.file] < one.answers]
    if unused:
        first = unused[0]
        yield view.hold(
            "recordings-unused",
            file=first.file,
            played=played[first.file],
            answers=first.answers,
            count=len(unused),
        )


def recordings_keep_their_contracts(view: View) -> Iterator[Cause]:
    """Nothing that counts is wrong with a recording, by the gate's own reading or by the record's."""
    found: dict[tuple[str, str], list[Wrong]] = {}
    for wrong in sorted({*view.checked.findings, *view.body.findings}):
        found.setdefault((wrong.code, wrong.weight), []).append(wrong)
    for (code, weight), group in found.items():
        word = WORDS[weight]
        if word is not None:
            yield Cause(
                code=code, word=word, lane=view.evidence.lane.name, facts=_facts(group[0], len(group))
            )


def everything_is_vouched_for(view: View) -> Iterator[Cause]:
    """Each file that base lacks is sealed or comes from a listed author."""
    for forged in view.provenance.forged[:1]:
        yield view.block("seal-forged", file=forged, count=len(view.provenance.forged))
    if view.provenance.unvouched:
        first = view.provenance.unvouched[0]
        yield view.hold(
            "recording-unvouched",
            file=first.path,
            author=first.author[:SHOWN_CHARS],
            commit=first.commit,
            change="removed" if first.is_removed else "changed",
            count=len(view.provenance.unvouched),
        )


def ruler_is_agreed(view: View) -> Iterator[Cause]:
    """A lane that is sampled elsewhere has a baseline, and it is the one that judged here."""
    if view.evidence.lane.kind != CONTRACT_CHECK:
        for check in RULER_CHECKS:
            yield from check(view)


LaneCheck = Callable[[View], Iterator[Cause]]

CHECKS: tuple[LaneCheck, ...] = (
    something_was_replayed,
    replay_was_whole,
    nothing_left,
    recordings_stayed,
    guard_is_enough,
    every_request_was_recorded,
    command_held,
    every_recording_was_played,
    recordings_keep_their_contracts,
    everything_is_vouched_for,
    ruler_is_agreed,
)
"""Every check of a replay, in the order in which they are told."""


def judge(evidence: LaneEvidence, ground: Ground, *, checks: tuple[LaneCheck, ...] = CHECKS) -> Judged:
    """The lane's row, causes and notes.

    Raises: Unreachable when a tree, a baseline or a change cannot be read.
    """
    view = _view(evidence, ground)
    causes = tuple(cause for check in checks for cause in check(view))
    return Judged(row=_row(view, causes), causes=causes, notes=tuple(_notes(view)))


def _view(evidence: LaneEvidence, ground: Ground) -> View:
    candidate, lane = evidence.newest[0], evidence.lane
    subject = candidate.envelope.subject
    base = ground.base_of(lane, subject.base_sha)
    tree = subject.tested_tree
    return View(
        evidence=evidence,
        candidate=candidate,
        body=candidate.body,
        checked=recordings_at(ground, tree, lane.cassettes),
        committed=h1_of_files(ground.folder_at(tree, lane.cassettes)),
        provenance=provenance_of(ground, lane, head=subject.head_sha, base=base, tree=tree),
        digests=ground.digests(lane, tree),
        agreed=of_lane(ground.baseline_at(tree), lane.name),
        base=of_lane(ground.baseline_of_base(base), lane.name),
        ground=ground,
    )


def _facts(wrong: Wrong, count: int) -> dict[str, str | int]:
    return {
        "file": wrong.file[:SHOWN_CHARS],
        "place": wrong.place[:SHOWN_CHARS],
        "template": wrong.template[:SHOWN_CHARS],
        "owner": wrong.owner[:SHOWN_CHARS],
        "problem": wrong.problem[:SHOWN_CHARS],
        "count": count,
    }


def _notes(view: View) -> Iterator[Cause]:
    lane = view.evidence.lane.name
    session = view.session
    yield Cause(
        code="replayed-not-sampled",
        word=None,
        lane=lane,
        facts={
            "count": len(session.hits) if session else 0,
            "guard": session.guard if session else "none",
        },
    )
    if view.provenance.is_of_fork and view.ground.policy.cassettes.authors:
        yield Cause(code="authors-of-forks", word=None, lane=lane)
    told = {wrong.code: wrong for wrong in view.checked.findings if wrong.weight == "note"}
    for code, wrong in sorted(told.items()):
        count = sum(1 for other in view.checked.findings if other.code == code)
        yield Cause(code=code, word=None, lane=lane, facts=_facts(wrong, count))


def _row(view: View, causes: tuple[Cause, ...]) -> LaneRow:
    words = {cause.word for cause in causes}
    outcome = Outcome.HOLDS
    if Word.BLOCK in words:
        outcome = Outcome.FAILS
    elif Word.HOLD in words:
        outcome = Outcome.UNKNOWN
    lane, session = view.evidence.lane, view.session
    wall_s = (instant(session.ended_at) - instant(session.started_at)).total_seconds() if session else 0
    served = {one.model_served for one in view.checked.recordings if one.model_served}
    return LaneRow(
        lane=lane.name,
        kind=CONTRACT_CHECK,
        role=lane.role,
        seal=lane.seal,
        outcome=outcome,
        code=causes[0].code if causes else "holds",
        owner=lane.owner,
        wall_ms=max(0, round(wall_s * 1000)),
        models_served=tuple(sorted(served)),
        replayed=len(session.hits) if session else 0,
        guard=session.guard if session else "",
    )
