# SPDX-License-Identifier: Apache-2.0
"""Ledgers in the memory of the service's process: gone when it ends.

What it decides: the clock of such ledgers. What it leaves: the rules, to ``ledger``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from truegreen.limiter.http.desk import Key
from truegreen.limiter.ledger import new_ledger, under
from truegreen.limiter.limits import Limits
from truegreen.limiter.state import Ledger, Step


class MemoryStore:
    """A ``Store`` on the machine's steady clock."""

    def __init__(self, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        """``now_ns`` never goes back."""
        self.now_ns = now_ns
        self._ledgers: dict[Key, Ledger] = {}

    def step(self, key: Key, limits: Limits, do: Callable[[Ledger, int], Step]) -> Step:
        """Take one step."""
        now = self.now_ns()
        kept = self._ledgers.get(key)
        ledger = new_ledger(limits, now) if kept is None else under(kept, limits, now)
        step = do(ledger, now)
        self._ledgers[key] = step.ledger
        return step
