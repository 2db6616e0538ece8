# SPDX-License-Identifier: Apache-2.0
"""Second attempts, earlier pushes, and what a ledger says of them.

What it decides: honest and false stories of earlier attempts. What it leaves: which answer is asked for, to ``ways``.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.index import Job, Run
from truegreen.core.record import Envelope, artifact_name, write_record
from truegreen.sampling.ledger import Case, CaseSamples, Link
from truegreen.wiring.rehearsal import records
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.heads import with_head
from truegreen.wiring.rehearsal.honest import Actors
from truegreen.wiring.rehearsal.setting import Cast
from truegreen.wiring.rehearsal.tricks import (
    body_of,
    index,
    own_run,
    path_of,
    put,
    record_of,
    sharing,
    without,
)


def link(actors: Actors, standing: str, digest: Sha256 | None = None, outcomes: str = "") -> Link:
    """How attempt 2 names attempt 1."""
    taken = records.samples(outcomes) if outcomes else ()
    cases = tuple(CaseSamples(id=name, samples=taken, lost=()) for name in actors.cast.ids) if taken else ()
    return Link(
        run_id=actors.stage.facts.run_id,
        run_attempt=1,
        head_sha=actors.stage.facts.head_sha,
        standing=standing,
        digest=digest,
        cases=cases,
    )


def second_attempt(actors: Actors, record: Envelope) -> on.Stage:
    """The lane's job was run again: attempt 1 failed and left an artifact, attempt 2 left ``record``.

    What other lanes left in attempt 1 is carried over; a lane that shares the job goes on from what it had.
    """

    def rerun(run: Run) -> Run:
        first = run.attempts[0]
        mine = {on.job_of(actors.lane)}
        failed = [_told(j, mine, started_at=on.EARLIER_AT, conclusion="failure") for j in first.jobs]
        again = [j if j.name in mine else msgspec.structs.replace(j, carried_over=True) for j in first.jobs]
        names = tuple(artifact_name(cast.lane.name, "all", 2) for cast in sharing(actors))
        return msgspec.structs.replace(
            run,
            attempts=(
                msgspec.structs.replace(first, jobs=tuple(failed), started_at=on.EARLIER_AT),
                on.attempt(2, tuple(again), names),
            ),
        )

    stage = without(own_run(actors, rerun), {path_of(actors)})
    stage = replace(stage, facts=msgspec.structs.replace(stage.facts, run_attempt=2))
    for cast in sharing(actors):
        if cast.lane.name != actors.lane.name:
            stage = _gone_on(actors, stage, cast)
    return stage.with_evidence(path_of(actors, 2), record)


def _told(job: Job, names: set[str], **changes: object) -> Job:
    return msgspec.structs.replace(job, **changes) if job.name in names else job


def _gone_on(actors: Actors, stage: on.Stage, cast: Cast) -> on.Stage:
    """Attempt 2 of a lane that had its verdict already: it embeds what attempt 1 left and draws nothing."""
    earlier = stage.ledgers[on.evidence_path(cast.lane.name, "all", 1)]
    taken = tuple(CaseSamples(id=c.id, samples=c.samples, lost=c.lost) for c in body_of(earlier).cases)
    named = msgspec.structs.replace(link(actors, "samples", sha256_of(write_record(earlier))), cases=taken)
    nothing = tuple(records.case_row(name, ()) for name in cast.ids)
    record = actors.ledger_of(nothing, 2, cast=cast, chain=(named,))
    return stage.with_evidence(on.evidence_path(cast.lane.name, "all", 2), record)


def run_again(actors: Actors) -> on.Stage:
    """An honest second attempt after a first that passed: it goes on from the first and draws nothing."""
    first = record_of(actors)
    stage = second_attempt(actors, first).with_evidence(path_of(actors), first)
    return _gone_on(actors, stage, actors.cast)


def rerun(actors: Actors) -> on.Stage:
    """Attempt 2 passes and says nothing about attempt 1."""
    return second_attempt(actors, actors.ledger_of(_every_row(actors, actors.cast.passing()), 2))


def left_nothing(actors: Actors) -> on.Stage:
    """Attempt 2 says that attempt 1 left nothing, though the forge lists its artifact."""
    taken = _every_row(actors, actors.cast.passing(2))
    chain = (link(actors, "left-none"),)
    return second_attempt(actors, actors.ledger_of(taken, 2, chain=chain, j=2))


def failed_before(actors: Actors) -> Envelope:
    """The ledger that attempt 1 really left: every sample failed."""
    return actors.ledger_of(_every_row(actors, actors.cast.failing()))


def rewritten_chain(actors: Actors) -> on.Stage:
    """Attempt 2 embeds passes in place of the failures that attempt 1 left."""
    earlier = failed_before(actors)
    passing = actors.cast.passing()
    early = max(1, len(passing) // 2)
    named = link(actors, "samples", sha256_of(write_record(earlier)), passing[:early])
    taken = _every_row(actors, passing[early:], first=early + 1)
    stage = second_attempt(actors, actors.ledger_of(taken, 2, chain=(named,)))
    return stage.with_evidence(path_of(actors), earlier)


def other_key(actors: Actors) -> on.Stage:
    """Attempt 2 says that attempt 1 judged something else, which its record beside denies."""
    earlier = failed_before(actors)
    named = link(actors, "other-key", sha256_of(write_record(earlier)))
    record = actors.ledger_of(_every_row(actors, actors.cast.passing()), 2, chain=(named,))
    return second_attempt(actors, record).with_evidence(path_of(actors), earlier)


def passed_over(actors: Actors) -> on.Stage:
    """The ledger that attempt 1 left is there and failed; attempt 2 passes and says nothing about it."""
    return rerun(actors).with_evidence(path_of(actors), failed_before(actors))


def _borrowing(actors: Actors, named: Link, j: int = 1) -> Envelope:
    """A ledger that draws nothing and takes its passes from another attempt."""
    nothing = tuple(records.case_row(name, ()) for name in actors.cast.ids)
    return actors.ledger_of(nothing, chain=(named,), j=j)


def invented_attempt(actors: Actors) -> on.Stage:
    """Every pass comes from a run that nobody lists."""
    named = link(actors, "samples", Sha256("sha256:" + "2" * 64), actors.cast.passing())
    return put(actors, _borrowing(actors, msgspec.structs.replace(named, run_id=4711)))


def borrowed_passes(actors: Actors) -> on.Stage:
    """Every pass comes from an earlier push that had other code."""
    before = actors.stage.git.commit(
        {**actors.files, actors.setting.program: "ANSWER = 3\n"},
        (actors.base,),
        actors.setting.branch("before"),
    )
    stage = with_earlier_head(actors, before)
    named = link(actors, "samples", Sha256("sha256:" + "3" * 64), actors.cast.passing(2))
    other = msgspec.structs.replace(named, run_id=on.RUN_ID - 1, head_sha=before)
    record = _borrowing(actors, other, j=2)
    return stage.with_evidence(path_of(actors), record)


def with_earlier_head(actors: Actors, before: str) -> on.Stage:
    """The pull request had another head before, and the lane ran there and left its artifact."""
    lane = actors.lane
    jobs = (on.job(on.job_of(lane), started_at=on.EARLIER_AT),)
    attempt = on.attempt(1, jobs, (artifact_name(lane.name, "all", 1),), on.EARLIER_AT)
    run = on.run(on.RUN_ID - 1, before, (attempt,), workflow=lane.workflow)
    return index(
        actors,
        lambda listed: msgspec.structs.replace(listed, earlier_heads=(before,), runs=(run, *listed.runs)),
    )


def empty_commit(actors: Actors) -> on.Stage:
    """The head before had the same files and failed; a new commit without a change is green."""
    before = actors.stage.facts.head_sha
    newer = with_head(actors, actors.files, parent=before)
    return with_earlier_head(newer, before)


def _every_row(actors: Actors, outcomes: str, first: int = 1) -> tuple[Case, ...]:
    return tuple(records.case_row(name, records.samples(outcomes, first)) for name in actors.cast.ids)
