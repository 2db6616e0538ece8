# SPDX-License-Identifier: Apache-2.0
"""A ledger of leave in memory that counts and never waits: what it is told is what tests look at."""

import threading

from truegreen.core.admission import Ask, Leave, Pressure
from truegreen.core.errors import ReachProblem


class CountingLedger:
    """A ``LedgerPort`` with places in flight and nothing else; a full one refuses at once."""

    def __init__(self, places: int = 1000) -> None:
        self.places = places
        self.asked: list[Ask] = []
        self.given_back: list[tuple[str, int | None, Pressure]] = []
        self.in_flight: set[str] = set()
        self.peak = 0
        self._lock = threading.Lock()

    def enter(self, ask: Ask) -> Leave:
        """Leave, or a refusal."""
        with self._lock:
            if len(self.in_flight) >= self.places:
                raise ReachProblem(
                    "leave-refused", f"{len(self.in_flight)} of {self.places} places are taken"
                )
            self.asked.append(ask)
            lease = str(len(self.asked))
            self.in_flight.add(lease)
            self.peak = max(self.peak, len(self.in_flight))
            return Leave(ticket=len(self.asked), lease=lease, ask=ask, waited_s=0.0)

    def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """A place is free again."""
        with self._lock:
            if leave.lease in self.in_flight:
                self.in_flight.remove(leave.lease)
                self.given_back.append((leave.lease, used_tokens, pressure))


class AsyncCountingLedger:
    """The same for tasks."""

    def __init__(self, places: int = 1000) -> None:
        self.inner = CountingLedger(places)

    async def enter(self, ask: Ask) -> Leave:
        """Leave, or a refusal."""
        return self.inner.enter(ask)

    async def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """A place is free again."""
        self.inner.give_back(leave, used_tokens=used_tokens, pressure=pressure)
