# SPDX-License-Identifier: Apache-2.0
"""A forge in memory: repositories, pull requests, runs with attempts, jobs and artifacts.

``World`` holds what happened. ``SimulatedForge`` answers ``core.ports.ForgePort`` from it directly, by what the world
knows (which job really ran where); ``simulators.forge_server`` renders the same world as GitHub's REST API.
"""

from dataclasses import dataclass, field

from truegreen.core.errors import ReachProblem
from truegreen.core.index import SCHEMA, Artifact, Attempt, Job, Run, RunIndex

WORKFLOW = ".github/workflows/truegreen.yml"


@dataclass
class SimJob:
    """A job of one attempt; ``began`` is None if it never ran, ``copied`` if it ran in an earlier attempt."""

    name: str
    status: str = "completed"
    conclusion: str | None = "success"
    began: str | None = "2026-11-29T10:01:00Z"
    copied: bool = False


@dataclass
class SimAttempt:
    """One attempt."""

    started_at: str
    jobs: list[SimJob]
    status: str = "completed"
    conclusion: str | None = "success"
    artifacts: list[Artifact] = field(default_factory=list)
    made_at: list[str] = field(default_factory=list)


@dataclass
class SimRun:
    """One workflow run."""

    run_id: int
    head_sha: str
    event: str
    branch: str
    head_repo: str
    created_at: str
    workflow: str
    attempts: list[SimAttempt] = field(default_factory=list)

    def attempt(self, started_at, jobs, **facts) -> SimAttempt:
        """Add an attempt in which these jobs run."""
        self.attempts.append(SimAttempt(started_at, list(jobs), **facts))
        return self.attempts[-1]

    def rerun(self, started_at, jobs, **facts) -> SimAttempt:
        """Add an attempt that repeats these jobs and carries the others of the last one over."""
        repeated = {job.name for job in jobs}
        kept = [
            SimJob(job.name, job.status, job.conclusion, job.began, copied=True)
            for job in self.attempts[-1].jobs
            if job.name not in repeated
        ]
        return self.attempt(started_at, [*jobs, *kept], **facts)

    def leave(self, name, made_at, *, size=100, expired=False, digest=None) -> None:
        """The newest attempt leaves an artifact."""
        self.attempts[-1].artifacts.append(
            Artifact(name=name, size_bytes=size, expired=expired, digest=digest)
        )
        self.attempts[-1].made_at.append(made_at)


@dataclass
class SimRequest:
    """A pull request; ``head_repo`` is None if that repository was deleted."""

    number: int
    branch: str
    head_repo: str | None
    created_at: str


class World:
    """What happened in one repository."""

    def __init__(self, repo="harbour/pilot"):
        self.repo = repo
        self.runs: list[SimRun] = []
        self.requests: dict[int, SimRequest] = {}

    def request(
        self, number=42, branch="tone", head_repo="same", created_at="2026-11-28T09:00:00Z"
    ) -> SimRequest:
        """Open a pull request."""
        self.requests[number] = SimRequest(
            number, branch, self.repo if head_repo == "same" else head_repo, created_at
        )
        return self.requests[number]

    def run(  # noqa: PLR0913 - the facts of a run, each by its name
        self,
        head_sha,
        *,
        created_at="2026-11-29T10:00:00Z",
        event="pull_request",
        branch="tone",
        head_repo="same",
        workflow=WORKFLOW,
    ) -> SimRun:
        """Start a run, without an attempt yet."""
        head_repo = self.repo if head_repo == "same" else head_repo
        run = SimRun(6000 + len(self.runs), head_sha, event, branch, head_repo, created_at, workflow)
        self.runs.append(run)
        return run

    def runs_of(self, request: SimRequest) -> list[SimRun]:
        """The runs of a pull request, by event, branch, head repository and time."""
        return [
            run
            for run in self.runs
            if (run.event, run.branch, run.head_repo) == ("pull_request", request.branch, request.head_repo)
            and run.created_at >= request.created_at
        ]


class SimulatedForge:
    """Answers from the world alone."""

    def __init__(self, world: World):
        self.world = world

    def run_index(self, *, repo: str, head_sha: str, pull_requests: tuple[int, ...], now: str) -> RunIndex:
        """The complete index, or a refusal for what is not there."""
        world = self.world
        if repo.casefold() != world.repo.casefold() or not {*pull_requests} <= world.requests.keys():
            raise ReachProblem("forge-refused", f"{repo} or its pull request is not there")
        requests = [world.requests[number] for number in pull_requests]
        of_requests = [run for request in requests for run in world.runs_of(request)]
        chosen = {
            run.run_id: run
            for run in [*of_requests, *(run for run in world.runs if run.head_sha == head_sha)]
        }
        ordered = sorted(of_requests, key=lambda run: (run.created_at, run.run_id))
        return RunIndex(
            schema=SCHEMA,
            forge="github",
            repo=repo,
            fetched_at=now,
            head_sha=head_sha,
            pull_requests=pull_requests,
            earlier_heads=tuple(h for h in dict.fromkeys(run.head_sha for run in ordered) if h != head_sha),
            complete=all(request.head_repo for request in requests),
            runs=tuple(
                _run(run) for run in sorted(chosen.values(), key=lambda run: (run.created_at, run.run_id))
            ),
        )


def _run(run: SimRun) -> Run:
    return Run(
        run_id=run.run_id,
        workflow=run.workflow,
        event=run.event,
        head_sha=run.head_sha,
        head_repo=run.head_repo or "(deleted)",
        attempts=tuple(_attempt(number, attempt) for number, attempt in enumerate(run.attempts, 1)),
    )


def _attempt(number: int, attempt: SimAttempt) -> Attempt:
    return Attempt(
        attempt=number,
        started_at=attempt.started_at,
        status=attempt.status,
        conclusion=attempt.conclusion,
        jobs=tuple(
            Job(
                name=job.name,
                status=job.status,
                conclusion=job.conclusion,
                started_at=job.began,
                carried_over=job.copied,
            )
            for job in sorted(attempt.jobs, key=lambda job: job.name)
        ),
        artifacts=tuple(sorted(attempt.artifacts, key=lambda artifact: artifact.name)),
        jobs_complete=True,
        artifacts_complete=True,
    )
