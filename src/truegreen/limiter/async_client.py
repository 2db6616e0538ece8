# SPDX-License-Identifier: Apache-2.0
"""Leave for tasks: as ``client``, without blocking an event loop.

What it decides: how a task waits. What it leaves: who gets leave when, to the backend's ledger.

- A quick backend is asked by the loop itself; one that may wait for a network, by a thread.
- A task that is cancelled while it asks or waits gives back what it can, also when the answer is still on its way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Self, TypeVar

from truegreen.core.admission import Ask, Leave, Pressure
from truegreen.core.errors import TruegreenProblem
from truegreen.limiter import asking
from truegreen.limiter.backend import NO_PRESSURE, Backend, Key
from truegreen.limiter.held import Held, Leases
from truegreen.limiter.limits import SECOND
from truegreen.limiter.state import Answer, Go
from truegreen.limiter.wake import Bell

_Made = TypeVar("_Made")


class AsyncLimiter:
    """Implements ``core.ports.AsyncLedgerPort``; may be used by any task of any loop."""

    def __init__(self, backend: Backend, *, holder: str = "") -> None:
        """``holder`` is who asks, for people, where an ask names nobody."""
        self.backend = backend
        self._holder, self._leases, self._ids = holder, Leases(backend), asking.Ids()

    async def enter(self, ask: Ask) -> Leave:
        """Wait for leave.

        Raises: ReachProblem ``leave-refused``, ``limiter-unreachable`` or ``limiter-state-unreadable``.
        """
        ask = asking.renamed(ask, self._holder)
        key, name = asking.key_of(ask), self._ids.next()
        with _Rung() as rung:
            request = asking.request_of(ask, name, rung.address)
            try:
                answer: Answer = await self._made(lambda: self.backend.ask(key, request))
                while not isinstance(answer, Go):
                    await rung.wait(asking.pause_s(self.backend, ask, answer))
                    answer = await self._made(lambda: self.backend.look(key, name))
            except BaseException:
                await self._taken_back(key, name)
                raise
        if answer.lease_ns:
            self._leases.keep(key, name, answer.lease_ns / SECOND)
        return asking.leave_of(ask, name, answer)

    async def give_back(
        self, leave: Leave, *, used_tokens: int | None, pressure: Pressure = NO_PRESSURE
    ) -> None:
        """Hand leave back. Harmless if done twice. Raises: ReachProblem ``limiter-unreachable``."""
        if not leave.lease and pressure == NO_PRESSURE:
            return
        self._leases.drop(leave.lease)
        key, used = asking.key_of(leave.ask), asking.used_of(used_tokens)
        await self._made(
            lambda: self.backend.hand_back(key, leave.lease, used_tokens=used, pressure=pressure)
        )

    @contextlib.asynccontextmanager
    async def leave(self, ask: Ask | None = None) -> AsyncIterator[Held]:
        """Hold leave while the block runs. Raises: as ``enter`` and ``give_back``."""
        held = Held(await self.enter(ask or Ask()), self._leases)
        try:
            yield held
        finally:
            await self.give_back(held.leave, used_tokens=held.used_tokens, pressure=held.pressure)

    def close(self) -> None:
        """Let go of files and connections; leases that are still held end by themselves."""
        self._leases.close()
        self.backend.close()

    async def _made(self, step: Callable[[], _Made]) -> _Made:
        """One step, which is made to its end even if the task is cancelled meanwhile."""
        if self.backend.is_quick:
            return step()
        made = asyncio.ensure_future(asyncio.to_thread(step))
        try:
            return await asyncio.shield(made)
        except asyncio.CancelledError:
            await asyncio.wait((made,))
            raise

    async def _taken_back(self, key: Key, name: str) -> None:
        with contextlib.suppress(TruegreenProblem):
            await self._made(lambda: self.backend.hand_back(key, name, is_unused=True))


class _Rung:
    """The bell of one waiting task."""

    def __enter__(self) -> Self:
        self._bell, self._event, self._loop = Bell(), asyncio.Event(), asyncio.get_running_loop()
        self.address = self._bell.address
        if self._bell.fileno() >= 0:
            self._loop.add_reader(self._bell.fileno(), self._ring)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bell.fileno() >= 0:
            self._loop.remove_reader(self._bell.fileno())
        self._bell.close()

    def _ring(self) -> None:
        self._bell.drain()
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Return when rung, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), max(0.0, seconds))
        self._event.clear()
