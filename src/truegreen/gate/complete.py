# SPDX-License-Identifier: Apache-2.0
"""Is every member of the expected set there, and do the members agree with one another?

What it decides: for each required and consulted lane, what is missing or contradictory. What it leaves: what
the records say, to ``decide``.

- Without a complete run index nothing is complete. A lane of which no attempt started holds.
- A lane that measured the same thing on two events holds: only one event's records can count.
- One record a (run, attempt, lane, part): two with different bytes block.
- The job of the newest attempt succeeded: whoever cancels a run, or lets it fail, after its record is written has no pass.
- Pooling lanes: the newest started attempt's ledger is the member; it names every earlier started attempt,
  and what it says of them must be what they said of themselves.
- Exact and carry-over lanes: every started attempt is a member, part by part. A fail of an older attempt
  stands; an unknown is superseded; an attempt lost to the runner without an artifact counts against
  ``retries``; one that ended and left nothing is a missing member.
- Each check is one function of ``CHECKS``, so that a test can take one away and show what would then count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from truegreen.core.decision import Cause, Member
from truegreen.core.index import LOST
from truegreen.core.outcome import Word
from truegreen.core.policy import Lane
from truegreen.gate.complete_exact import EXACT_CHECKS
from truegreen.gate.complete_pool import POOL_CHECKS
from truegreen.gate.expected import ACCEPTED_EVENTS, Expected, Started, expect, sequence_number
from truegreen.gate.ground import Ground, Unreachable
from truegreen.gate.model import Candidate, Kind, LaneEvidence
from truegreen.gate.place import Place
from truegreen.gate.verify import Verified

PlaceCheck = Callable[[Place, Ground], Iterator[Cause]]


def index_is_complete(place: Place, ground: Ground) -> Iterator[Cause]:
    """The forge's own list of attempts is there, whole, and about this head."""
    index = ground.index
    problem = ""
    if index is None:
        problem = "no run index"
    elif not index.complete:
        problem = "the run index says that a page or a count is missing"
    elif index.repo.casefold() != ground.facts.repo.casefold() or index.head_sha != ground.facts.head_sha:
        yield place.hold(
            "index-other-head",
            index_head=f"{index.repo} {index.head_sha}",
            head=f"{ground.facts.repo} {ground.facts.head_sha}",
        )
    elif ground.facts.pull_request is not None and ground.facts.pull_request not in index.pull_requests:
        problem = f"the run index does not cover pull request {ground.facts.pull_request}"
    elif ground.facts.event == "merge_group" and not index.pull_requests:
        problem = "the run index covers no pull request of the queue"
    elif not place.expected.jobs_complete:
        problem = "the run index lacks jobs of an attempt"
    elif (run := index.run(ground.facts.run_id)) is None or len(run.attempts) < ground.facts.run_attempt:
        problem = f"the run index lacks run {ground.facts.run_id} attempt {ground.facts.run_attempt}"
    if problem:
        yield place.hold("attempts-unknown", problem=problem)


def heads_can_be_told(place: Place, ground: Ground) -> Iterator[Cause]:
    """The key of every earlier head could be recomputed."""
    del ground
    for code, facts in place.expected.problems:
        yield place.hold(code, **facts)


def jobs_are_unambiguous(place: Place, ground: Ground) -> Iterator[Cause]:
    """The job of the lane's part is one job."""
    del ground
    if place.expected.two_jobs:
        yield place.block("two-jobs-one-name", job=place.expected.two_jobs)


def one_event_measured(place: Place, ground: Ground) -> Iterator[Cause]:
    """The lane ran on the event that is asked about alone; another one's record of the same thing can never count."""
    accepted = ACCEPTED_EVENTS[ground.facts.event]
    other = next((one for one in place.expected.started if one.run.event not in accepted), None)
    if other is not None:
        yield place.hold(
            "event-mismatch", event=other.run.event, asked=ground.facts.event, run_id=other.run.run_id
        )


