# SPDX-License-Identifier: Apache-2.0
"""One forked process of the fork engine: runs samples that it is given, one after another.

What it decides: what a forked copy of a pytest process must make its own before it may run a test. What it
leaves: everything else to pytest.

- Own process group, and an end with the parent's: nothing that a test starts outlives its sample's kill.
- Own capture files: a fork shares the offset of the parent's.
- Own folder below the parent's temporary folder: no two samples meet in one.
- It never returns into pytest's main loop and never runs the parent's exit handlers.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import pytest

from truegreen.pytest_plugin import guards
from truegreen.pytest_plugin.account import Account
from truegreen.pytest_plugin.twin import fresh_twin
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import Ended, Start, Stop

PR_SET_PDEATHSIG = 1
"""Linux ``prctl``: the signal that a process gets when its parent ends."""


def live(sock: socket.socket, items: Sequence[pytest.Item], account: Account, *, keeps: bool) -> NoReturn:
    """Run samples until the parent says stop or hangs up; then end this process."""
    code = 1
    try:
        become_own(items[0].config)
        channel: Channel[Start | Stop] = Channel(sock, Start | Stop)
        while isinstance(message := channel.receive(), Start):
            channel.send(run(items[message.index], account, message, keeps=keeps))
            if not keeps:
                break
        if keeps:
            tear_down(items[0], None)
        code = 0
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def run(item: pytest.Item, account: Account, start: Start, *, keeps: bool) -> Ended:
    """Run one sample in this process: environment first, then a fresh twin."""
    os.environ.update(start.env)
    guards.seed_anew(item.config, item.nodeid, start.n, start.draw)
    twin = fresh_twin(item)
    if not keeps:
        return account.run(twin, None, start)
    tear_down(twin, twin)
    ended = account.run(twin, twin.parent, start)
    if ended.status == "setup-error":
        tear_down(
            twin, None
        )  # pytest would raise a wide fixture's first failure again for every later sample
    return ended


def tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Tear down what the last sample kept set up and ``nextitem`` does not share; None shares nothing."""
    with suppress(
        Exception
    ):  # a wide fixture of samples that have ended; pytest raises once all is torn down
        item.session._setupstate.teardown_exact(nextitem)  # noqa: SLF001 - pytest's own tear-down


def become_own(config: pytest.Config) -> None:
    """Take over what a forked copy of a pytest process would otherwise share with its parent."""
    os.setsid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    manager: Any = config.pluginmanager
    terminal = manager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal._tw._file = open(os.devnull, "w", encoding="utf-8")  # noqa: SLF001, SIM115, PTH123 - lives as long as this process
    capture = manager.get_plugin("capturemanager")
    if capture is not None and capture._global_capturing is not None:  # noqa: SLF001 - no public way to begin anew
        own_captures(capture._global_capturing)  # noqa: SLF001 - the same
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        own = factory.getbasetemp() / f"p{os.getpid()}"
        factory._given_basetemp, factory._basetemp = own, None  # noqa: SLF001 - made by pytest once a test asks


def own_captures(capturing: Any) -> None:
    """Put fresh files under the file numbers that pytest captures with; its objects stay as they are."""
    for stream in (capturing.out, capturing.err):
        file = getattr(stream, "tmpfile", None)
        target = getattr(stream, "targetfd", None)
        if target is None or file is None:  # captured in memory, which a fork does not share
            continue
        fresh = os.memfd_create("truegreen-capture")
        os.dup2(fresh, file.fileno())
        if stream._state == "started":  # noqa: SLF001 - then the stream's own number is a copy of that file's
            os.dup2(fresh, target)
        os.close(fresh)
