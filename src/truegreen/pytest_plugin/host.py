# SPDX-License-Identifier: Apache-2.0
"""The plugin in the process that holds the tests: collects once, tells what it found, serves samples.

What it decides: when collection is told and which engine serves. What it leaves: starting this process and
giving numbers, to ``child`` on the other side; running samples, to the engines.

- It exists only in a process that ``truegreen sample`` started; a plain pytest run never loads it.
- pytest's own loop over the items is not entered: samples come by number.
- What could not be collected is told and nothing is run.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest

from truegreen.pytest_plugin import guards
from truegreen.pytest_plugin.account import Account
from truegreen.pytest_plugin.collected import collected_from, problem_of, selected
from truegreen.pytest_plugin.opened import Opened
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import Refused, Serve, Start, Stop, ToHost


def connect(address: str) -> tuple[Channel[ToHost], Path]:
    """The channel to the measuring process, and the repository's root."""
    port, token, _, root = address.split(":", 3)
    sock = socket.create_connection(("127.0.0.1", int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(token.encode("ascii"))
    return Channel(sock, Serve | Start | Stop), Path(root)


def plugin_for(address: str) -> object:
    """The plugin that serves the sampler at ``port:token:mode:root``."""
    up, root = connect(address)
    if address.split(":", 3)[2] == "xdist":
        from truegreen.pytest_plugin.xdist_host import XdistHost  # noqa: PLC0415 - one engine of several

        return XdistHost(up, root)
    return Host(up, root)


class Host:
    """Serves samples of what this pytest process collected."""

    def __init__(self, up: Channel[ToHost], root: Path) -> None:
        """``up`` is the measuring process; ids are told from ``root``."""
        self._up = up
        self._root = root
        self._problems: list[Refused] = []
        self._notices: tuple[str, ...] = ()
        self._deselected = 0
        self._unmarked = 0
        self.account = Account(Opened(root))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Switch off what cannot hold, before any plugin is configured."""
        self._notices = guards.switch_off(config)
        guards.without_xdist(config)
        config.pluginmanager.register(self.account)
        return (yield)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what could not be collected."""
        if report.failed:
            self._problems.append(problem_of(report))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count what the project's own options left out."""
        self._deselected += len(items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Once every plugin has had its say: marked tests alone, if any is marked; case files always."""
        yield
        kept = selected(items)
        self._unmarked = len(items) - len(kept)
        items[:] = kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Tell what was found, then serve until the measuring process says stop."""
        self._up.send(
            collected_from(
                session,
                self._root,
                items=session.items,
                problems=self._problems,
                unmarked=self._unmarked,
                deselected=self._deselected,
                notices=self._notices,
                read=self.account.opened.take(),
            )
        )
        message = self._up.receive()
        if isinstance(message, Serve):
            signal.signal(signal.SIGTERM, _leave)
            serve(message, session, self._up, self.account)
        return True


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    """Told to end: leave through every ``finally``, so that no process of a sample is left behind."""
    raise SystemExit(128 + number)


def serve(message: Serve, session: pytest.Session, up: Channel[ToHost], account: Account) -> None:
    """Serve with the engine that was asked for; its module is loaded only now."""
    items = session.items
    factory = getattr(session.config, "_tmp_path_factory", None)
    if factory is not None:
        factory.getbasetemp()  # before any fork, so that all samples share one numbered folder
    match message.engine:
        case "fork":
            from truegreen.pytest_plugin.fork_host import ForkHost  # noqa: PLC0415 - POSIX only

            ForkHost(items, up, account, message.slots).serve()
        case "async":
            from truegreen.pytest_plugin.async_host import serve as serve_async  # noqa: PLC0415 - loads asyncio

            serve_async(items, up, message.slots, account.opened)
        case "fork+async":
            from truegreen.pytest_plugin.mixed_host import MixedHost  # noqa: PLC0415 - POSIX only

            MixedHost(items, up, account, message.slots).serve()
        case _:
            from truegreen.pytest_plugin.serial_host import serve as serve_serially  # noqa: PLC0415 - one engine of several

            serve_serially(items, up, account)
