# SPDX-License-Identifier: Apache-2.0
"""The run index: the forge's own list of runs, attempts, jobs and artifacts, stored as bytes for the gate.

What it decides: the shape, and simple questions about it. What it leaves: fetching, to the forge adapters;
belief and completeness, to the gate.

- A step before the gate writes it from the forge's API: all pages, every count compared.
- Without a complete index nobody knows which attempts exist, so nothing can be complete.
- A job *started* in an attempt only if it ran there: a copy carried over from an earlier attempt, a skipped
  job and a job that was cancelled before it began did not.
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

import msgspec

from truegreen.core.canonical import read_json
from truegreen.core.errors import EvidenceProblem
from truegreen.core.schema import validate

SCHEMA = "truegreen/run-index/v1"
LOST = frozenset({"cancelled", "timed_out", "stale", "startup_failure"})
"""Conclusions that the runner gives without the job's own leave."""


class Artifact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One artifact that an attempt left."""

    name: str
    """Its name as the forge lists it."""
    size_bytes: int
    """Its size."""
    digest: str | None = None
    """``sha256:`` digest of the archive if the forge gives one."""
    expired: bool = False
    """Whether the forge has already deleted its bytes."""


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One job of one attempt."""

    name: str
    """The job's display name as the forge lists it."""
    status: str
    """``queued``, ``in_progress`` or ``completed`` (others are read as not completed)."""
    conclusion: str | None
    """The forge's conclusion once completed."""
    started_at: str | None
    """UTC RFC 3339, or null if it never began."""
    carried_over: bool = False
    """Whether this row is a copy of an earlier attempt's job."""

    @property
    def started(self) -> bool:
        """Whether the job began to run in this attempt."""
        return self.started_at is not None and not self.carried_over and self.conclusion != "skipped"

    @property
    def running(self) -> bool:
        """Whether the job has begun or may still begin."""
        return self.status != "completed"


class Attempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One attempt of a run."""

    attempt: int
    """Counted from 1."""
    started_at: str
    """UTC RFC 3339."""
    status: str
    """As for jobs."""
    conclusion: str | None
    """As for jobs."""
    jobs: tuple[Job, ...]
    """Every job of this attempt."""
    artifacts: tuple[Artifact, ...]
    """Every artifact that this attempt left."""
    jobs_complete: bool
    """Whether all pages of jobs were read and counted."""
    artifacts_complete: bool
    """Whether all pages of artifacts were read and counted."""

    def job(self, name: str) -> Job | None:
        """The job of that name; two of one name are no answer.

        Raises: EvidenceProblem ``two-jobs-one-name``.
        """
        found = [job for job in self.jobs if job.name == name]
        if len(found) > 1:
            raise EvidenceProblem(
                "two-jobs-one-name",
                f"{len(found)} jobs of attempt {self.attempt} are called {name!r}, a lane needs one",
                contradictory=True,
            )
        return found[0] if found else None


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One workflow run."""

    run_id: int
    """The forge's id."""
    workflow: str
    """Path of the workflow file."""
    event: str
    """The event that started it."""
    head_sha: str
    """Commit that the run is about: the pull request's head, or the group's or pushed commit."""
    head_repo: str
    """``owner/name`` that the head lives in."""
    attempts: tuple[Attempt, ...]
    """Every attempt, in order."""


class RunIndex(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that the forge lists about one head and, for pull requests, its earlier heads."""

    schema: str
    """``truegreen/run-index/v1``."""
    forge: str
    """``github``, or ``git`` for the one-run index of a working copy."""
    repo: str
    """``owner/name``."""
    fetched_at: str
    """UTC RFC 3339."""
    head_sha: str
    """The head that was asked about."""
    pull_requests: tuple[int, ...]
    """The pull request, or those of a queue's group; empty for a push."""
    earlier_heads: tuple[str, ...]
    """Earlier heads of those pull requests, oldest first, without ``head_sha``."""
    complete: bool
    """Whether every page was read and every count agreed."""
    runs: tuple[Run, ...]
    """The runs of all those heads."""

    def run(self, run_id: int) -> Run | None:
        """The run of that id."""
        return next((run for run in self.runs if run.run_id == run_id), None)


def read_index(data: bytes) -> RunIndex:
    """The run index in ``data``.

    Raises: EvidenceProblem ``bad-run-index`` for another schema, a missing or unknown key, a run or attempt
    listed twice, a run without attempts, or attempts with a gap, besides what the strict reader raises.
    """
    value = read_json(data)
    try:
        validate("run-index.v1", value)
    except EvidenceProblem as err:
        raise EvidenceProblem("bad-run-index", err.message) from err
    index = msgspec.convert(value, RunIndex, strict=True)
    ids = [run.run_id for run in index.runs]
    if len(set(ids)) != len(ids):
        raise EvidenceProblem("bad-run-index", f"the run index lists {len(ids)} runs but {len(set(ids))} ids")
    for run in index.runs:
        numbers = [attempt.attempt for attempt in run.attempts]
        if not numbers or numbers != list(range(1, len(numbers) + 1)):
            raise EvidenceProblem(
                "bad-run-index", f"run {run.run_id} lists attempts {numbers}, which do not count from 1"
            )
    return index
