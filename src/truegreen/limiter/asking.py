# SPDX-License-Identifier: Apache-2.0
"""What threads and tasks share when they ask for leave: names, waits, and refusals in words.

What it decides: how long to wait before looking again, and what a refusal is called. What it leaves: waiting itself, to
``client`` and ``async_client``.

- Whoever has a slot waits for exactly that; whoever waits for a place is woken, and looks again at least every 50 ms,
  or more seldom far back in the queue.
- An id is never used twice: chance for the process, then a number.
"""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from truegreen.core.admission import Ask, Leave
from truegreen.core.errors import ReachProblem
from truegreen.limiter.backend import Backend, Key
from truegreen.limiter.limits import LONGEST, MOST_CHARACTERS, MOST_TOKENS, SECOND
from truegreen.limiter.state import Go, Gone, Later, Queued, Refused, Request

LOOK_S: Final = 0.05
"""Longest time between a place that comes free and its owner's look, if no wake arrives."""
_NEAR: Final = 16
"""Places in the queue from which on looks become more seldom."""


class Ids:
    """Names for asks; may be used by any thread and by a forked child."""

    def __init__(self) -> None:
        """Chance, once for each process."""
        self._numbers: Iterator[int] = iter(())
        self._pid, self._prefix = 0, ""

    def next(self) -> str:
        """A name that no ask has had."""
        if self._pid != os.getpid():
            self._pid, self._numbers, self._prefix = os.getpid(), itertools.count(1), secrets.token_hex(8)
        return f"{self._prefix}-{next(self._numbers):x}"


def key_of(ask: Ask) -> Key:
    """The ledger that an ask is about."""
    return Key(tenant=ask.tenant, resource=ask.resource)


def request_of(ask: Ask, name: str, wake: str) -> Request:
    """An ask as the ledger sees it; a wait that is no number stays wrong, one beyond any limit is cut."""
    wait = None if ask.wait_s is None else _nanoseconds(ask.wait_s)
    return Request(
        id=name,
        holder=ask.holder[:MOST_CHARACTERS],
        wake=wake,
        cost=ask.cost,
        prompt_tokens=ask.prompt_tokens,
        output_tokens=ask.output_tokens,
        wait_ns=wait,
    )


def _nanoseconds(wait_s: float) -> int:
    if not wait_s >= 0:  # NaN too
        return -1
    return round(min(wait_s, LONGEST / SECOND) * SECOND)


def pause_s(backend: Backend, ask: Ask, answer: Later | Queued | Refused | Gone) -> float:
    """Seconds until it is worth looking again; a wake may come before.

    Raises: ReachProblem ``leave-refused`` if there is nothing to wait for.
    """
    if isinstance(answer, Later):
        return answer.wait_ns / SECOND
    if isinstance(answer, Queued):
        return LOOK_S * max(1, answer.ahead // _NEAR)
    raise _refusal(backend, ask, answer)


def leave_of(ask: Ask, name: str, answer: Go) -> Leave:
    """Leave, as callers see it; without a lease there is nothing to hand back."""
    lease = name if answer.lease_ns else ""
    return Leave(ticket=answer.ticket, lease=lease, ask=ask, waited_s=answer.waited_ns / SECOND)


def used_of(told: int | None) -> int | None:
    """The tokens that an endpoint reported, within what a ledger can hold: a report that cannot be true is cut."""
    return None if told is None else max(0, min(told, MOST_TOKENS))


def _refusal(backend: Backend, ask: Ask, answer: Refused | Gone) -> ReachProblem:
    """Why there is no leave, as an error."""
    if isinstance(answer, Refused):
        why = answer.message
    else:
        why = "its deadline cannot be met any more, or it was not looked after for too long"
    key = key_of(ask)
    return ReachProblem(
        "leave-refused",
        f"no leave for {key.resource} of {key.tenant} from {backend.name}: {why}",
        hint="truegreen limiter status",
    )


def renamed(ask: Ask, holder: str) -> Ask:
    """The ask with somebody who asks, if nobody is named."""
    return ask if ask.holder else replace(ask, holder=holder)
