# SPDX-License-Identifier: Apache-2.0
"""Signs of life for calls that last longer than a lease, while their process lives.

What it decides: when a sign of life is sent. What it leaves: sending it, to the backend.

- A lease gets a sign of life three times in its length. A process that is killed sends none: its leases end.
- A sign that fails is tried again at the next turn; only the server decides when a lease has ended.
- A thread begins with the first lease and ends when none was held for a while: a call in quick succession with another
  costs no thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from truegreen.core.errors import TruegreenProblem

IDLE_S: Final = 5.0
"""Seconds without a lease after which the thread ends."""
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
        self._wakes_s = 0.0

    def keep(self, lease: str, held: Held, lease_s: float) -> None:
        """From now on."""
        turn_s = lease_s / TURNS
        with self._lock:
            due_s = time.monotonic() + turn_s
            self._held[lease] = _Turn(held, turn_s, due_s)
            if self._thread is None or not self._thread.is_alive():  # a forked child has none of its parent's
                self._thread = threading.Thread(target=self._run, name="truegreen-leases", daemon=True)
                self._thread.start()
            elif due_s < self._wakes_s:
                self._lock.notify()

    def drop(self, lease: str) -> Held | None:
        """No more. What was kept with the lease, or None if it is not held."""
        with self._lock:
            turn = self._held.pop(lease, None)
        return turn.held if turn else None

    def close(self) -> None:
        """No more for any; returns once no sign is on its way."""
        with self._lock:
            self._held.clear()
            thread, self._thread = self._thread, None
            self._lock.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while (due := self._due()) is not None:
            for lease, held in due:
                with suppress(TruegreenProblem):
                    self._beat(lease, held)

    def _due(self) -> list[tuple[str, Held]] | None:
        """Wait until signs are due. None, and the thread ends, after a while without leases and after closing."""
        with self._lock:
            now = time.monotonic()
            self._wakes_s = min((turn.due_s for turn in self._held.values()), default=now + IDLE_S)
            if self._thread is threading.current_thread():  # else it was closed before it came to wait
                self._lock.wait(max(0.0, self._wakes_s - now))
            if self._thread is not threading.current_thread():
                return None
            now = time.monotonic()
            if not self._held and now >= self._wakes_s:
                self._thread = None
                return None
            due = [(lease, turn) for lease, turn in self._held.items() if turn.due_s <= now]
            for _, turn in due:
                turn.due_s = now + turn.turn_s
            return [(lease, turn.held) for lease, turn in due]
