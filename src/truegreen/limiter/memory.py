# SPDX-License-Identifier: Apache-2.0
"""Ledgers of one process, for its threads and tasks; gone with it.

What it decides: where ledgers are kept. What it leaves: the rules, to ``ledger``.

- Several processes that each keep such a ledger allow several times the limit; share a file or a service instead.
- A forked child goes on with a copy of its own.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Final

from truegreen.limiter import ledger as rules
from truegreen.limiter.backend import Key
from truegreen.limiter.limits import Limits
from truegreen.limiter.state import Answer, Ledger
from truegreen.limiter.stepping import Change, Stepping
from truegreen.limiter.wake import Ringer


class Memory(Stepping):
    """Implements ``backend.Backend``."""

    name: Final = "memory"
    is_quick: Final = True

    def __init__(self, limits: Limits, *, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        """``now_ns`` is the clock of every ledger."""
        super().__init__(limits)
        self._now_ns, self._ringer = now_ns, Ringer()
        self._ledgers: dict[Key, Ledger] = {}
        self._lock, self._pid = threading.Lock(), os.getpid()

    def state(self, key: Key) -> Ledger:
        """The ledger as it stands now."""
        with self._held():
            ledger = self._ledgers.get(key) or rules.new_ledger(self.limits, self._now_ns())
            return rules.advance(ledger, self._now_ns())[0]

    def close(self) -> None:
        """Let go of the socket."""
        self._ringer.close()

    def _step(self, key: Key, change: Change) -> Answer:
        with self._held():
            now = self._now_ns()
            step = change(self._ledgers.get(key) or rules.new_ledger(self.limits, now), now)
            self._ledgers[key] = step.ledger
        for place in step.woken:
            self._ringer.ring(place.wake)
        return step.answer

    def _held(self) -> threading.Lock:
        if self._pid != os.getpid():  # a lock that another thread held while we were forked is never opened
            self._lock, self._pid = threading.Lock(), os.getpid()
        return self._lock