def something_started(place: Place, ground: Ground) -> Iterator[Cause]:
    """An attempt of the part started at all."""
    del ground
    if place.expected.started:
        return
    if place.expected.waiting:
        yield place.hold("still-running")
    elif place.expected.skipped:
        yield place.hold("skipped-job")
    else:
        yield place.hold("never-started", job=place.lane.job)


def attempts_have_ended(place: Place, ground: Ground) -> Iterator[Cause]:
    """The lane's job is over in every attempt, older ones too, and it is not about to start again."""
    del ground
    newest = next((one for one in reversed(place.expected.started) if one.job.running), place.newest)
    if newest is None:
        return
    if newest.job.running or place.expected.waiting or place.expected.unlisted:
        yield place.hold("still-running", attempt=newest.attempt.attempt)


def newest_left_its_record(place: Place, ground: Ground) -> Iterator[Cause]:
    """The newest started attempt has an accepted record."""
    newest = place.newest
    if newest is None or newest.job.running or place.record_of(newest) is not None:
        return
    conclusion = newest.job.conclusion or "unknown"
    found, finding = place.readable_of(newest), place.finding_of(newest)
    if found is not None and finding is not None:
        facts = {**finding.facts, "file": found.name, "container": found.container}
        yield place.hold(finding.code, **facts)
    elif ground.facts.local:  # no forge saw a run, so nothing is said of one
        yield place.hold("not-sampled-here")
    elif conclusion in LOST:
        yield place.hold("cancelled", attempt=newest.attempt.attempt, conclusion=conclusion)
    else:
        yield place.hold("missing-record", attempt=newest.attempt.attempt, conclusion=conclusion)


def newest_job_succeeded(place: Place, ground: Ground) -> Iterator[Cause]:
    """The job that left the newest record went well itself: one that was cancelled or failed after it is no pass."""
    del ground
    newest = place.newest
    if newest is None or newest.job.running or place.record_of(newest) is None:
        return
    conclusion = newest.job.conclusion or "unknown"
    if conclusion in LOST:
        yield place.hold("cancelled", attempt=newest.attempt.attempt, conclusion=conclusion)
    elif conclusion != "success":
        yield place.hold("job-not-successful", attempt=newest.attempt.attempt, conclusion=conclusion)


def one_record_each(place: Place, ground: Ground) -> Iterator[Cause]:
    """No two records of one (run, attempt, lane, part) differ."""
    del ground
    seen: dict[tuple[int, int, str, str], str] = {}
    for candidate in place.readable:
        known = seen.setdefault(candidate.identity, candidate.digest)
        if known != candidate.digest:
            run_id, run_attempt, _, _ = candidate.identity
            yield place.block("two-records", run_id=run_id, run_attempt=run_attempt)


GENERAL_CHECKS: tuple[PlaceCheck, ...] = (
    index_is_complete,
    heads_can_be_told,
    jobs_are_unambiguous,
    one_record_each,
    one_event_measured,
    something_started,
    attempts_have_ended,
    newest_left_its_record,
    newest_job_succeeded,
)
CHECKS: tuple[PlaceCheck, ...] = (*GENERAL_CHECKS, *POOL_CHECKS, *EXACT_CHECKS)
"""Every check of one lane's part, in order."""


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """One lane's evidence and what completeness says of it."""

    evidence: LaneEvidence
    """Records that speak for the lane."""
    causes: tuple[Cause, ...]
    """Holds and blocks."""
    notes: tuple[Cause, ...]
    """Disclosures."""
    members: tuple[Member, ...]
    """The expected set with what came of each member."""


