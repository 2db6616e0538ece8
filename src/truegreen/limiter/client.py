# SPDX-License-Identifier: Apache-2.0
"""Leave for threads: ask, wait until it is there, hold it, hand it back.

What it decides: how a thread waits. What it leaves: who gets leave when, to the backend's ledger.

- Whoever stops waiting, by an exception or by a signal, gives back what it can.
- While leave is held, signs of life are given.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from truegreen.core.admission import Ask, Leave, Pressure
from truegreen.core.errors import TruegreenProblem
from truegreen.limiter import asking
from truegreen.limiter.backend import NO_PRESSURE, Backend
from truegreen.limiter.held import Held, Leases
from truegreen.limiter.limits import SECOND
from truegreen.limiter.state import Answer, Go
from truegreen.limiter.wake import Bell


class Limiter:
    """Implements ``core.ports.LedgerPort``; may be used by any thread, and by a forked child."""

    def __init__(self, backend: Backend, *, holder: str = "") -> None:
        """``holder`` is who asks, for people, where an ask names nobody."""
        self.backend = backend
        self._holder, self._leases, self._ids, self._bells = holder, Leases(backend), asking.Ids(), _Bells()

    def enter(self, ask: Ask) -> Leave:
        """Wait for leave.

        Raises: ReachProblem ``leave-refused``, ``limiter-unreachable`` or ``limiter-state-unreadable``.
        """
        ask = asking.renamed(ask, self._holder)
        key, name, bell = asking.key_of(ask), self._ids.next(), self._bells.mine()
        try:
            answer: Answer = self.backend.ask(key, asking.request_of(ask, name, bell.address))
            while not isinstance(answer, Go):
                bell.wait(asking.pause_s(self.backend, ask, answer))
                answer = self.backend.look(key, name)
        except BaseException:
            with contextlib.suppress(TruegreenProblem):
                self.backend.hand_back(key, name, is_unused=True)
            raise
        if answer.lease_ns:
            self._leases.keep(key, name, answer.lease_ns / SECOND)
        return asking.leave_of(ask, name, answer)

    def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure = NO_PRESSURE) -> None:
        """Hand leave back. Harmless if done twice. Raises: ReachProblem ``limiter-unreachable``."""
        if not leave.lease and pressure == NO_PRESSURE:
            return
        self._leases.drop(leave.lease)
        key = asking.key_of(leave.ask)
        used = asking.used_of(used_tokens)
        self.backend.hand_back(key, leave.lease, used_tokens=used, pressure=pressure)

    @contextlib.contextmanager
    def leave(self, ask: Ask | None = None) -> Iterator[Held]:
        """Hold leave while the block runs. Raises: as ``enter`` and ``give_back``."""
        held = Held(self.enter(ask or Ask()), self._leases)
        try:
            yield held
        finally:
            self.give_back(held.leave, used_tokens=held.used_tokens, pressure=held.pressure)

    def close(self) -> None:
        """Let go of files and connections; leases that are still held end by themselves."""
        self._leases.close()
        self._bells.close()
        self.backend.close()


class _Bells(threading.local):
    """A bell for each thread, made when it first asks."""

    def __init__(self) -> None:
        self._bell: Bell | None = None
        self._pid = 0

    def mine(self) -> Bell:
        """This thread's bell."""
        if self._bell is None or self._pid != os.getpid():
            self._bell, self._pid = Bell(), os.getpid()
        return self._bell

    def close(self) -> None:
        """Give this thread's bell back; those of others go with their threads."""
        if self._bell:
            self._bell.close()
            self._bell = None
