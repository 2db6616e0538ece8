# SPDX-License-Identifier: Apache-2.0
"""Checks of what a record is about: repository, workflow, event, head, base branch, run.

- Another repository or an unlisted workflow is foreign: it blocks.
- Another commit, event, base branch or pull request of ours is stale: it satisfies nothing.
- A run that a complete index lacks is stale; a run that the index describes otherwise is a contradiction.
- Names of repositories are compared without case, as the forge does.
"""

from __future__ import annotations

from datetime import timedelta

from truegreen.core.index import Attempt, Job
from truegreen.core.instants import instant
from truegreen.gate.expected import ACCEPTED_EVENTS
from truegreen.gate.ground import Ground
from truegreen.gate.model import Candidate, Finding

SKEW_S = 300
"""Most seconds by which the clocks of producer, forge and gate may differ."""


def own_repository(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record is about this repository."""
    repo = candidate.envelope.subject.repo
    if repo.casefold() == ground.facts.repo.casefold():
        return None
    return Finding(
        code="foreign-repo", standing="blocked", facts={"repo": repo[:100], "asked": ground.facts.repo}
    )


def listed_workflow(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record comes from a workflow file that the lane's policy lists."""
    workflow = candidate.envelope.subject.workflow
    if ground.facts.local or workflow == candidate.lane.workflow:
        return None
    return Finding(
        code="foreign-workflow",
        standing="blocked",
        facts={"workflow": workflow[:100], "asked": candidate.lane.workflow},
    )


def not_local(candidate: Candidate, ground: Ground) -> Finding | None:
    """A working copy's evidence never counts for a forge's event, nor the other way round."""
    is_local = candidate.envelope.subject.event == "local"
    if is_local == ground.facts.local:
        return None
    return Finding(code="local-record", standing="stale", facts={"event": candidate.envelope.subject.event})


def not_dirty(candidate: Candidate, ground: Ground) -> Finding | None:
    """Changes that no commit holds never count in CI."""
    if not candidate.envelope.subject.dirty or ground.facts.local:
        return None
    return Finding(code="dirty-tree", standing="stale")


def own_head_repository(candidate: Candidate, ground: Ground) -> Finding | None:
    """The head lives where the event says; a merge group brings records of its pull requests."""
    subject = candidate.envelope.subject
    if ground.facts.event == "merge_group" and subject.event == "pull_request":
        return None
    if subject.head_repo.casefold() == ground.facts.head_repo.casefold():
        return None
    return Finding(
        code="foreign-head-repo",
        standing="blocked",
        facts={"repo": subject.head_repo[:100], "asked": ground.facts.head_repo},
    )


def own_event(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record comes from a run of the event that is asked about; a group takes those of its pull requests too."""
    event = candidate.envelope.subject.event
    if event in ACCEPTED_EVENTS[ground.facts.event]:
        return None
    return Finding(
        code="event-mismatch", standing="stale", facts={"event": event, "asked": ground.facts.event}
    )


def own_pull_request(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record is about this pull request, or one of the queue's."""
    number = candidate.envelope.subject.pull_request
    asked = {ground.facts.pull_request}
    if ground.facts.event == "merge_group" and ground.index is not None:
        asked |= set(ground.index.pull_requests)
    if number in asked:
        return None
    return Finding(
        code="stale-pull-request",
        standing="stale",
        facts={"pull_request": str(number), "asked": str(ground.facts.pull_request)},
    )


def own_head(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record is about this head, or about an earlier head that a pooling lane accounts for."""
    head = candidate.envelope.subject.head_sha
    if head == ground.facts.head_sha:
        return None
    is_earlier = ground.index is not None and head in ground.index.earlier_heads
    counts = candidate.kind.attempt == "pool" or ground.facts.event == "merge_group"
    if is_earlier and counts and candidate.lane.runs == "same-tree":
        return None
    return Finding(
        code="stale-head", standing="stale", facts={"head_sha": head, "asked": ground.facts.head_sha}
    )


def own_base_ref(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record was made against this base branch."""
    base_ref = candidate.envelope.subject.base_ref
    if base_ref == ground.facts.base_ref:
        return None
    return Finding(
        code="stale-base-ref",
        standing="stale",
        facts={"base_ref": base_ref[:100], "asked": ground.facts.base_ref},
    )


def run_counts(candidate: Candidate, ground: Ground) -> Finding | None:
    """The lane accepts evidence of that run."""
    if candidate.lane.runs == "same-tree" or candidate.envelope.subject.run_id == ground.facts.run_id:
        return None
    return Finding(
        code="stale-run",
        standing="stale",
        facts={"run_id": candidate.envelope.subject.run_id, "asked": ground.facts.run_id},
    )


def run_known(candidate: Candidate, ground: Ground) -> Finding | None:
    """The run index has the record's run."""
    run_id = candidate.envelope.subject.run_id
    if ground.index is not None and ground.index.run(run_id) is not None:
        return None
    return Finding(code="run-not-in-index", standing="stale", facts={"run_id": run_id})


def part_known(candidate: Candidate, ground: Ground) -> Finding | None:
    """The kind has a part of that name."""
    del ground
    if candidate.envelope.part in candidate.kind.parts:
        return None
    return Finding(code="unknown-part", standing="stale", facts={"part": candidate.envelope.part})


def agrees_with_run(candidate: Candidate, ground: Ground) -> Finding | None:
    """Head, workflow, event, attempt and job are as the index lists them.

    At home every record is of run 0, so that one about another commit is only old: ``own_head`` says so.
    """
    subject = candidate.envelope.subject
    run = ground.index.run(subject.run_id) if ground.index else None
    if run is None:
        return None
    attempt = _attempt(candidate, ground)
    for name, said, listed in (
        ("head_sha", subject.head_sha, run.head_sha),
        ("head_repo", subject.head_repo.casefold(), run.head_repo.casefold()),
        ("workflow", subject.workflow, run.workflow),
        ("event", subject.event, run.event),
        ("run_attempt", str(subject.run_attempt), str(attempt.attempt) if attempt else "no such attempt"),
        ("job", "started", "started" if _started(candidate, ground) else "not started"),
    ):
        if said != listed and not (ground.facts.local and name == "head_sha"):
            return Finding(
                code="contradicts-run",
                standing="blocked",
                facts={"field": name, "record": said[:100], "index": listed[:100]},
            )
    return None


def not_before_its_job(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record was not written before its job began, by the index; clocks differ by ``SKEW_S`` seconds at most."""
    began = max((job.started_at or "" for job in _started(candidate, ground)), default="")
    issued = candidate.envelope.issued_at
    if not began or ground.facts.local or instant(issued) + timedelta(seconds=SKEW_S) >= instant(began):
        return None
    return Finding(code="before-its-job", standing="stale", facts={"issued_at": issued, "started_at": began})


def _attempt(candidate: Candidate, ground: Ground) -> Attempt | None:
    """The record's attempt, by the index."""
    subject = candidate.envelope.subject
    run = ground.index.run(subject.run_id) if ground.index else None
    return next((a for a in run.attempts if a.attempt == subject.run_attempt), None) if run else None


def _started(candidate: Candidate, ground: Ground) -> list[Job]:
    """The lane's jobs that began in the record's attempt, by the index."""
    attempt = _attempt(candidate, ground)
    name = candidate.lane.job.replace("{part}", candidate.envelope.part)
    return [job for job in attempt.jobs if job.name == name and job.started] if attempt else []


FOREIGN_CHECKS = (
    not_local,
    own_repository,
    listed_workflow,
    own_head_repository,
    part_known,
    agrees_with_run,
)
"""Whose record it is: somebody else's, or one that denies the run that it names (a part has a job of its own)."""
STALE_CHECKS = (
    not_dirty,
    own_event,
    own_pull_request,
    own_head,
    own_base_ref,
    run_counts,
    run_known,
    not_before_its_job,
)
"""What it is about: ours, but something else."""
