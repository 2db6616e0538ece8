# SPDX-License-Identifier: Apache-2.0
"""The expected set: which attempts of which runs must be accounted for, by the run index alone.

What it decides: the started attempts of one lane's part, in order of start. What it leaves: whether each has
its record, to ``complete``.

- A run counts if its workflow is the lane's and its head is this head. Under ``runs = "this"`` only the run
  in which the gate runs.
- For pooling lanes the pull request's earlier heads count as well when their author's change, merged with the
  same base, gives the same key: an empty commit does not shake off a result. One that conflicts with the base by
  now is asked for the key of its own tree; one whose tree gives no key at all shares it with nobody.
- In a queue the heads of its pull requests count when they give the very tree of the group.
- A run of another event counts if it tested the same (``SAME_EVENTS``), and its records satisfy nothing.
- An attempt is a member if the lane's job started in it. "Newest" is by start time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.index import Attempt, Job, Run
from truegreen.core.policy import Lane
from truegreen.core.record import artifact_name
from truegreen.gate.ground import UNANSWERED, Ground, Unreachable, unreachable
from truegreen.gate.model import Kind

ACCEPTED_EVENTS: Mapping[str, tuple[str, ...]] = {
    "pull_request": ("pull_request",),
    "merge_group": ("merge_group", "pull_request"),
    "push": ("push",),
    "local": ("local",),
}
"""Event of the decision to the events whose records may count."""
SAME_EVENTS: Mapping[str, tuple[str, ...]] = {
    **ACCEPTED_EVENTS,
    "pull_request": ("pull_request", "push"),
    "merge_group": ("merge_group", "pull_request", "push"),
}
"""Event of the decision to the events that can measure the same thing. A push after a merge stands for itself."""
NO_KEY = "no-key"
"""Stands in place of a ruler digest where a tree gives none; no digest reads so."""
Key = tuple[str, str]
"""(ruler, subject) digests."""


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt in which the lane's job began."""

    run: Run
    """Its run."""
    attempt: Attempt
    """The attempt."""
    job: Job
    """The lane's job there."""

    @property
    def order(self) -> tuple[str, int, int]:
        """Start time, then run and attempt, so that equal times still have one order."""
        return (self.job.started_at or "", self.run.run_id, self.attempt.attempt)

    def has_artifact(self, lane: str, part: str) -> bool:
        """Whether the attempt lists an artifact of this lane's part."""
        asked = artifact_name(lane, part, self.attempt.attempt)
        return any(artifact.name == asked for artifact in self.attempt.artifacts)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """The members of one lane's part."""

    lane: Lane
    """The lane."""
    part: str
    """The part."""
    started: tuple[Started, ...]
    """Members, oldest first."""
    skipped: bool
    """Whether the job exists in the newest run but was skipped."""
    waiting: bool
    """Whether the job is listed as about to begin in the newest attempt of a run."""
    unlisted: bool
    """Whether the newest attempt of a run has not ended and does not list the job: a forge lists a job once
    what it needs has ended, so until then nobody can tell whether it will run."""
    jobs_complete: bool
    """Whether every job of every attempt of these runs is listed."""
    problems: tuple[tuple[str, dict[str, str | int]], ...]
    """Reason codes and facts of what could not be told, besides holds."""
    two_jobs: str
    """The ambiguous job name, or empty."""


def expect(lane: Lane, kind: Kind, part: str, base: str, ground: Ground) -> Expected:
    """The expected set of one part; ``base`` is the commit that earlier heads are merged with."""
    name = lane.job.replace("{part}", part)
    problems: list[tuple[str, dict[str, str | int]]] = []
    runs = _runs(lane, kind, base, ground, problems)
    started: list[Started] = []
    latest: Job | None = None
    two_jobs = ""
    for run in runs:
        for attempt in run.attempts:
            try:
                job = attempt.job(name)
            except EvidenceProblem:
                two_jobs = name
                continue
            if job is None:
                continue
            latest = job
            if job.started:
                started.append(Started(run=run, attempt=attempt, job=job))
    return Expected(
        lane=lane,
        part=part,
        started=tuple(sorted(started, key=lambda one: one.order)),
        skipped=latest is not None and latest.conclusion == "skipped",
        waiting=any(job.running and not job.started for job in _in_newest(runs, name)),
        unlisted=any(
            run.attempts[-1].status != "completed" and not any(_in_newest((run,), name)) for run in runs
        ),
        jobs_complete=all(attempt.jobs_complete for run in runs for attempt in run.attempts),
        problems=tuple(problems),
        two_jobs=two_jobs,
    )


def _in_newest(runs: tuple[Run, ...], name: str) -> Iterator[Job]:
    """The jobs of that name in the newest attempts of these runs."""
    return (job for run in runs for job in run.attempts[-1].jobs if job.name == name)


