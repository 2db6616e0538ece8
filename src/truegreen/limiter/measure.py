# SPDX-License-Identifier: Apache-2.0
"""The numbers of a call log, and what they say: calls, calls turned away, seconds waited, peak in flight.

What it decides: the numbers, and by ``measure.toml`` the verdict. What it leaves: files and clock, to wiring; showing,
to the command line.

- A run is the attempts that name it; attempts that name none are a run of their file.
- An attempt is in flight from its leave to its end. The peak is the most at once, of a run and of all runs together.
- Where the endpoint turned attempts away, the load that it bears is one less than the smallest number in flight at
  which it did, and at least 1. That is the capacity to set; without a refusal it is the measured peak.
- A line that stands in two logs counts once, if it names its call.
- An attempt whose line tells no time is counted in every window, and the report says how many there are; no peak and no
  wall clock are made up for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from truegreen.core.call_log import CallEntry
from truegreen.core.table import Row, Table, load_table
from truegreen.limiter.budget import DEFAULT, Budget, BudgetRule, of_run
from truegreen.limiter.layers import Stacked, stacked
from truegreen.limiter.signals import TOO_MANY_REQUESTS

FILE: Final = Path(__file__).with_name("measure.toml")
MUCH: Final = 0.1
"""Share of the wall clock from which waiting is much."""
DAY_US: Final = 86_400_000_000
US_PER_S: Final = 1_000_000


class RunNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """One pipeline run."""

    run: str
    """Its name."""
    calls: int
    """Attempts that were answered."""
    attempts: int
    """Attempts on the wire."""
    rate_limited: int
    """Attempts that got 429."""
    waited_s: float
    """Seconds waited for leave, summed over its jobs."""
    wall_s: float | None
    """Seconds from the first asking for leave to the last end; None without times."""
    peak: int | None
    """Most attempts in flight at once; None without times."""
    timed_out: int
    """Attempts that ran into the caller's time limit."""
    timed_out_s: float
    """Seconds that these took."""
    budget: Budget
    """What it repeated."""


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a window."""

    runs: tuple[RunNumbers, ...]
    """By name."""
    peak: int | None
    """Most attempts in flight at once, all runs together; None without times."""
    refused_from: int | None
    """Smallest number in flight at which the endpoint turned an attempt away; None if it never did."""
    from_us: int | None
    """End of the first attempt, microseconds since 1970 UTC; None without times."""
    to_us: int | None
    """End of the last attempt."""
    without_time: int
    """Attempts whose lines tell no time."""
    layers: tuple[Stacked, ...]
    """Retry layers beside ours."""

    @property
    def calls(self) -> int:
        """Attempts that were answered."""
        return sum(run.calls for run in self.runs)

    @property
    def attempts(self) -> int:
        """Attempts on the wire."""
        return sum(run.attempts for run in self.runs)

    @property
    def rate_limited(self) -> int:
        """Attempts that got 429."""
        return sum(run.rate_limited for run in self.runs)

    @property
    def waited_s(self) -> float:
        """Seconds waited for leave."""
        return sum(run.waited_s for run in self.runs)

    @property
    def wall_s(self) -> float | None:
        """Wall clock of all runs, one after another; None if a run has none."""
        walls = [run.wall_s for run in self.runs if run.wall_s is not None]
        return sum(walls) if walls and len(walls) == len(self.runs) else None

    @property
    def waiting(self) -> float | None:
        """Seconds waited ÷ wall clock; None without a wall clock."""
        return self.waited_s / self.wall_s if self.wall_s else None

    @property
    def capacity(self) -> int | None:
        """Calls in flight to allow; None without times."""
        if self.peak is None:
            return None
        return self.peak if self.refused_from is None else max(1, min(self.peak, self.refused_from - 1))


@lru_cache(maxsize=1)
def measure_table() -> Table:
    """The table of verdicts."""
    return load_table(FILE.read_bytes(), name=FILE.name)


def numbers_of(
    logs: Mapping[str, Iterable[CallEntry]],
    *,
    since_us: int | None = None,
    until_us: int | None = None,
    rule: BudgetRule = DEFAULT,
) -> Numbers:
    """The numbers of logs, given by name, within a window whose ends count."""
    chosen = _once(
        msgspec.structs.replace(entry, run=entry.run or name)
        for name, entries in logs.items()
        for entry in entries
        if _is_within(entry.ended_us, since_us, until_us)
    )
    by_run: dict[str, list[CallEntry]] = {}
    for entry in chosen:
        by_run.setdefault(entry.run, []).append(entry)
    ends = [entry.ended_us for entry in chosen if entry.ended_us is not None]
    loads = _loads(chosen)
    refused = [load for load, entry in loads if entry.status == TOO_MANY_REQUESTS]
    return Numbers(
        runs=tuple(_run(name, by_run[name], rule) for name in sorted(by_run)),
        peak=max((load for load, _ in loads), default=None),
        refused_from=min(refused, default=None),
        from_us=min(ends, default=None),
        to_us=max(ends, default=None),
        without_time=sum(entry.ended_us is None for entry in chosen),
        layers=stacked(sorted(chosen, key=lambda entry: entry.ended_us or 0)),
    )


def verdict(numbers: Numbers, *, since_us: int) -> Row:
    """The row that the numbers meet; the window begins at ``since_us``."""
    first, share = numbers.from_us, numbers.waiting
    return measure_table().decide(
        calls="some" if numbers.attempts else "none",
        window="whole" if first is not None and first <= since_us + DAY_US else "short",
        limited="some" if numbers.rate_limited else "none",
        waiting="unknown" if share is None else ("much" if share >= MUCH else "little"),
    )


def _once(entries: Iterable[CallEntry]) -> list[CallEntry]:
    """Attempts that name their call, once each: a log may be given beside its copy."""
    kept: dict[object, CallEntry] = {}
    for place, entry in enumerate(entries):
        kept.setdefault(entry if entry.call else place, entry)
    return list(kept.values())


def _is_within(ended_us: int | None, since_us: int | None, until_us: int | None) -> bool:
    if ended_us is None:
        return True
    return (since_us is None or ended_us >= since_us) and (until_us is None or ended_us <= until_us)


def _run(name: str, entries: Sequence[CallEntry], rule: BudgetRule) -> RunNumbers:
    timed = [
        (_left_us(entry) - round(entry.waited_s * US_PER_S), entry.ended_us or 0) for entry in _timed(entries)
    ]
    late = [entry for entry in entries if entry.end == "timeout"]
    return RunNumbers(
        run=name,
        calls=sum(entry.is_ok for entry in entries),
        attempts=sum(entry.is_attempt for entry in entries),
        rate_limited=sum(entry.status == TOO_MANY_REQUESTS for entry in entries),
        waited_s=sum(entry.waited_s for entry in entries),
        wall_s=(max(end for _, end in timed) - min(start for start, _ in timed)) / US_PER_S
        if timed
        else None,
        peak=max((load for load, _ in _loads(entries)), default=None),
        timed_out=len(late),
        timed_out_s=sum(entry.took_s for entry in late),
        budget=of_run(filter(_is_attempt, entries), name, rule),
    )


def _loads(entries: Iterable[CallEntry]) -> list[tuple[int, CallEntry]]:
    """How many attempts were in flight when each left, itself included; an attempt that ends at that moment is not."""
    loads = []
    ends: list[int] = []
    for entry in sorted(filter(_is_attempt, _timed(entries)), key=_left_us):
        while ends and ends[0] <= _left_us(entry):
            heapq.heappop(ends)
        heapq.heappush(ends, max(entry.ended_us or 0, _left_us(entry) + 1))
        loads.append((len(ends), entry))
    return loads


def _is_attempt(entry: CallEntry) -> bool:
    return entry.is_attempt


def _timed(entries: Iterable[CallEntry]) -> list[CallEntry]:
    return [entry for entry in entries if entry.ended_us is not None]


def _left_us(entry: CallEntry) -> int:
    return (entry.ended_us or 0) - round(entry.took_s * US_PER_S)
