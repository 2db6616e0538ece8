# SPDX-License-Identifier: Apache-2.0
"""The questions of a backend as functions from one ledger to the next, for backends that keep ledgers as values.

What it decides: which rule answers which question. What it leaves: reading, writing and locking, to the backends; the
rules, to ``ledger``.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from truegreen.core.admission import Pressure
from truegreen.limiter import ledger as rules
from truegreen.limiter import places
from truegreen.limiter.backend import NO_PRESSURE, Key
from truegreen.limiter.limits import Limits, checked
from truegreen.limiter.state import Answer, Go, Ledger, Request, Step

Change = Callable[[Ledger, int], Step]
"""A ledger and the time to what follows."""


class Stepping:
    """The questions of ``backend.Backend``, each one call of ``_step``."""

    def __init__(self, limits: Limits) -> None:
        """``limits`` stand for every ledger that this backend is asked about.

        Raises: UsageProblem ``limit-out-of-range``: a zero would be no limit, and none would be missed.
        """
        self.limits = checked(limits)

    def _step(self, key: Key, change: Change) -> Answer:
        """Make one step of one ledger, and wake whom it concerns."""
        raise NotImplementedError

    def ask(self, key: Key, request: Request) -> Answer:
        """As ``ledger.ask``, under this backend's limits."""

        def change(ledger: Ledger, now_ns: int) -> Step:
            step = rules.ask(rules.under(ledger, self.limits, now_ns), request, now_ns)
            return _without_lease(step, request.id)

        return self._step(key, change)

    def look(self, key: Key, id: str) -> Answer:  # noqa: A002 - the field of a request has this name
        """As ``ledger.look``."""
        return self._step(key, lambda ledger, now_ns: _without_lease(rules.look(ledger, id, now_ns), id))

    def beat(self, key: Key, id: str) -> Answer:  # noqa: A002 - as above
        """As ``ledger.beat``."""
        return self._step(key, lambda ledger, now_ns: rules.beat(ledger, id, now_ns))

    def hand_back(
        self,
        key: Key,
        id: str,  # noqa: A002 - as above
        *,
        used_tokens: int | None = None,
        is_unused: bool = False,
        pressure: Pressure = NO_PRESSURE,
    ) -> None:
        """As ``ledger.hand_back``, then ``ledger.pressed``."""

        def change(ledger: Ledger, now_ns: int) -> Step:
            step = rules.hand_back(ledger, id, now_ns, used_tokens=used_tokens, is_unused=is_unused)
            return step if pressure == NO_PRESSURE else rules.pressed(step, pressure, now_ns)

        self._step(key, change)


def _without_lease(step: Step, name: str) -> Step:
    """Under a rate alone, leave that is handed back in the same step: nothing is left to hand back later."""
    limits = step.ledger.limits
    if limits.in_flight or limits.tokens or not isinstance(step.answer, Go):
        return step
    index = places.index_of(step.ledger.places, name)
    ledger = step.ledger if index is None else places.ended(step.ledger, index, None)
    return Step(ledger, replace(step.answer, lease_ns=0), step.woken)
