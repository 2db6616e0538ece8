# SPDX-License-Identifier: Apache-2.0
"""The fork engine's parent: collects once, then forks a process for each sample.

What it decides: which process runs which sample, and when one is killed. What it leaves: running a sample, to
``fork_worker``; what a kill means, to ``buckets``.

- A fork costs about 2 ms and starts from the state right after collection, so that module globals, caches and
  parameters are as fresh as fixtures.
- A case that uses fixtures wider than one function keeps its process: those fixtures are set up once in it, and
  its next samples go there, so a costly server is started at most once per process.
- A crash, a kill or a hang ends one process and one sample.
- This process stays without threads: a fork copies only the thread that calls it.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from truegreen.pytest_plugin import fork_worker
from truegreen.pytest_plugin.account import Account
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import Ended, Running, Start, Stop, ToHost

PARTING_S = 20.0
"""Seconds that processes get for the tear-down of what they keep, once all samples have ended."""

_OWN_FIXTURES = ("_pytest.", "pytest_asyncio.", "anyio.", "xdist.", "truegreen.")
_XUNIT = ("_xunit_setup_module", "_xunit_setup_class", "_unittest_setUpClass")


class Worker:
    """One forked process."""

    def __init__(self, pid: int, channel: Channel[Ended], *, keeps: bool) -> None:
        """``keeps``: whether it stays for further samples."""
        self.pid = pid
        self.channel = channel
        self.keeps = keeps
        self.start: Start | None = None
        self.began = 0.0
        self.parent: object = None

    @property
    def deadline(self) -> float | None:
        """When its sample is over time, by the monotonic clock."""
        if self.start is None or not self.start.timeout_s:
            return None
        return self.began + self.start.timeout_s


class ForkHost:
    """Serves samples of plain tests, and of case files that a conftest answers."""

    def __init__(
        self, items: Sequence[pytest.Item], up: Channel[ToHost], account: Account, slots: int
    ) -> None:
        """``up`` is the measuring process."""
        self._items = items
        self._up = up
        self._account = account
        self._slots = slots
        self._workers: dict[int, Worker] = {}
        self._watch = selectors.DefaultSelector()
        self._wide = [is_wide(item) for item in items]
        self._leaving: list[int] = []
        self.relays: dict[int, Channel[Any]] = {}
        """Channels of other engines' processes whose messages are passed on, by file number."""
        self._asking: dict[tuple[int, int, int], Start] = {}

    def serve(self) -> None:
        """Take samples until the measuring process says stop or is gone."""
        self._watch.register(self._up, selectors.EVENT_READ)
        gc.collect()
        gc.freeze()  # what was collected stays shared: a collection in a fork would copy every page that it marks
        try:
            while (is_over := self._turn()) is None:
                pass
            if is_over:
                self._part()
        finally:
            self.close()

    def close(self) -> None:
        """End every process."""
        for worker in list(self._workers.values()):
            kill(worker.pid)
            self._forget(worker)
        for pid in self._leaving:
            kill(pid)
            os.waitpid(pid, 0)

    def add_relay(self, channel: Channel[Any]) -> None:
        """Pass on what another engine's process says."""
        self.relays[channel.fileno()] = channel
        self._watch.register(channel, selectors.EVENT_READ)

    def leave_to_child(self, *ends: socket.socket) -> None:
        """In a forked process: let go of every end that belongs to this one."""
        self._watch.close()
        for end in ends:
            end.close()
        for other in self._workers.values():
            other.channel.close()
        for relay in self.relays.values():
            relay.close()
        self._up.close()

    def take(self, start: Start) -> None:
        """Give one sample to a process: one that has its fixtures, a new one, or any that is idle."""
        worker = self._idle_for(start) or self._fork(start)
        worker.start, worker.began = start, time.monotonic()
        worker.parent = self._items[start.index].parent
        self._up.send(Running(index=start.index, n=start.n, draw=start.draw, pid=worker.pid))
        worker.channel.send(start)

    def _turn(self) -> bool | None:
        """Hear what there is; True once told to stop, False once nobody is there to tell."""
        for key, _ in self._watch.select(self._patience()):
            channel: Any = key.fileobj
            if channel is self._up:
                message = self._up.receive()
                if not isinstance(message, Start):
                    return isinstance(message, Stop)
                self.route(message)
            elif channel.fileno() in self.relays:
                self._relay(channel)
            else:
                self._hear(self._workers[channel.fileno()])
        self._kill_overdue()
        self._leaving = [pid for pid in self._leaving if not has_left(pid)]
        return None

    def route(self, start: Start) -> None:
        """Where a sample goes; an engine that has more than forks overrides it."""
        self.take(start)

    def _relay(self, channel: Channel[Any]) -> None:
        message = channel.receive()
        if message is None:
            self._watch.unregister(channel)
            self.relay_lost(channel)
        else:
            self.relayed(message)
            self._up.send(message)

    def relayed(self, message: Any) -> None:
        """A relay's message passes by."""

    def relay_lost(self, channel: Channel[Any]) -> None:
        """A relay's process is gone."""

    def _idle_for(self, start: Start) -> Worker | None:
        if not self._wide[start.index]:
            return None
        idle = [worker for worker in self._workers.values() if worker.start is None and worker.keeps]
        parent = self._items[start.index].parent
        at_home = [worker for worker in idle if worker.parent is parent]
        if at_home:
            return at_home[0]
        return idle[0] if idle and len(self._workers) >= self._slots else None

    def _fork(self, start: Start) -> Worker:
        ours, theirs = socket.socketpair()
        wide = self._wide[start.index]
        pid = os.fork()
        if pid == 0:
            self.leave_to_child(ours)
            fork_worker.live(theirs, self._items, self._account, keeps=wide)
        theirs.close()
        worker = Worker(pid, Channel(ours, Ended), keeps=wide)
        self._workers[ours.fileno()] = worker
        self._watch.register(worker.channel, selectors.EVENT_READ)
        return worker

    def _hear(self, worker: Worker) -> None:
        ended = worker.channel.receive()
        if ended is not None:
            self._up.send(ended)
            worker.start = None
            return
        if worker.start is None:
            self._drop(worker)
            self._leaving.append(worker.pid)  # it hung up and is on its way out: nobody waits for that
            return
        status = self._forget(worker)
        self._say_ended(worker, "crashed", end_reason(status), end_in_words(status))

    def _say_ended(self, worker: Worker, status: str, reason: str, detail: str) -> None:
        start = worker.start
        if start is None:
            return
        worker.start = None
        took = round((time.monotonic() - worker.began) * 1000)
        self._up.send(
            Ended(
                index=start.index,
                n=start.n,
                draw=start.draw,
                status=status,
                reason=reason,
                detail=detail,
                duration_ms=took,
            )
        )

    def _drop(self, worker: Worker) -> None:
        self._workers.pop(worker.channel.fileno(), None)
        with suppress(KeyError, ValueError):
            self._watch.unregister(worker.channel)
        worker.channel.close()

    def _forget(self, worker: Worker) -> int:
        self._drop(worker)
        _, status = os.waitpid(worker.pid, 0)
        kill_group(worker.pid)
        return status

    def _patience(self) -> float | None:
        deadlines = [worker.deadline for worker in self._workers.values() if worker.deadline is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        for worker in list(self._workers.values()):
            if worker.deadline is not None and worker.deadline <= now:
                limit = worker.start.timeout_s if worker.start else 0.0
                kill(worker.pid)
                self._say_ended(
                    worker, "time-limit", "time-limit", f"no end within {limit:g} s; its process was killed"
                )
                self._forget(worker)

    def _part(self) -> None:
        """Let the processes that keep fixtures tear them down, within their time."""
        for worker in self._workers.values():
            worker.channel.send(Stop())
        until = time.monotonic() + PARTING_S
        while self._workers and time.monotonic() < until:
            for key, _ in self._watch.select(max(0.0, until - time.monotonic())):
                found = self._workers.get(key.fd)
                if found is None:
                    self._watch.unregister(key.fileobj)
                elif found.channel.receive() is None:
                    self._forget(found)


def is_wide(item: pytest.Item) -> bool:
    """Whether a case uses fixtures wider than one function that the project wrote."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return False
    for definitions in info.name2fixturedefs.values():
        for definition in definitions:
            module = getattr(definition.func, "__module__", "") or ""
            own = f"{module}.".startswith(_OWN_FIXTURES) and not definition.argname.startswith(_XUNIT)
            if definition.scope != "function" and not own:
                return True
    return False


def has_left(pid: int) -> bool:
    """Whether a process has ended; what is left of its group is ended with it."""
    if os.waitpid(pid, os.WNOHANG)[0] == 0:
        return False
    kill_group(pid)
    return True


def kill(pid: int) -> None:
    """End a process and all that it started."""
    kill_group(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_group(pid: int) -> None:
    """End whatever is left of the process group that a worker leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end_reason(status: int) -> str:
    """Reason code of a process that ended without a word: ``signal-11``, ``exit-3``."""
    if os.WIFSIGNALED(status):
        return f"signal-{os.WTERMSIG(status)}"
    return f"exit-{os.WEXITSTATUS(status)}"


def end_in_words(status: int) -> str:
    """The same for people."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"the process was ended by {signal.Signals(number).name} before the test did"
    return f"the process left with exit code {os.WEXITSTATUS(status)} before the test ended"
