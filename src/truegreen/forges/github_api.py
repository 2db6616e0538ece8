# SPDX-License-Identifier: Apache-2.0
"""The run index of a head, asked of GitHub's REST API; implements ``core.ports.ForgePort``.

What it decides: which runs belong to a head and to earlier heads of its pull requests. What it leaves: what rows
mean, to ``github_runs``; belief, to the gate.

- Runs of the head: every run with that ``head_sha``, whatever its event.
- **Earlier heads** of a pull request are the heads of its runs: every ``pull_request`` run on its branch, by its head
  repository, since the pull request was opened. A head without a run has no evidence, and a head that was forced away
  keeps its runs, which no list of the pull request's present commits would show. Every other head of the branch
  counts as earlier, whatever the order: a branch can be forced back to an old commit.
- Every attempt of each run with its jobs and artifacts. A latest attempt is read from the run itself.
- Whatever is not there, does not add up or has another shape makes the index incomplete or is a problem. Nothing is
  silently short.
- A pull request whose head repository was deleted cannot be searched by it: incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from truegreen.core.errors import ReachProblem
from truegreen.core.index import SCHEMA, Attempt, Run, RunIndex
from truegreen.core.quoted import quoted
from truegreen.forges.github_http import PERMISSIONS
from truegreen.forges.github_listing import Api, Listing, listing, shaped
from truegreen.forges.github_runs import (
    ArtifactRow,
    JobRow,
    RepositoryRow,
    RunRow,
    job,
    moment,
    shelves,
    workflow_path,
)

MOST_ATTEMPTS = 100
"""Attempts of one run that are read; GitHub allows fewer re-runs than that."""


class _Side(msgspec.Struct):
    ref: str
    repo: RepositoryRow | None


class _PullRequest(msgspec.Struct):
    id: int
    number: int
    created_at: str
    head: _Side


class GitHubForge:
    """Questions to GitHub's API."""

    def __init__(self, api: Api, *, workflows: Iterable[str] = ()) -> None:
        """``workflows`` limits the index to runs of these files; empty takes every run."""
        self._api = api
        self._workflows = frozenset(workflows)

    def run_index(self, *, repo: str, head_sha: str, pull_requests: tuple[int, ...], now: str) -> RunIndex:
        """The run index of a head; ``complete`` is false if a page, a count or a whole list is missing.

        Raises: ReachProblem ``forge-unreachable`` or ``forge-refused``.
        """
        top = f"/repos/{repo}"
        if self._api.get(top) is None:
            raise ReachProblem(
                "forge-refused", f"{quoted(repo)} is not there or not visible", hint=PERMISSIONS
            )
        of_head = self._runs(top, {"head_sha": head_sha})
        of_requests = [self._runs_of_request(top, number) for number in pull_requests]
        lists = [of_head, *of_requests]
        rows = {row.id: row for found in lists for row in found.rows}
        runs = [
            self._run(top, repo, row)
            for row in sorted(rows.values(), key=lambda row: (moment(row.created_at), row.id))
            if not self._workflows or workflow_path(row, repo) in self._workflows
        ]
        attempts = [attempt for run in runs for attempt in run.attempts]
        return RunIndex(
            schema=SCHEMA,
            forge="github",
            repo=repo,
            fetched_at=now,
            head_sha=head_sha,
            pull_requests=pull_requests,
            earlier_heads=_earlier_heads(of_requests, head_sha),
            complete=all(found.complete for found in lists)
            and all(attempt.jobs_complete and attempt.artifacts_complete for attempt in attempts),
            runs=tuple(runs),
        )

    def _runs(self, top: str, query: dict[str, str | int]) -> Listing[RunRow]:
        query = {**query, "exclude_pull_requests": "true"}
        return listing(self._api, f"{top}/actions/runs", "workflow_runs", RunRow, query)

    def _runs_of_request(self, top: str, number: int) -> Listing[RunRow]:
        path = f"{top}/pulls/{number}"
        value = self._api.get(path)
        if value is None:
            raise ReachProblem(
                "forge-refused", f"pull request {number} is not there or not visible", hint=PERMISSIONS
            )
        request = shaped(value, _PullRequest, path)
        if request.head.repo is None:
            return Listing((), False)
        found = self._runs(
            top,
            {
                "branch": request.head.ref,
                "event": "pull_request",
                "created": f">={moment(request.created_at)}",
            },
        )
        own = request.head.repo.id
        rows = tuple(row for row in found.rows if row.head_repository and row.head_repository.id == own)
        return Listing(rows, found.complete)

    def _run(self, top: str, repo: str, row: RunRow) -> Run:
        return Run(
            run_id=row.id,
            workflow=workflow_path(row, repo),
            event=row.event,
            head_sha=row.head_sha,
            head_repo=row.head_repository.full_name if row.head_repository else "(deleted)",
            attempts=self._attempts(f"{top}/actions/runs/{row.id}", row),
        )

    def _attempts(self, path: str, row: RunRow) -> tuple[Attempt, ...]:
        """Every attempt; an incomplete one if the run does not say how many it has, or more than are read."""
        said = row.run_attempt or 0
        count = min(max(said, 1), MOST_ATTEMPTS)
        earlier = [self._attempt_row(path, number) for number in range(1, count)]
        rows: list[RunRow | None] = [*earlier, row]
        starts = [moment((found or row).run_started_at or row.created_at) for found in rows]
        listed = listing(self._api, f"{path}/artifacts", "artifacts", ArtifactRow)
        left = shelves(listed.rows, starts, complete=listed.complete)
        attempts = []
        for number, (found, start, shelf) in enumerate(zip(rows, starts, left, strict=True), 1):
            jobs = listing(self._api, f"{path}/attempts/{number}/jobs", "jobs", JobRow)
            attempts.append(
                Attempt(
                    attempt=number,
                    started_at=start,
                    status=(found.status if found else None) or "unknown",
                    conclusion=found.conclusion if found else None,
                    jobs=tuple(
                        sorted((job(each, number, start) for each in jobs.rows), key=lambda each: each.name)
                    ),
                    artifacts=shelf.artifacts,
                    jobs_complete=jobs.complete and found is not None and said == count,
                    artifacts_complete=shelf.complete,
                )
            )
        return tuple(attempts)

    def _attempt_row(self, path: str, number: int) -> RunRow | None:
        path = f"{path}/attempts/{number}"
        value = self._api.get(path)
        return None if value is None else shaped(value, RunRow, path)


def _earlier_heads(of_requests: list[Listing[RunRow]], head_sha: str) -> tuple[str, ...]:
    """Every other head, by its first run."""
    rows = sorted(
        (row for found in of_requests for row in found.rows), key=lambda row: (moment(row.created_at), row.id)
    )
    return tuple(head for head in dict.fromkeys(row.head_sha for row in rows) if head != head_sha)
