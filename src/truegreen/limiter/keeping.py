# SPDX-License-Identifier: Apache-2.0
"""Signs of life for calls that last longer than a lease, while their process lives.

What it decides: when a sign of life is sent. What it leaves: sending it, to the backend.

- A lease gets a sign of life three times in its length. A process that is killed sends none: its leases end.
- A sign that fails is tried again at the next turn; only the server decides when a lease has ended.
- Nothing runs while no lease is held.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from truegreen.core.errors import TruegreenProblem

TURNS: Final = 3
"""Signs of life in the length of a lease."""
Held = TypeVar("Held")


class _Turn(Generic[Held]):
    """A lease and when its next sign of life is due."""

    def __init__(self, held: Held, turn_s: float, due_s: float) -> None:
        self.held, self.turn_s, self.due_s = held, turn_s, due_s


class Keeper(Generic[Held]):
    """Sends signs of life from a thread of its own."""

    def __init__(self, beat: Callable[[str, Held], None]) -> None:
        """``beat`` gets a lease's id and what was kept with it."""
        self._beat = beat
        self._held: dict[str, _Turn[Held]] = {}
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None

    def keep(self, lease: str, held: Held, lease_s: float) -> None:
        """From now on."""
        turn_s = lease_s / TURNS
        with self._lock:
            self._held[lease] = _Turn(held, turn_s, time.monotonic() + turn_s)
            if self._thread is None or not self._thread.is_alive():  # a forked child has none of its parent's
                self._thread = threading.Thread(target=self._run, name="truegreen-leases", daemon=True)
                self._thread.start()

    def drop(self, lease: str) -> Held | None:
        """No more. What was kept with the lease, or None if it is not held."""
        with self._lock:
            turn = self._held.pop(lease, None)
            if not self._held:
                self._lock.notify()
        return turn.held if turn else None

    def close(self) -> None:
        """No more for any; returns once no sign is on its way."""
        with self._lock:
            self._held.clear()
            self._lock.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._held:
                    self._thread = None
                    return
                first = min(turn.due_s for turn in self._held.values())
                self._lock.wait(max(0.0, first - time.monotonic()))
                now = time.monotonic()
                due = {lease: turn for lease, turn in self._held.items() if turn.due_s <= now}
            for lease, turn in due.items():
                turn.due_s = now + turn.turn_s
                with suppress(TruegreenProblem):
                    self._beat(lease, turn.held)


class AsyncKeeper(Generic[Held]):
    """Sends signs of life from a task of its own."""

    def __init__(self, beat: Callable[[str, Held], Awaitable[None]]) -> None:
        """As ``Keeper``."""
        self._beat = beat
        self._held: dict[str, tuple[Held, float]] = {}
        self._task: asyncio.Task[None] | None = None

    def keep(self, lease: str, held: Held, lease_s: float) -> None:
        """From now on."""
        self._held[lease] = held, lease_s / TURNS
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def drop(self, lease: str) -> Held | None:
        """No more."""
        held = self._held.pop(lease, None)
        if not self._held and self._task is not None:
            self._task.cancel()
            self._task = None
        return held[0] if held else None

    async def close(self) -> None:
        """As ``Keeper.close``."""
        self._held.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while self._held:
            await asyncio.sleep(min(turn_s for _, turn_s in self._held.values()))
            for lease, (kept, _) in list(self._held.items()):
                if lease in self._held:
                    with suppress(TruegreenProblem):
                        await self._beat(lease, kept)
