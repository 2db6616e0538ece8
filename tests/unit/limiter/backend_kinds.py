# SPDX-License-Identifier: Apache-2.0
"""The backends that the suite in test_backend.py is run over, and processes that share one.

A kind is a name and a function: a folder of its own to an address for ``opening.opened``. What a kind has to start is
stopped by the exit stack that it is given.
"""

import multiprocessing
import time
from contextlib import ExitStack
from pathlib import Path

from simulators.limiter_host import new_service
from simulators.valkey import empty_database
from truegreen.core.admission import Ask
from truegreen.limiter.client import Limiter
from truegreen.limiter.opening import opened

FORK = multiprocessing.get_context("fork")


def _memory(_folder: Path, _stack: ExitStack, _limits) -> str:
    return "memory:"


def _file(folder: Path, _stack: ExitStack, _limits) -> str:
    return f"file:{folder}/ledgers"


def _http(_folder: Path, _stack: ExitStack, limits) -> str:
    url = new_service(limits)
    opened(url, limits).close()  # so that what it loads is there in children that are forked
    return url


def _redis(_folder: Path, _stack: ExitStack, _limits) -> str:
    return empty_database()


KINDS = {"memory": _memory, "file": _file, "http": _http, "redis": _redis}
"""Every backend."""
SHARED = tuple(name for name in KINDS if name != "memory")
"""Those that several processes share."""


class Watched:
    """A backend that notes between which moments its ledger gave leave.

    Not before the last answer that did not give it was on its way, and not after the one that did.
    """

    def __init__(self, backend):
        """Everything else is the backend's."""
        self.backend, self.span, self._before = backend, (0, 0), 0

    def __getattr__(self, name):
        made = getattr(self.backend, name)
        if name not in ("ask", "look"):
            return made

        def watched(*arguments):
            before = time.monotonic_ns()
            answer = made(*arguments)
            self.span = (before if name == "ask" else self._before, time.monotonic_ns())
            self._before = before
            return answer

        return watched


def calls_of_one(url, limits, number, hold_s, pipe):
    """A process that calls so many times; sends (before, after, end, ticket) of each."""
    backend = Watched(opened(url, limits))
    limiter, seen = Limiter(backend), []
    for _ in range(number):
        leave = limiter.enter(Ask(wait_s=60))
        span = backend.span
        time.sleep(hold_s)
        seen.append((*span, time.monotonic_ns(), leave.ticket))
        limiter.give_back(leave, used_tokens=None)
    pipe.send(seen)
    pipe.close()


def calls_of_many(url, limits, processes, number, hold_s=0.0):
    """All calls of several processes at once, in the order of their tickets."""
    ends, started = [], []
    for _ in range(processes):
        here, there = FORK.Pipe(duplex=False)
        process = FORK.Process(target=calls_of_one, args=(url, limits, number, hold_s, there))
        process.start()
        there.close()
        ends.append(here)
        started.append(process)
    seen = [call for end in ends for call in end.recv()]
    for process in started:
        process.join(30)
    return sorted(seen, key=lambda call: call[3])


def surely_above(spans, calls, per_ns, burst):
    """By how many units a window is above its limit although each call is put where it suits best; at most 0 is kept.

    A call that surely lies in a window began and ended in it.
    """
    worst = float("-inf")
    for start in sorted({before for before, _ in spans}):
        inside = sorted(after for before, after in spans if before >= start)
        for number, end in enumerate(inside, 1):
            worst = max(worst, number - burst - (end - start) * calls / per_ns)
    return worst
