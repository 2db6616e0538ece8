# SPDX-License-Identifier: Apache-2.0
"""Other events than a pull request's, and other places of the policy: honest stages and tricks on them.

What it decides: queue, push and working copy as stages, and what is wrong with each. What it leaves: which answer
is asked for, to ``ways``.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from truegreen.core.event import EventFacts
from truegreen.core.index import Run, RunIndex
from truegreen.core.policy import POLICY_FILE
from truegreen.core.record import artifact_name
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.clone import Files
from truegreen.wiring.rehearsal.honest import Actors
from truegreen.wiring.rehearsal.tricks import path_of, sharing

GROUP_RUNS = 2001
"""First run of the queue's and of a push's workflows."""


def queued(actors: Actors, commits: tuple[Files, ...] = ()) -> Actors:
    """The pull request alone in a merge queue, sampled there and nowhere else; or a queue of these commits."""
    git, facts = actors.stage.git, actors.stage.facts
    group = actors.base
    for files in commits or (actors.files,):
        group = git.commit(files, (group,), actors.setting.branch("queue"))
    asked = msgspec.structs.replace(
        facts,
        event="merge_group",
        pull_request=None,
        head_sha=group,
        group_base=actors.base,
        run_id=GROUP_RUNS,
    )
    moved = replace(actors, stage=replace(actors.stage, facts=asked, index=_index(actors, asked)))
    return moved.with_honest_evidence()


def queued_behind(actors: Actors) -> on.Stage:
    """Evidence of the pull request, offered for a group that another pull request is part of.

    The lane ran on the pull request and is skipped in the queue, as a lane is whose evidence is to be used again.
    """
    other = f"{actors.setting.program}.other"
    files = {path: text for path, text in actors.files.items() if path != actors.setting.program}
    before = {**files, actors.setting.program: "ANSWER = 1\n", other: "1\n"}
    ahead = actors.stage.git.commit(before, (actors.base,), actors.setting.branch("queue"))
    group = queued(replace(actors, base=ahead), ({**actors.files, other: "1\n"},)).stage
    stage = replace(group, index=_ran_before(actors, group.index))
    for cast in sharing(actors):
        path = on.evidence_path(cast.lane.name, "all", 1)
        stage = stage.with_evidence(path, actors.stage.ledgers[path])
    return stage


def _ran_before(actors: Actors, listed: RunIndex | None) -> RunIndex | None:
    """The forge's list in which the job of the lane that is fooled ran on the pull request and not in the queue."""
    if listed is None:
        return None
    name = on.job_of(actors.lane)
    left = tuple(artifact_name(cast.lane.name, "all", 1) for cast in sharing(actors))

    def told(run: Run) -> Run:
        first = run.attempts[0]
        if run.run_id == on.RUN_ID:
            jobs = [on.job(name) if job.name == name else job for job in first.jobs]
            return msgspec.structs.replace(run, attempts=(on.attempt(1, tuple(jobs), left),))
        skipped = _skipped(run).attempts[0].jobs if run.run_id == GROUP_RUNS else first.jobs
        jobs = [no if no.name == name else job for no, job in zip(skipped, first.jobs, strict=True)]
        return msgspec.structs.replace(run, attempts=(msgspec.structs.replace(first, jobs=tuple(jobs)),))

    return msgspec.structs.replace(listed, runs=tuple(map(told, listed.runs)))


def queued_on_older_base(actors: Actors) -> on.Stage:
    """The group's record says that it was tested against a base before the group's own."""
    group = queued(actors)
    with actors.stage.git.asking() as port:
        older = port.parents(actors.base)[0]
    record = group.stage.ledgers[path_of(group)]
    about = msgspec.structs.replace(record.subject, base_sha=older)
    return group.stage.with_evidence(path_of(group), msgspec.structs.replace(record, subject=about))


def queued_harness(actors: Actors) -> on.Stage:
    """A queue in which one commit edits the workflow and code."""
    workflow = {actors.policy.check.workflow: "on: push\n"}
    return queued(actors, ({**actors.files, **workflow},)).stage


def pushed(actors: Actors) -> Actors:
    """The change after its merge: the branch stands on it, and a push is asked about."""
    facts = actors.stage.facts
    actors.stage.git.branch(actors.setting.base_ref, facts.head_sha)
    asked = msgspec.structs.replace(
        facts, event="push", pull_request=None, base_sha=facts.head_sha, run_id=GROUP_RUNS
    )
    moved = replace(
        actors,
        base=facts.head_sha,
        stage=replace(actors.stage, facts=asked, index=_index(actors, asked)),
    )
    return moved.with_honest_evidence()


def at_home(actors: Actors) -> Actors:
    """The same commit as a working copy on somebody's machine."""
    asked = msgspec.structs.replace(
        actors.stage.facts,
        event="local",
        repo="local",
        head_repo="local",
        pull_request=None,
        run_id=0,
        workflow="",
        local=True,
    )
    return replace(actors, stage=replace(actors.stage, facts=asked, index=None)).with_honest_evidence()


def no_policy_at_base(actors: Actors) -> on.Stage:
    """The policy was deleted from the branch that the change goes into."""
    kept = {path: text for path, text in actors.files.items() if path != POLICY_FILE}
    actors.stage.git.commit(kept, (actors.base,), actors.setting.base_ref)
    return actors.stage


def no_policy_at_default(actors: Actors) -> on.Stage:
    """The default branch has no policy that could say which branches are guarded."""
    bare = actors.setting.branch("trunk")
    actors.stage.git.commit({actors.setting.program: "ANSWER = 1\n"}, (), bare)
    facts = msgspec.structs.replace(actors.stage.facts, default_branch=bare)
    return replace(actors.stage, facts=facts)


def policy_in_worktree(actors: Actors) -> on.Stage:
    """The gate is asked to decide by the policy that lies in the working folder."""
    return replace(actors.stage, worktree_policy=actors.policy.text.encode())


def _index(actors: Actors, asked: EventFacts) -> RunIndex | None:
    """The forge's list for another event: the same jobs ran in runs of its own, and on the pull request they did not."""
    listed = actors.stage.index
    if listed is None:
        return None
    is_queue = asked.event == "merge_group"
    ran = [
        msgspec.structs.replace(run, run_id=GROUP_RUNS + at, event=asked.event, head_sha=asked.head_sha)
        for at, run in enumerate(listed.runs)
    ]
    before = [_skipped(run) for run in listed.runs] if is_queue else []
    return msgspec.structs.replace(
        listed,
        head_sha=asked.head_sha,
        pull_requests=(on.PULL_REQUEST,) if is_queue else (),
        earlier_heads=(actors.stage.facts.head_sha,) if is_queue else (),
        runs=(*before, *ran),
    )


def _skipped(run: Run) -> Run:
    """A run in which no lane's job ran."""
    first = run.attempts[0]
    jobs = [msgspec.structs.replace(job, conclusion="skipped", started_at=None) for job in first.jobs]
    return msgspec.structs.replace(
        run, attempts=(msgspec.structs.replace(first, jobs=tuple(jobs), artifacts=()),)
    )