def complete(
    lane: Lane,
    kind: Kind,
    verified: Verified,
    ground: Ground,
    *,
    checks: tuple[PlaceCheck, ...] = CHECKS,
) -> Completed:
    """Compare the accepted records of one lane with its expected set."""
    accepted = tuple(c for c in verified.accepted if c.lane.name == lane.name)
    base, causes = _base(lane, accepted, ground)
    places = tuple(_place(lane, kind, part, base, verified, ground) for part in kind.parts)
    causes += [cause for place in places for check in checks for cause in check(place, ground)]
    notes: list[Cause] = []
    j, unknown = _sequence(lane, kind, base, places, ground)
    causes.extend(one for one in unknown if one.code not in {told.code for told in causes})
    notes.extend(_disclosures(lane, accepted, places, ground))
    evidence = LaneEvidence(
        lane=lane,
        newest=tuple(c for place in places if (c := place.newest_record) is not None),
        older=tuple(c for place in places for c in place.older_records),
        j=j,
        is_complete=not causes,
    )
    return Completed(
        evidence=evidence,
        causes=tuple(causes),
        notes=tuple(notes),
        members=tuple(member for place in places for member in place.members()),
    )


def _place(  # noqa: PLR0913, PLR0917 - a place is made of these
    lane: Lane, kind: Kind, part: str, base: str, verified: Verified, ground: Ground
) -> Place:
    def mine(candidate: Candidate) -> bool:
        return candidate.lane.name == lane.name and candidate.envelope.part == part

    return Place(
        lane=lane,
        kind=kind,
        part=part,
        expected=expect(lane, kind, part, base, ground),
        accepted=tuple(filter(mine, verified.accepted)),
        readable=tuple(filter(mine, verified.readable)),
        findings={
            (seen.container, seen.name): finding
            for seen, finding, name in verified.findings
            if name == lane.name
        },
    )


def _base(lane: Lane, accepted: tuple[Candidate, ...], ground: Ground) -> tuple[str, list[Cause]]:
    """The base that keys are compared on: the newest own record's, or the tip; and a hold if it cannot be told."""
    own = [c for c in accepted if c.envelope.subject.head_sha == ground.facts.head_sha]
    newest = max(own, key=lambda c: (c.envelope.issued_at, c.identity), default=None)
    said = newest.envelope.subject.base_sha if newest else ground.tip
    try:
        return ground.base_of(lane, said), []
    except Unreachable as err:
        return said, [Cause(code=err.code, word=Word.HOLD, lane=lane.name, facts=dict(err.facts))]


def _sequence(
    lane: Lane, kind: Kind, base: str, places: tuple[Place, ...], ground: Ground
) -> tuple[int, tuple[Cause, ...]]:
    """The sequence number with the attempts that left nothing, and a hold if it cannot be told."""
    if kind.attempt != "pool":
        return 1, ()
    try:
        j = sequence_number(lane, base, ground)
    except Unreachable as err:
        return 1, (Cause(code=err.code, word=Word.HOLD, lane=lane.name, facts=dict(err.facts)),)
    return j + sum(place.left_none_count for place in places), ()


def _disclosures(
    lane: Lane, accepted: tuple[Candidate, ...], places: tuple[Place, ...], ground: Ground
) -> Iterator[Cause]:
    """What the decision says without weight."""
    asked = ground.facts.group_base or ground.tip
    bases = {
        c.envelope.subject.base_sha for c in accepted if c.envelope.subject.head_sha == ground.facts.head_sha
    }
    if lane.tree == "merge" and ground.facts.event == "pull_request":
        for base in sorted(bases - {asked}):
            yield Cause(
                code="base-not-held", word=None, lane=lane.name, facts={"base_sha": base, "tip": asked}
            )
    if lane.runs == "this":
        yield Cause(code="other-runs-not-read", word=None, lane=lane.name)
    for place in places:
        for one in place.lost:
            yield Cause(
                code="attempt-lost",
                word=None,
                lane=lane.name,
                facts={"run_id": one.run.run_id, "attempt": one.attempt.attempt},
            )


__all__ = ["CHECKS", "Completed", "Expected", "PlaceCheck", "Started", "complete"]
