# SPDX-License-Identifier: Apache-2.0
"""GitHub's rows about runs, jobs and artifacts, read as attempts of the run index.

What it decides: in which attempt a job began and an artifact was left. What it leaves: fetching, to ``github_api``.

- GitHub gives every job a ``started_at``, also one that never began. A job began unless it was skipped, or is still
  waiting or was cancelled without a runner and without a step.
- A partial re-run lists copies of the jobs that it did not repeat: their start lies before the attempt's own, or
  they name an earlier attempt.
- Artifacts of all attempts share one list. Ours name their attempt; every one has a time, and the attempts' starts
  say which attempt it belongs to. Where name and time disagree it is listed under both and neither list is
  complete: a name alone could hide what an attempt left.
- A workflow path loses its ``@ref``, and its repository if that is the index's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from truegreen.core.errors import ReachProblem
from truegreen.core.index import Artifact, Job
from truegreen.core.quoted import quoted

_OURS = re.compile(r"truegreen\..+\.(?P<attempt>[1-9][0-9]{0,3})")
_WAITING = frozenset({"queued", "waiting", "requested", "pending"})


class RepositoryRow(msgspec.Struct):
    """A repository."""

    id: int
    full_name: str


class RunRow(msgspec.Struct):
    """A run as the forge lists it, or one of its attempts."""

    id: int
    event: str
    status: str | None
    conclusion: str | None
    head_sha: str
    path: str
    created_at: str
    head_repository: RepositoryRow | None = None
    run_attempt: int | None = None
    run_started_at: str | None = None


class JobRow(msgspec.Struct):
    """A job of an attempt."""

    id: int
    name: str
    status: str
    conclusion: str | None
    started_at: str | None
    runner_id: int | None = None
    runner_name: str | None = None
    steps: list[object] = []
    run_attempt: int | None = None


class ArtifactRow(msgspec.Struct):
    """An artifact of a run."""

    id: int
    name: str
    size_in_bytes: int
    expired: bool
    created_at: str | None
    digest: str | None = None


class Shelf(msgspec.Struct, frozen=True, kw_only=True):
    """The artifacts of one attempt."""

    artifacts: tuple[Artifact, ...]
    """What it left."""
    complete: bool
    """Whether nothing speaks against that."""


def moment(text: str) -> str:
    """The time as UTC RFC 3339 in whole seconds.

    Raises: ReachProblem ``forge-unreachable`` if it is no time with a zone.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ReachProblem("forge-unreachable", f"the forge gives the time {quoted(text)}, asked is RFC 3339")
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def workflow_path(row: RunRow, repo: str) -> str:
    """Path of the run's workflow file; with its repository before it if that is another one."""
    path = row.path.partition("@")[0]
    prefix = f"{repo}/"
    return path[len(prefix) :] if path.casefold().startswith(prefix.casefold()) else path


def job(row: JobRow, attempt: int, attempt_start: str) -> Job:
    """The job in that attempt."""
    started = moment(row.started_at) if row.started_at and _began(row) else None
    earlier = row.run_attempt is not None and row.run_attempt < attempt
    return Job(
        name=row.name,
        status=row.status,
        conclusion=row.conclusion,
        started_at=started,
        carried_over=attempt > 1 and (earlier or (started is not None and started < attempt_start)),
    )


def shelves(rows: Iterable[ArtifactRow], starts: Sequence[str], *, complete: bool) -> tuple[Shelf, ...]:
    """The artifacts by attempt; ``starts`` are the attempts' starts in order, ``complete`` whether all rows are here."""
    kept: list[list[Artifact]] = [[] for _ in starts]
    doubted: set[int] = set() if complete else set(range(len(starts)))
    for row in sorted(rows, key=lambda row: (row.name, row.id)):
        places = {_by_name(row, len(starts)), _by_time(row, starts)}
        known = sorted(place for place in places if place is not None)
        for place in known:
            kept[place].append(
                Artifact(name=row.name, size_bytes=row.size_in_bytes, digest=row.digest, expired=row.expired)
            )
        if len(known) != 1 or (_OURS.fullmatch(row.name) and _by_name(row, len(starts)) is None):
            doubted |= set(known) or set(range(len(starts)))
    return tuple(
        Shelf(artifacts=tuple(artifacts), complete=number not in doubted)
        for number, artifacts in enumerate(kept)
    )


def _began(row: JobRow) -> bool:
    if row.conclusion == "skipped":
        return False
    never = row.status in _WAITING or row.conclusion == "cancelled"
    return not never or bool(row.runner_id or row.runner_name or row.steps)


def _by_name(row: ArtifactRow, attempts: int) -> int | None:
    """Index of the attempt that the artifact's name claims, if there is such an attempt."""
    ours = _OURS.fullmatch(row.name)
    number = int(ours["attempt"]) if ours else 0
    return number - 1 if 1 <= number <= attempts else None


def _by_time(row: ArtifactRow, starts: Sequence[str]) -> int | None:
    """Index of the attempt that was running when the artifact was made; before the first start it is the first."""
    if row.created_at is None:
        return None
    made = moment(row.created_at)
    begun = [number for number, start in enumerate(starts) if start <= made]
    return begun[-1] if begun else 0
