# SPDX-License-Identifier: Apache-2.0
"""Whether one attempt may be repeated, and when: ``retry.toml`` and the facts that it is asked with.

What it decides: the ruling on an attempt, and what the attempt means for everybody who shares its ledger. What it
leaves: sleeping, to whoever calls; who gets leave, to the limiter; the run's retry budget, to ``budget``.

- Pure: clock, chance and budget are handed in.
- A repetition asks for leave again and pays again; the wait ruled here comes before that.
- A wait is the told one plus jitter, or full jitter below a bound that doubles with each attempt. Never less than told.
- A told wait is everybody's: the ledger gives no leave before it. Jitter is the caller's own. A pause is no longer than
  the longest wait, so that one absurd header cannot stop a pipeline for years; whoever got the header gives up.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from pathlib import Path
from typing import Final as Constant

import msgspec

from truegreen.core.admission import Again, Ended, Final, Pressure
from truegreen.core.table import Row, Table, load_table
from truegreen.limiter.retry_after import NS_PER_S, seconds_up, told_ns
from truegreen.limiter.signals import Signal, is_quota_spent, signal_of

FILE: Constant = Path(__file__).with_name("retry.toml")
_HEADED: Constant = frozenset({Signal.RATE_LIMITED, Signal.SERVER_ERROR})
"""Signals with which a told wait means anything."""


class RetryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far repeating may go for one call."""

    attempts: int = 3
    """Attempts of one call in all, the first included."""
    longest_wait_s: float = 300.0
    """The longest wait that is kept; a longer told one is given up."""
    total_s: float = 900.0
    """Seconds from the call's first asking for leave after which no further attempt begins."""
    first_bound_s: float = 1.0
    """Upper bound of the first random wait; it doubles with each attempt."""
    last_bound_s: float = 20.0
    """Upper bound of every random wait."""
    jitter_s: float = 1.0
    """Most that is added to a told wait."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a call when one of its attempts ends."""

    earlier: tuple[Ended, ...] = ()
    """Its attempts before, in order."""
    spent_s: float = 0.0
    """Seconds since it first asked for leave."""
    is_budget_left: bool = True
    """Whether the run's retry budget has room for one more."""


DEFAULT: Constant = RetryLimits()


@lru_cache(maxsize=1)
def retry_table() -> Table:
    """The retry table of this version."""
    return load_table(FILE.read_bytes(), name=FILE.name)


def after(
    ended: Ended, call: Call, *, now: dt.datetime, chance: float, limits: RetryLimits = DEFAULT
) -> Again | Final:
    """The ruling on an attempt that ended.

    ``now`` is the caller's clock with its zone; ``chance`` a number in [0, 1), drawn anew for each ruling.
    """
    told = told_of(ended, now=now)
    wait_s = _wait_s(told, len(call.earlier), chance, limits)
    row = row_for(ended, call, told=told, wait_s=wait_s, limits=limits)
    if row.then["again"] == "yes":
        return Again(wait_s=wait_s, reason=row.then["reason"])
    return Final(reason=row.then["reason"])


def told_of(ended: Ended, *, now: dt.datetime) -> int | None:
    """The wait that the endpoint told with this end, in nanoseconds, or None; only a 429 or a 5xx can tell one."""
    if signal_of(ended) not in _HEADED:
        return None
    return told_ns(ended.retry_after, ended.retry_after_ms, now=now, date=ended.date)


def row_for(
    ended: Ended, call: Call, *, told: int | None, wait_s: float, limits: RetryLimits = DEFAULT
) -> Row:
    """The row of the table that decides; ``wait_s`` is the wait that a repetition would begin with."""
    signal = signal_of(ended)
    return decided(
        signal,
        told="none" if told is None else ("over" if told > limits.longest_wait_s * NS_PER_S else "within"),
        quota=is_quota_spent(ended),
        hint=_hint(ended.should_retry),
        repeated=any(signal_of(one) is signal for one in call.earlier),
        passed=ended.has_passed,
        attempts=_left(len(call.earlier) + 1 < limits.attempts),
        time=_left(call.spent_s + wait_s < limits.total_s),
        budget=_left(call.is_budget_left),
    )


def decided(signal: Signal, **facts: str | bool) -> Row:
    """The row for a signal; facts that are not given are those of a first attempt of which nothing else is known."""
    quiet: dict[str, str | bool] = {
        "told": "none",
        "quota": False,
        "hint": "none",
        "repeated": False,
        "passed": False,
    }
    full: dict[str, str | bool] = {"attempts": "left", "time": "left", "budget": "left"}
    return retry_table().decide(**{**quiet, **full, **facts, "signal": signal.value})


def pressure_of(ended: Ended, *, now: dt.datetime, limits: RetryLimits = DEFAULT) -> Pressure:
    """What the end means for all who share the ledger: a pause that was told, a rate that is too high, or an answer."""
    signal, told = signal_of(ended), told_of(ended, now=now)
    is_overload = signal is Signal.RATE_LIMITED and told is None and not is_quota_spent(ended)
    return Pressure(
        pause_s=0.0 if told is None else min(seconds_up(told), limits.longest_wait_s),
        is_overload=is_overload,
        is_answered=signal is Signal.ANSWERED,
    )


def _wait_s(told: int | None, earlier: int, chance: float, limits: RetryLimits) -> float:
    if told is not None:
        return seconds_up(told) + chance * limits.jitter_s
    doublings = min(earlier, 62)  # far above the last bound; a float of a larger power is of no use
    bound_s = min(limits.last_bound_s, limits.first_bound_s * float(2**doublings))
    return chance * bound_s


def _hint(value: str | None) -> str:
    word = (value or "").strip().lower()
    return {"true": "yes", "false": "no"}.get(word, "none")


def _left(is_left: bool) -> str:  # noqa: FBT001 - one fact, one word
    return "left" if is_left else "spent"
