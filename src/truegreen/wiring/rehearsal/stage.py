# SPDX-License-Identifier: Apache-2.0
"""The stage of a rehearsal: one pull request as values, and what a forge says of it.

What it decides: shapes of the forge's account and of the evidence folder. What it leaves: an honest pull request,
to ``honest``; fooling the gate, to ``ways``.

- Everything that a way changes is a value here: facts, index, evidence, clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from truegreen.core.canonical import write_json
from truegreen.core.event import EventFacts
from truegreen.core.index import SCHEMA as INDEX_SCHEMA
from truegreen.core.index import Artifact, Attempt, Job, Run, RunIndex
from truegreen.core.policy import Lane
from truegreen.core.record import Envelope, artifact_name, file_name, write_record
from truegreen.wiring.rehearsal.clone import Git

REPO = "example/rehearsal"
RUN_ID = 1001
PULL_REQUEST = 7
EARLIER_AT = "2026-01-01T10:00:00Z"
STARTED_AT = "2026-01-01T11:00:00Z"
ISSUED_AT = "2026-01-01T11:30:00Z"
NOW = "2026-01-01T12:00:00Z"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One pull request as files: what the forge says, what the clone holds, what the lanes left."""

    git: Git
    """The clone."""
    facts: EventFacts
    """The event."""
    index: RunIndex | None
    """The run index."""
    ledgers: Mapping[str, Any] = field(default_factory=dict)
    """Evidence: path below the evidence folder to an Envelope or to bytes."""
    now: str = NOW
    """The clock."""
    worktree_policy: bytes | None = None
    """The working copy's policy, where the gate is asked to decide by it."""

    def index_bytes(self) -> bytes | None:
        """The run index as stored."""
        return None if self.index is None else write_json(msgspec.to_builtins(self.index))

    def write(self, folder: Path) -> Path:
        """Write the evidence below ``folder`` as a forge's download leaves it."""
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in self.ledgers.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else write_record(content))
        return folder

    def with_evidence(self, path: str, content: Envelope | bytes) -> Stage:
        """The stage with one file more, or another in its place."""
        return replace(self, ledgers={**self.ledgers, path: content})


def evidence_path(lane: str, part: str, attempt: int) -> str:
    """Where the record of a lane's part lies below the evidence folder."""
    return f"{artifact_name(lane, part, attempt)}/{file_name(lane, part, attempt)}"


def job_of(lane: Lane, part: str = "all") -> str:
    """Display name of the job that writes a lane's part."""
    return lane.job.replace("{part}", part)


def in_run_of(lane: Lane, facts: EventFacts, index: RunIndex | None) -> EventFacts:
    """The facts as a job of the lane sees them: its workflow may have a run of its own."""
    runs = [run for run in index.runs if run.head_sha == facts.head_sha] if index else []
    run_id = next((run.run_id for run in runs if run.workflow == lane.workflow), facts.run_id)
    if facts.local or facts.workflow == lane.workflow:
        return facts
    return msgspec.structs.replace(facts, run_id=run_id, workflow=lane.workflow)


def job(name: str, *, started_at: str = STARTED_AT, conclusion: str | None = "success", **more: Any) -> Job:
    """One job of the run index."""
    said: dict[str, Any] = {"status": "completed", **more}
    return Job(name=name, conclusion=conclusion, started_at=started_at, **said)


def attempt(
    number: int, jobs: tuple[Job, ...], artifacts: tuple[str, ...], started_at: str = STARTED_AT
) -> Attempt:
    """One attempt of a run."""
    return Attempt(
        attempt=number,
        started_at=started_at,
        status="completed",
        conclusion="success",
        jobs=jobs,
        artifacts=tuple(Artifact(name=name, size_bytes=100) for name in artifacts),
        jobs_complete=True,
        artifacts_complete=True,
    )


def run(
    run_id: int, head: str, attempts: tuple[Attempt, ...], *, workflow: str, event: str = "pull_request"
) -> Run:
    """One workflow run."""
    return Run(
        run_id=run_id, workflow=workflow, event=event, head_sha=head, head_repo=REPO, attempts=attempts
    )


def run_index(
    head: str,
    runs: tuple[Run, ...],
    *,
    earlier: tuple[str, ...] = (),
    numbers: tuple[int, ...] = (PULL_REQUEST,),
) -> RunIndex:
    """A complete run index."""
    return RunIndex(
        schema=INDEX_SCHEMA,
        forge="github",
        repo=REPO,
        fetched_at=NOW,
        head_sha=head,
        pull_requests=numbers,
        earlier_heads=earlier,
        complete=True,
        runs=runs,
    )
