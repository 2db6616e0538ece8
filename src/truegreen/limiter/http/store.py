# SPDX-License-Identifier: Apache-2.0
"""Where the service keeps its ledgers: in memory, or in a folder of files that outlives it.

What it decides: how the desk sees a backend's steps. What it leaves: clocks, locks and files, to the backends.
"""

from __future__ import annotations

from collections.abc import Callable

from truegreen.limiter import ledger as rules
from truegreen.limiter.backend import Key
from truegreen.limiter.file import File
from truegreen.limiter.memory import Memory
from truegreen.limiter.state import Ledger, Step
from truegreen.limiter.stepping import Stepping


class _Stepped(Stepping):
    def step(self, key: Key, do: Callable[[Ledger, int], Step]) -> Step:
        """Take one step of one ledger under this store's limits, whole or not at all."""
        taken: list[Step] = []

        def change(ledger: Ledger, now_ns: int) -> Step:
            taken[:] = [do(rules.under(ledger, self.limits, now_ns), now_ns)]
            return taken[0]

        self._step(key, change)
        return taken[0]


class MemoryStore(_Stepped, Memory):
    """Ledgers of this process: a restart forgets them."""

    def now_ns(self) -> int:
        """The clock of its ledgers."""
        return self._now_ns()

    def keys(self) -> tuple[Key, ...]:
        """None before the first step."""
        return tuple(self._ledgers)


class FileStore(_Stepped, File):
    """Ledgers in files: a restart goes on with them, calls in flight included."""

    def now_ns(self) -> int:
        """The clock of its ledgers."""
        return self._clock.now_ns()
