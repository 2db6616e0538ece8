# SPDX-License-Identifier: Apache-2.0
"""The forge of the demo: pull requests, runs, attempts, jobs, artifacts, and what it tells a workflow of them.

- A step of a workflow gets what GitHub's runner gives it: the payload as a file, and variables.
- The run index is the file that ``truegreen run-index fetch`` would have stored.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from truegreen.core.canonical import write_json
from truegreen.core.index import SCHEMA, Artifact, Attempt, Job, Run, RunIndex

REPO = "example/changelog-bot"
REPO_ID = 4711
WORKFLOW = ".github/workflows/truegreen.yml"
LANE = "model-tests"
"""Lane of the policy and job of the workflow."""


def now() -> str:
    """This instant as forges write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class PullRequest:
    """One pull request."""

    number: int
    branch: str
    base: str = ""
    """Tip of main at the last push."""
    heads: list[str] = field(default_factory=list)
    runs: list["WorkflowRun"] = field(default_factory=list)

    def pushed(self, head: str, base: str) -> None:
        """A new head starts a run."""
        self.heads.append(head)
        self.base = base
        self._run("opened" if len(self.heads) == 1 else "synchronize")

    def retitled(self) -> None:
        """Another title starts a run too; the workflow skips the model tests in it."""
        self._run("edited").skips()

    def _run(self, action: str) -> "WorkflowRun":
        run = WorkflowRun(run_id=1000 * self.number + len(self.runs) + 1, head=self.heads[-1], action=action)
        self.runs.append(run)
        return run

    def index(self) -> bytes:
        """The run index of the newest head."""
        return write_json(
            msgspec.to_builtins(
                RunIndex(
                    schema=SCHEMA,
                    forge="github",
                    repo=REPO,
                    fetched_at=now(),
                    head_sha=self.heads[-1],
                    pull_requests=(self.number,),
                    earlier_heads=tuple(self.heads[:-1]),
                    complete=True,
                    runs=tuple(run.listed() for run in self.runs),
                )
            )
        )

    def payload(self, run: "WorkflowRun") -> bytes:
        """What the run was started for."""
        repository = {"id": REPO_ID, "full_name": REPO, "default_branch": "main"}
        return json.dumps(
            {
                "action": run.action,
                "number": self.number,
                "pull_request": {
                    "number": self.number,
                    "head": {"ref": self.branch, "sha": run.head, "repo": repository},
                    "base": {"ref": "main", "sha": self.base, "repo": repository},
                },
                "repository": repository,
            }
        ).encode()

    def variables(self, run: "WorkflowRun", payload: Path) -> dict[str, str]:
        """What the runner sets for every step."""
        return {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_REPOSITORY": REPO,
            "GITHUB_REPOSITORY_ID": str(REPO_ID),
            "GITHUB_REF": f"refs/pull/{self.number}/merge",
            "GITHUB_BASE_REF": "main",
            "GITHUB_HEAD_REF": self.branch,
            "GITHUB_RUN_ID": str(run.run_id),
            "GITHUB_RUN_ATTEMPT": str(len(run.attempts)),
            "GITHUB_WORKFLOW_REF": f"{REPO}/{WORKFLOW}@refs/pull/{self.number}/merge",
        }


@dataclass
class WorkflowRun:
    """One run of the workflow."""

    run_id: int
    head: str
    action: str
    """Why: ``opened``, ``synchronize`` or ``edited``."""
    attempts: list[Attempt] = field(default_factory=list)
    artifacts: dict[str, Path] = field(default_factory=dict)
    """Name to the zip, of all attempts."""

    def begins(self) -> None:
        """A new attempt: the model tests have begun."""
        job = Job(name=LANE, status="in_progress", conclusion=None, started_at=now())
        self.attempts.append(self._attempt((job,), ()))

    def skips(self) -> None:
        """A new attempt: the workflow's own condition skips the model tests, and the gate begins."""
        job = Job(name=LANE, status="completed", conclusion="skipped", started_at=now())
        self.attempts.append(self._attempt((job, _gate()), ()))

    def ended(self, conclusion: str, artifact: Path | None) -> None:
        """The model tests are over and may have left an artifact; the gate begins."""
        if artifact is not None:
            self.artifacts[artifact.stem] = artifact
        job = msgspec.structs.replace(self.attempts[-1].jobs[0], status="completed", conclusion=conclusion)
        names = () if artifact is None else (artifact.stem,)
        last = self.attempts.pop()
        self.attempts.append(
            msgspec.structs.replace(last, jobs=(job, _gate()), artifacts=self._listed_artifacts(names))
        )

    def gate_again(self) -> None:
        """A new attempt: somebody re-runs the gate alone, and the other job is carried over."""
        job = msgspec.structs.replace(self.attempts[-1].jobs[0], carried_over=True)
        self.attempts.append(self._attempt((job, _gate()), ()))

    def _attempt(self, jobs: tuple[Job, ...], names: tuple[str, ...]) -> Attempt:
        return Attempt(
            attempt=len(self.attempts) + 1,
            started_at=now(),
            status="in_progress",
            conclusion=None,
            jobs=jobs,
            artifacts=self._listed_artifacts(names),
            jobs_complete=True,
            artifacts_complete=True,
        )

    def _listed_artifacts(self, names: tuple[str, ...]) -> tuple[Artifact, ...]:
        return tuple(Artifact(name=one, size_bytes=self.artifacts[one].stat().st_size) for one in names)

    def listed(self) -> Run:
        """The run in the index."""
        return Run(
            run_id=self.run_id,
            workflow=WORKFLOW,
            event="pull_request",
            head_sha=self.head,
            head_repo=REPO,
            attempts=tuple(self.attempts),
        )


def _gate() -> Job:
    return Job(name="truegreen", status="in_progress", conclusion=None, started_at=now())
