# SPDX-License-Identifier: Apache-2.0
"""The log of replays: one line a run, and what it tells about misses over the weeks.

What it decides: the line (``truegreen/replay-run/v1``), reading a log, the miss rate of each week. What it leaves:
appending, to whoever has the disk; what a run was, to ``core.replay_session``.

- A line is canonical JSON; the log only grows. A run that stands in it already is not added again.
- A line that cannot be read is counted, never skipped silently: a log with one says nothing certain.
- The miss rate is misses of requests. Above one in ten the templates churn: recordings are made that the next change
  throws away.
- Weeks are ISO 8601 weeks of the runs' ends, in UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

import msgspec

from truegreen.core.canonical import read_json, write_json
from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.instants import instant
from truegreen.core.replay_session import ReplaySession, write_session

SCHEMA: Final = "truegreen/replay-run/v1"
CHURN: Final = Fraction(1, 10)
"""A miss rate above this says that templates churn."""
UNNAMED: Final = "(none)"


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line: one run, all its workers and shards together."""

    schema: str
    """``truegreen/replay-run/v1``."""
    session: Sha256
    """Digest of the joined session: the same run has the same."""
    cassettes: str
    """Folder of the recordings, from the root of the repository."""
    at: str
    """When it ended, UTC RFC 3339."""
    complete: bool
    """Whether everything ran."""
    because: str
    """Why not; empty otherwise."""
    command_exit: int | None
    """Exit of what was run."""
    hits: int
    """Requests that a recording answered."""
    misses: int
    """Requests that none answered."""
    missed_templates: dict[str, int]
    """Misses by template id."""
    unused: tuple[str, ...]
    """Recordings that nothing played; only after a complete run."""


class Week(msgspec.Struct, frozen=True, kw_only=True):
    """One week of runs."""

    week: str
    """Such as ``2026-W48``."""
    runs: int
    """Runs that ended in it."""
    hits: int
    """Requests answered."""
    misses: int
    """Requests not answered."""

    @property
    def miss_rate(self) -> Fraction | None:
        """Misses of requests, or None if nothing was asked."""
        asked = self.hits + self.misses
        return Fraction(self.misses, asked) if asked else None

    @property
    def churns(self) -> bool:
        """Whether more than one in ten missed."""
        return self.miss_rate is not None and self.miss_rate > CHURN


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """A log as read."""

    runs: tuple[Run, ...]
    """In the order of the file."""
    unreadable: int
    """Lines that are none."""


def run_of(session: ReplaySession) -> Run:
    """The line of a run; ``session`` is joined from all its parts."""
    templates: Counter[str] = Counter()
    for miss in session.misses:
        templates[miss.template or UNNAMED] += miss.count
    return Run(
        schema=SCHEMA,
        session=sha256_of(write_session(session)),
        cassettes=session.cassettes,
        at=session.ended_at,
        complete=session.complete,
        because=session.incomplete_because,
        command_exit=session.command_exit,
        hits=sum(hit.count for hit in session.hits),
        misses=sum(miss.count for miss in session.misses),
        missed_templates=dict(sorted(templates.items())),
        unused=session.unused if session.complete else (),
    )


def appended(log: bytes, run: Run) -> bytes:
    """What is to be added to a log for a run: nothing if it stands there, a line end first if the last line has none."""
    if any(one.session == run.session for one in read_log(log).runs):
        return b""
    start = b"\n" if log and not log.endswith(b"\n") else b""
    return start + write_json(msgspec.to_builtins(run)) + b"\n"


def read_log(data: bytes) -> Log:
    """Every line of a log."""
    lines = [line for line in data.split(b"\n") if line]
    runs = [run for run in map(_run, lines) if run is not None]
    return Log(runs=tuple(runs), unreadable=len(lines) - len(runs))


def weeks(runs: Iterable[Run]) -> tuple[Week, ...]:
    """The weeks in which runs ended, oldest first."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        year, week, _ = instant(run.at).isocalendar()
        found.setdefault(f"{year}-W{week:02}", []).append(run)
    return tuple(
        Week(
            week=name,
            runs=len(found[name]),
            hits=sum(run.hits for run in found[name]),
            misses=sum(run.misses for run in found[name]),
        )
        for name in sorted(found)
    )


def missed_most(runs: Iterable[Run], most: int = 5) -> tuple[tuple[str, int], ...]:
    """Templates with the most misses."""
    counted: Counter[str] = Counter()
    for run in runs:
        counted.update(run.missed_templates)
    return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:most])


def _run(line: bytes) -> Run | None:
    try:
        value: Any = read_json(line)
        run = msgspec.convert(value, Run, strict=True)
        instant(run.at)
    except (EvidenceProblem, msgspec.ValidationError, ValueError):
        return None
    counts = (run.hits, run.misses, *run.missed_templates.values())
    return run if run.schema == SCHEMA and min(counts) >= 0 else None
