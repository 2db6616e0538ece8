# SPDX-License-Identifier: Apache-2.0
"""A share of the limits for as long as the common count cannot be reached, where the policy says so.

What it decides: which of the two counts is asked. What it leaves: counting, to both; whether a share is allowed at all,
to the policy.

- The share begins empty and is this process's alone: as many callers as there are shares stay below the whole limit.
- Whoever got leave from one count hands it back to that one.
- The change is said once each way.
- While the share is used the common count is tried every few seconds, not at each call, where a try takes time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final

from truegreen.core.admission import Pressure
from truegreen.core.errors import ReachProblem, TruegreenProblem
from truegreen.limiter.backend import NO_PRESSURE, Backend, Key
from truegreen.limiter.limits import Limits, divided
from truegreen.limiter.memory import Memory
from truegreen.limiter.opening import opened
from truegreen.limiter.state import Answer, Ledger, Request

UNREACHABLE: Final = "limiter-unreachable"
"""The only problem that a share stands in for."""
REST_S: Final = 5.0
"""Seconds in which a count that was away is not asked again, where asking takes time: not each call pays the wait."""


class Divided:
    """Implements ``backend.Backend``."""

    def __init__(
        self,
        whole: Backend,
        limits: Limits,
        shares: int,
        say: Callable[[str], None],
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """``say`` is told when the share begins and when it ends.

        Raises: UsageProblem ``limit-out-of-range`` for limits that cannot be divided so often.
        """
        self._whole, self._share, self._shares, self._say = (
            whole,
            Memory(divided(limits, shares)),
            shares,
            say,
        )
        self._of_share: set[str] = set()
        self._is_apart, self._lock = False, threading.Lock()
        self._clock_s, self._rests_until_s = clock_s, -math.inf
        self.name = whole.name
        self.is_quick = whole.is_quick

    def ask(self, key: Key, request: Request) -> Answer:
        """Of the common count; of the share if that cannot be reached."""
        if self._is_apart and self._clock_s() < self._rests_until_s:
            return self._ask_share(key, request)
        try:
            answer = self._whole.ask(key, request)
        except TruegreenProblem as problem:
            if problem.code != UNREACHABLE:
                raise
            self._turn(is_apart=True, why=problem.message)
            if not self.is_quick:
                self._rests_until_s = self._clock_s() + REST_S
            return self._ask_share(key, request)
        self._turn(is_apart=False)
        return answer

    def look(self, key: Key, id: str) -> Answer:  # noqa: A002 - the field of a request has this name
        """Of the count that was asked."""
        return self._asked(id).look(key, id)

    def beat(self, key: Key, id: str) -> Answer:  # noqa: A002 - as above
        """Of the count that was asked."""
        return self._asked(id).beat(key, id)

    def hand_back(
        self,
        key: Key,
        id: str,  # noqa: A002 - as above
        *,
        used_tokens: int | None = None,
        is_unused: bool = False,
        pressure: Pressure = NO_PRESSURE,
    ) -> None:
        """To the count that was asked."""
        asked = self._asked(id)
        with self._lock:
            self._of_share.discard(id)
        asked.hand_back(key, id, used_tokens=used_tokens, is_unused=is_unused, pressure=pressure)

    def state(self, key: Key) -> Ledger:
        """The common count, never the share. Raises: as that."""
        return self._whole.state(key)

    def close(self) -> None:
        """Close both."""
        self._share.close()
        self._whole.close()

    def _ask_share(self, key: Key, request: Request) -> Answer:
        with self._lock:
            self._of_share.add(request.id)
        return self._share.ask(key, request)

    def _asked(self, name: str) -> Backend:
        with self._lock:
            return self._share if name in self._of_share else self._whole

    def _turn(self, *, is_apart: bool, why: str = "") -> None:
        with self._lock:
            turned, self._is_apart = self._is_apart != is_apart, is_apart
        if turned and is_apart:
            self._say(f"{why}; until then one of {self._shares} shares of the limits is used")
        elif turned:
            self._say(f"{self.name} is there again; the whole limits are used")


class Absent:
    """A count that could not even be opened: implements ``backend.Backend`` as far as saying so."""

    is_quick: Final = True

    def __init__(self, name: str, problem: ReachProblem) -> None:
        """``problem`` is what every question is answered with."""
        self.name: Final = name
        self._problem: Final = problem

    def ask(self, key: Key, request: Request) -> Answer:
        """Raises: the problem."""
        del key, request
        raise self._problem

    def look(self, key: Key, id: str) -> Answer:  # noqa: A002 - the field of a request has this name
        """Raises: the problem."""
        del key, id
        raise self._problem

    def beat(self, key: Key, id: str) -> Answer:  # noqa: A002 - as above
        """Raises: the problem."""
        del key, id
        raise self._problem

    def hand_back(
        self,
        key: Key,
        id: str,  # noqa: A002 - as above
        *,
        used_tokens: int | None = None,
        is_unused: bool = False,
        pressure: Pressure = NO_PRESSURE,
    ) -> None:
        """Raises: the problem."""
        del key, id, used_tokens, is_unused, pressure
        raise self._problem

    def state(self, key: Key) -> Ledger:
        """Raises: the problem."""
        del key
        raise self._problem

    def close(self) -> None:
        """There is nothing to close."""


def opened_or_absent(url: str, limits: Limits, token: str) -> Backend:
    """The backend at an address, or one that says why it cannot be reached.

    Raises: as ``opening.opened``, but ReachProblem ``limiter-unreachable``.
    """
    try:
        return opened(url, limits, token=token)
    except ReachProblem as problem:
        if problem.code != UNREACHABLE:
            raise
        return Absent(url, problem)
