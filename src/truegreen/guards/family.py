# SPDX-License-Identifier: Apache-2.0
"""A command's whole family of processes: waited for, told of signals, and ended to the last one.

What it decides: who belongs to a family and when it is gone. What it leaves: who heads it, to ``keeper``.

- A head that is a subreaper inherits whoever loses its parent, so that everything that a command started can be
  found below it, whatever session or group it moved to.
- Signals that a terminal sends reach the whole group by themselves; only those that somebody sent to the head alone
  are passed on.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SENT_BY_KERNEL = 128
"""``si_code`` of a signal that no process sent."""
PASSED_ON = (
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
PARENT_DIED = signal.SIGRTMIN + 5 if hasattr(signal, "SIGRTMIN") else signal.SIGTERM
"""What the kernel sends to a head whose own parent died."""
HEARD = {*PASSED_ON, signal.SIGCHLD, PARENT_DIED}
KILL_LIMIT_S = 10.0
PARTING_S = 2.0
POLL_S = 0.01


def hold_signals() -> set[signal.Signals | int]:
    """Keep signals of this thread, and of those that it starts from now on, for ``outlive``; the mask before."""
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, HEARD))


def outlive(pid: int) -> int | None:
    """Wait for a child and pass signals on to it; its wait status, or None if this process's own parent died."""
    if not hasattr(signal, "sigwaitinfo"):  # macOS: signals of the terminal reach the command by themselves
        return os.waitpid(pid, 0)[1]
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        told = signal.sigwaitinfo(HEARD)
        if told.si_signo == PARENT_DIED:
            return None
        if told.si_signo != signal.SIGCHLD and told.si_code != SENT_BY_KERNEL:
            with suppress(ProcessLookupError):
                os.kill(pid, told.si_signo)


def end_descendants(head: int, *, parting_s: float = PARTING_S) -> int:
    """End everything below a process, politely and then not; how many there were.

    After ``KILL_LIMIT_S`` seconds what the kernel does not let go of (a process in an uninterruptible call) is left.
    """
    ended: set[int] = set()
    start = time.monotonic()
    while time.monotonic() < start + KILL_LIMIT_S:
        _reap()
        living = set(descendants(head))
        if not living:
            break
        is_polite = time.monotonic() < start + parting_s
        for pid in living if not is_polite else living - ended:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM if is_polite else signal.SIGKILL)
        ended |= living
        time.sleep(POLL_S)
    return len(ended)


def descendants(head: int) -> Iterator[int]:
    """Processes below one, without those that have ended and only wait to be asked for."""
    parents: dict[int, int] = {}
    gone: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            if fields[0] in (b"Z", b"X"):
                gone.add(int(folder.name))
    for pid, parent in parents.items():
        above = parent
        while above not in (0, head):
            above = parents.get(above, 0)
        if above == head and pid not in gone:
            yield pid


def exit_code(status: int) -> int:
    """A wait status as shells tell it: a signal is 128 and its number."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