def _runs(
    lane: Lane, kind: Kind, base: str, ground: Ground, problems: list[tuple[str, dict[str, str | int]]]
) -> tuple[Run, ...]:
    """Runs whose attempts are members, oldest first."""
    index = ground.index
    if index is None:
        return ()
    runs = [run for run in index.runs if ground.facts.local or run.workflow == lane.workflow]
    if lane.runs == "this":
        return tuple(run for run in runs if run.run_id == ground.facts.run_id)
    heads = {ground.facts.head_sha}
    tried = {run.head_sha for run in runs}
    for head in index.earlier_heads:
        if head not in tried:  # nothing of the lane ran there, and the clone may lack what was pushed over
            continue
        try:
            if _counts(head, lane, kind, base, ground):
                heads.add(head)
        except Unreachable as err:
            problems.append((err.code, dict(err.facts) | {"head": head}))
    try:
        counting = [run for run in runs if run.head_sha in heads and _measured_this(run, lane, base, ground)]
    except Unreachable as err:
        problems.append((err.code, dict(err.facts)))
        counting = [run for run in runs if run.head_sha in heads]
    return tuple(sorted(counting, key=lambda run: run.run_id))


def _counts(head: str, lane: Lane, kind: Kind, base: str, ground: Ground) -> bool:
    """Whether an earlier head's attempts belong to the expected set."""
    if ground.facts.event == "merge_group":
        return _earlier_tree(head, lane, base, ground) == ground.head_tree
    if kind.attempt != "pool":
        return False
    return earlier_key(head, lane, base, ground) == key_of(ground.facts.head_sha, lane, base, ground)


def _measured_this(run: Run, lane: Lane, base: str, ground: Ground) -> bool:
    """Whether a run of a head that counts measured the same thing; a push measures the head as it is."""
    event = ground.facts.event
    if run.event in ACCEPTED_EVENTS[event]:
        return True
    if run.event not in SAME_EVENTS[event]:
        return False
    there = _key_of_tree(_own_tree(run.head_sha, ground), lane, ground)
    return there == key_of(ground.facts.head_sha, lane, base, ground)


def key_of(head: str, lane: Lane, base: str, ground: Ground) -> Key:
    """The key that the author's change at ``head`` gives on ``base``.

    Raises: Unreachable.
    """
    digests = ground.digests(lane, ground.tested_tree(lane, head, base))
    return (digests.ruler.digest, digests.subject.digest)


def earlier_key(head: str, lane: Lane, base: str, ground: Ground) -> Key:
    """The key of an earlier head. What was wrong with it then is no fault of the head of now.

    Raises: Unreachable ``earlier-push-not-fetched`` or ``git-failed``.
    """
    try:
        return _key_of_tree(_earlier_tree(head, lane, base, ground), lane, ground)
    except Unreachable as err:
        raise _about_earlier(err, head) from err


def _earlier_tree(head: str, lane: Lane, base: str, ground: Ground) -> str:
    """The tree that an earlier head gives on ``base``; its own one where the two conflict by now."""
    try:
        return ground.tested_tree(lane, head, base)
    except Unreachable as err:
        if err.code != "merge-conflict":
            raise _about_earlier(err, head) from err
        return _own_tree(head, ground)


def _own_tree(head: str, ground: Ground) -> str:
    try:
        return ground.git.tree_of(head)
    except ReachProblem as err:
        raise _about_earlier(unreachable(err), head) from err


def _key_of_tree(tree: str, lane: Lane, ground: Ground) -> Key:
    """The key of a tree; one whose files give no digests has a key that no other tree shares."""
    try:
        digests = ground.digests(lane, tree)
    except Unreachable as err:
        if err.code in UNANSWERED:
            raise
        return (NO_KEY, tree)
    except UsageProblem:  # its files contradict the policy; those of now are asked for themselves
        return (NO_KEY, tree)
    return (digests.ruler.digest, digests.subject.digest)


def _about_earlier(err: Unreachable, head: str) -> Unreachable:
    """An object that is missing is named as what it is: a push that no branch leads to any more."""
    if err.code != "missing-object":
        return err
    return Unreachable("earlier-push-not-fetched", head=head, **err.facts)


def sequence_number(lane: Lane, base: str, ground: Ground) -> int:
    """Which fresh sequence of the pull request the current key is, counted from 1.

    Distinct keys that the author's tree caused count in order of appearance, whether or not their runs
    measured anything; coming back to an earlier key goes on with that key's sequence.

    Raises: Unreachable when the key of an earlier head cannot be told.
    """
    index = ground.index
    current = key_of(ground.facts.head_sha, lane, base, ground)
    keys: list[tuple[str, str]] = []
    tried = {run.head_sha for run in index.runs if run.workflow == lane.workflow} if index else set()
    for head in index.earlier_heads if index else ():
        if head not in tried:
            continue
        key = earlier_key(head, lane, base, ground)
        if key not in keys:
            keys.append(key)
    return keys.index(current) + 1 if current in keys else len(keys) + 1
