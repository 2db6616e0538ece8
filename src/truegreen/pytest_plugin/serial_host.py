# SPDX-License-Identifier: Apache-2.0
"""The serial engine: one sample after another in the collecting process, for debugging.

- The same twins, numbers and environment as every engine; no second process to attach to.
- A sample over its time limit is interrupted where the platform can (POSIX); one that ends the process ends
  the run, and what was measured is kept.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import msgspec.structs
import pytest

from truegreen.pytest_plugin.account import Account
from truegreen.pytest_plugin.fork_worker import run, tear_down
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import Running, Start, ToHost


class OverTime(BaseException):
    """The sample's time limit has passed; not an ``Exception``, so that tests do not catch it."""


def serve(items: Sequence[pytest.Item], up: Channel[ToHost], account: Account) -> None:
    """Run samples as they come until the measuring process says stop or is gone."""
    while isinstance(start := up.receive(), Start):
        up.send(Running(index=start.index, n=start.n, draw=start.draw, pid=os.getpid()))
        with time_limit(start.timeout_s) as over:
            ended = run(items[start.index], account, start, keeps=True)
        if over:
            ended = msgspec.structs.replace(
                ended, status="time-limit", reason="time-limit", detail=f"no end within {start.timeout_s:g} s"
            )
        up.send(ended)
    tear_down(items[0], None)


@contextmanager
def time_limit(limit_s: float) -> Iterator[list[bool]]:
    """Interrupt the block after ``limit_s`` seconds, once; the list says whether that happened."""
    over: list[bool] = []
    if not limit_s or not hasattr(signal, "setitimer"):
        yield over
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        over.append(True)
        raise OverTime(f"no end within {limit_s:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield over
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
