# SPDX-License-Identifier: Apache-2.0
"""The end of a command under a proxy: whether it is red, and in which words it is told.

What it decides: which counts make a run red, and the lines of the end. What it leaves: counting, to proxy, recordings
and guard; the account of a replay, to ``replay_account``.

- Red in every mode: what the proxy noted as trouble. Red in replay besides: a miss, what was no request, an attempt to
  get past the proxy, a packet that the witness lost.
- A replay that is said to be whole and asked for nothing is no pass: exit 3.
- What makes a replay red and is no miss is in its account as a command that failed, whatever the command returned.
- Several proxies are one run: their accounts are joined.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegreen.core.replay_session import ReplaySession, joined, write_session
from truegreen.guards import attempts
from truegreen.guards.guarded import Ended
from truegreen.proxy.modes import Mode
from truegreen.proxy.session import Tally
from truegreen.wiring.model_proxy import OpenedProxy
from truegreen.wiring.replay_account import Ending

__all__ = ["End", "is_red", "joined_session", "lines", "played_nothing", "write_session"]

MOST_TOLD = 10
"""Lines of one kind that are told; the rest is counted."""
SIGNALLED = 128
"""From here on an exit code is a signal's."""
NOT_WHOLE = "nobody said that the command runs everything (--whole)"


class End(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when everything has stopped."""

    mode: Mode
    """Mode of the proxies."""
    guard: str
    """The guard that the run had."""
    stronger: tuple[tuple[str, str], ...]
    """Stronger guards, and why this machine does not allow them."""
    ended: Ended
    """The command's end."""
    tallies: tuple[Tally, ...]
    """Counts of each proxy."""
    session: ReplaySession | None
    """The account of a replay."""


def is_red(end: End) -> bool:
    """Whether the run fails whatever the command returned."""
    if any(tally.is_red for tally in end.tallies):
        return True
    return end.mode is Mode.REPLAY and bool(end.ended.attempts or end.ended.lost)


def played_nothing(end: End) -> bool:
    """Whether a replay that is said to be whole asked for nothing at all: such a run has shown nothing."""
    session = end.session
    return session is not None and session.complete and not (session.hits or session.misses)


def joined_session(
    proxies: Sequence[OpenedProxy], ended: Ended, *, guard: str, is_whole: bool
) -> ReplaySession | None:
    """The account of all proxies of a replay; None in another mode."""
    parts = []
    for place, opened in enumerate(proxies):
        stops = len(ended.attempts) + ended.lost if place == 0 else 0
        tally = opened.proxy.tally()
        ending = Ending(
            command_exit=ended.code or int(tally.has_failed),
            incomplete_because=_incomplete(ended, is_whole=is_whole),
            guard=guard,
            guard_stops=stops,
            upstream_calls=tally.upstream_calls,
        )
        if (session := opened.session(ending)) is not None:
            parts.append(session)
    return joined(parts) if parts else None


def _incomplete(ended: Ended, *, is_whole: bool) -> str:
    if ended.code > SIGNALLED:
        return f"the command was ended by signal {ended.code - SIGNALLED}"
    return "" if is_whole else NOT_WHOLE


def lines(end: End) -> list[str]:
    """The end in lines, the first of which holds every count."""
    is_replay = end.mode is Mode.REPLAY
    told = [f"truegreen proxy: {end.mode.value}, guard {end.guard}: {', '.join(_counts(end))}"]
    if end.session is not None and end.session.before is None:
        told.append(f"there are no recordings in {end.session.cassettes}: every request is a miss")
    if played_nothing(end):
        told.append("nothing was asked for, and the command is said to run everything: that shows nothing")
    misses = [f"miss: {miss.message} [{miss.code}]" for tally in end.tallies for miss in tally.misses]
    told += _cut(misses)
    word = "refused" if is_replay else "not recorded"
    told += _cut([f"{word}: {line}" for line in attempts.told(end.ended.attempts)])
    told += [f"trouble: {each.message} [{each.code}]" for tally in end.tallies for each in tally.troubles]
    told += [f"no request that can be served: {tally.rejected}" for tally in end.tallies if tally.rejected]
    told += [
        f"not kept: {count} answers, {reason}" for tally in end.tallies for reason, count in tally.not_kept
    ]
    if end.ended.lost:
        told.append(f"could not tell: {end.ended.lost} packets were lost, each may have been an attempt")
    if end.ended.left:
        told.append(f"ended: {end.ended.left} processes that the command left behind")
    told += [f"guard {name} is not allowed here: {why}" for name, why in end.stronger]
    return [told[0], *(f"  {line}" for line in told[1:])]


def _counts(end: End) -> list[str]:
    past = len(end.ended.attempts)
    if end.session is not None:
        hits = sum(tally.hits for tally in end.tallies)
        misses = sum(len(tally.misses) for tally in end.tallies)
        counts = [f"{hits} hits", f"{misses} misses", f"{len(end.session.unused)} recordings unused"]
        return [*counts, f"{past} attempts past the proxy refused"]
    counts = [f"{sum(tally.requests for tally in end.tallies)} requests"]
    if end.mode is Mode.RECORD:
        counts.append(f"{sum(tally.kept for tally in end.tallies)} answers kept")
    return [*counts, f"{past} connections past the proxy seen"]


def _cut(told: list[str]) -> list[str]:
    more = len(told) - MOST_TOLD
    return told if more <= 0 else [*told[:MOST_TOLD], f"and {more} more"]
