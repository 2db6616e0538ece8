# SPDX-License-Identifier: Apache-2.0
"""A fake endpoint's own limits: how many calls a second, and how many at once, it takes before it says 429.

What it decides: whether a call is taken, and in how many nanoseconds a refused one would be. What it leaves:
which headers say so, to ``wait_header``; counting, to ``oracle``.

- The rate is a bucket of time in integer nanoseconds, full at the start: a call takes one interval out of it.
- A refused call takes nothing: being refused does not make the next one later.
- A call in flight holds its place until its reply is sent or its client has left.
- A clock that steps back neither locks nor fills the bucket.

This is not the limiter's arithmetic, on purpose: what is measured with it must not share its mistakes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import Final

import msgspec

from truegreen.endpoint.scenario import Allowance

SECOND_NS: Final = 1_000_000_000
NO_FREE_PLACE_NS: Final = SECOND_NS
"""What is told where the wait is not known, because a place in flight ends when its call does."""


class Limit(Enum):
    """Which limit refused."""

    RATE = "rate"
    IN_FLIGHT = "in-flight"


class TooMany(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is not taken now."""

    limit: Limit
    """Which limit."""
    wait_ns: int
    """Nanoseconds until the rate would take it; one second for a place in flight."""


class Meter:
    """The limits while the endpoint runs; used by one thread."""

    def __init__(self, allowance: Allowance, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        """``clock_ns`` is any clock in nanoseconds; a test hands in its own."""
        self._allowance = allowance
        self._clock_ns = clock_ns
        self._interval_ns = round(SECOND_NS / allowance.per_s) if allowance.per_s else 0
        self._full_ns = self._interval_ns * allowance.burst
        self._held_ns = self._full_ns
        self._seen_ns = clock_ns()
        self._open = 0

    def take(self) -> TooMany | None:
        """None if the call is taken, which then holds a place until ``give_back``."""
        places = self._allowance.in_flight
        if places is not None and self._open >= places:
            return TooMany(limit=Limit.IN_FLIGHT, wait_ns=NO_FREE_PLACE_NS)
        now_ns = self._clock_ns()
        self._held_ns = min(self._full_ns, self._held_ns + max(0, now_ns - self._seen_ns))
        self._seen_ns = now_ns
        if self._held_ns < self._interval_ns:
            return TooMany(limit=Limit.RATE, wait_ns=self._interval_ns - self._held_ns)
        self._held_ns -= self._interval_ns
        self._open += 1
        return None

    def give_back(self) -> None:
        """A call that was taken has ended."""
        self._open -= 1
