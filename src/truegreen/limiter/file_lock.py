# SPDX-License-Identifier: Apache-2.0
"""A lock that the kernel frees when its holder dies, on an open file.

What it decides: how long to try. What it leaves: what is done under it, to ``file``.

- A step under the lock takes microseconds; whoever waits for seconds waits for a process that is stopped, and hears so.
- The lock belongs to the open file: a forked child opens its own.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Final

from truegreen.core.errors import ReachProblem

PATIENCE_S: Final = 10.0
"""Longest wait for the lock."""
_SPINS: Final = 200
"""Times that the processor is only handed on before sleeping."""
_LONGEST_NAP_S: Final = 0.0002


def lock(file: int, name: str, *, patience_s: float = PATIENCE_S) -> None:
    """Hold the file alone.

    Raises: ReachProblem ``limiter-unreachable`` if somebody else holds it all the time.
    """
    spins, nap, until = 0, 0.0, 0.0
    while not _try(file):
        spins += 1
        if spins < _SPINS:
            _hand_on()
            continue
        now = time.monotonic()
        until = until or now + patience_s
        if now >= until:
            raise ReachProblem(
                "limiter-unreachable",
                f"another process has held {name} for {patience_s:g} s: is one stopped?",
                hint=f"fuser {name}",
            )
        nap = min(_LONGEST_NAP_S, (nap or 0.00005) * 2)
        time.sleep(nap)


if sys.platform == "win32":
    import msvcrt

    _FAR: Final = 0x7FFFFFFF
    """A byte that nothing is written to: Windows locks bytes, and locked ones cannot be read."""

    def _try(file: int) -> bool:
        os.lseek(file, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        """Let others hold the file."""
        os.lseek(file, _FAR, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

    def _hand_on() -> None:
        time.sleep(0)

else:
    import fcntl

    def _try(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(file: int) -> None:
        """Let others hold the file."""
        fcntl.flock(file, fcntl.LOCK_UN)

    def _hand_on() -> None:
        os.sched_yield()
