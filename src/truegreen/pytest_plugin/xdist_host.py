# SPDX-License-Identifier: Apache-2.0
"""The portable engine: pytest-xdist's workers run numbered samples.

What it decides: which worker gets which sample, and when one is killed. What it leaves: starting, replacing and
ending workers, to pytest-xdist; running a sample, to ``xdist_worker``.

- One sample is with a worker at a time; the next is sent when it has ended.
- A worker that dies ends one sample; xdist starts another in its place.
- Workers must find the same cases: ids that differ between them are unstable.
"""

from __future__ import annotations

import os
import select
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from truegreen.pytest_plugin import guards
from truegreen.pytest_plugin.fork_host import kill
from truegreen.pytest_plugin.xdist_worker import FOLDER, ROOT, leave
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import (
    Broken,
    Collected,
    Ended,
    Refused,
    Running,
    Serve,
    Start,
    ToHost,
)

TICK_S = 0.1
"""How often time limits are looked at."""


class XdistHost:
    """The plugin inside xdist's controller, and its scheduler."""

    def __init__(self, up: Channel[ToHost], root: Path) -> None:
        """``up`` is the measuring process."""
        self._up = up
        self._root = root
        self._folder = Path(tempfile.mkdtemp(prefix="truegreen-xdist-"))
        self._lock = threading.RLock()
        self._waiting: deque[Start] = deque()
        self._busy: dict[Any, tuple[Start, float]] = {}
        self._overdue: set[Any] = set()
        self._collections: dict[Any, tuple[str, ...]] = {}
        self._expected = 0
        self._is_serving = False
        self._is_over = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Switch off what cannot hold, before any plugin is configured."""
        guards.switch_off(config)
        return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker that it takes samples."""
        node.workerinput[FOLDER] = str(self._folder)
        node.workerinput[ROOT] = str(self._root)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> XdistHost:
        """Take the scheduler's place."""
        self._expected = len(config.getoption("tx"))
        return self

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        for path in self._folder.glob("*"):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self._folder.rmdir()

    # What xdist's session asks of a scheduler.

    @property
    def nodes(self) -> list[Any]:
        """Workers that have collected."""
        return list(self._collections)

    @property
    def collection_is_completed(self) -> bool:
        """Whether every first worker has collected."""
        return len(self._collections) >= self._expected

    @property
    def tests_finished(self) -> bool:
        """Whether the measuring process wants no more."""
        return self._is_over

    @property
    def has_pending(self) -> bool:
        """Whether samples wait for a worker."""
        return bool(self._waiting)

    def add_node(self, node: Any) -> None:
        """A worker has started; it is used once it has collected."""

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """A worker has collected."""
        self._collections[node] = tuple(collection)

    def schedule(self) -> None:
        """All first workers have collected, or a replacement has."""
        if not self._is_serving:
            self._is_serving = True
            self._up.send(self._collected())
            threading.Thread(target=self._listen, name="truegreen-listen", daemon=True).start()
        self._assign()

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """A worker has ended an item: ours, or the noop."""
        del duration
        if item_index == self._noop(node):
            return
        with self._lock:
            start, _ = self._busy.pop(node)
        path = self._folder / f"{node.gateway.id}.ended"
        ended = msgspec.json.decode(path.read_bytes(), type=Ended)
        path.unlink()
        self._up.send(ended)
        del start
        self._assign()

    def mark_test_pending(self, item: str) -> None:
        """A rerun plugin wants an item again: never."""

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        """Work stealing: nothing waits at a worker."""

    def remove_node(self, node: Any) -> None:
        """A worker is gone; what it ran has ended with it."""
        self._collections.pop(node, None)
        with self._lock:
            start, began = self._busy.pop(node, (None, 0.0))
            is_overdue = node in self._overdue
            self._overdue.discard(node)
        if start is None:
            return
        limit = f"no end within {start.timeout_s:g} s; its process was killed"
        self._up.send(
            Ended(
                index=start.index,
                n=start.n,
                draw=start.draw,
                status="time-limit" if is_overdue else "crashed",
                reason="time-limit" if is_overdue else "worker-lost",
                detail=limit if is_overdue else "the process ended before the test did",
                duration_ms=round((time.monotonic() - began) * 1000),
            )
        )

    # Our own side.

    def _collected(self) -> Collected:
        first = next(iter(self._collections))
        found = msgspec.json.decode(
            (self._folder / f"{first.gateway.id}.collected").read_bytes(), type=Collected
        )
        if len(set(self._collections.values())) == 1:
            return found
        told = [frozenset(ids) for ids in self._collections.values()]
        shared, every = told[0].intersection(*told), told[0].union(*told)
        differing = sorted(every - shared) or ["the order of cases"]
        problem = Refused(
            code="unstable-id",
            message=f"two collections of the suite differ in {len(differing)} ids, the first is {differing[0]}",
        )
        return msgspec.structs.replace(found, problems=(*found.problems, problem))

    def _listen(self) -> None:
        while True:
            if select.select([self._up], [], [], TICK_S)[0]:
                message = self._up.receive()
                if isinstance(message, Start):
                    with self._lock:
                        self._waiting.append(message)
                    self._assign()
                elif not isinstance(message, Serve):
                    break
            self._kill_overdue()
        self._is_over = True
        for node in self.nodes:
            node.shutdown()

    def _assign(self) -> None:
        with self._lock:
            idle = [node for node in self._collections if node not in self._busy]
            while self._waiting and idle and self._is_serving:
                node, start = idle.pop(0), self._waiting.popleft()
                self._busy[node] = (start, time.monotonic())
                leave(self._folder / f"{node.gateway.id}.start", start)
                self._up.send(
                    Running(index=start.index, n=start.n, draw=start.draw, pid=self._pid(node) or os.getpid())
                )
                with suppress(OSError):  # a worker that is gone: xdist tells of it in its own time
                    node.send_runtest_some([start.index, self._noop(node)])

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        with self._lock:
            for node, (start, began) in self._busy.items():
                if start.timeout_s and began + start.timeout_s <= now and node not in self._overdue:
                    self._overdue.add(node)
                    pid = self._pid(node)
                    if pid is None:
                        self._up.send(
                            Broken(message=f"worker {node.gateway.id} is over time and cannot be killed")
                        )
                    else:
                        kill(pid)

    def _noop(self, node: Any) -> int:
        return len(self._collections[node]) - 1

    @staticmethod
    def _pid(node: Any) -> int | None:
        """Process id of a worker; execnet keeps it in a private place."""
        popen = getattr(getattr(node.gateway, "_io", None), "popen", None)
        return getattr(popen, "pid", None)
