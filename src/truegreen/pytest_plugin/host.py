# SPDX-License-Identifier: Apache-2.0
"""The plugin in the process that holds the tests: collects once, tells what it found, serves samples.

What it decides: when collection is told and which engine serves. What it leaves: starting this process and
giving numbers, to ``child`` on the other side; running samples, to the engines.

- It exists only in a process that ``truegreen sample`` started; a plain pytest run never loads it.
- pytest's own loop over the items is not entered: samples come by number.
- What could not be collected is told and nothing is run.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from truegreen.pytest_plugin import guards
from truegreen.pytest_plugin.account import Account
from truegreen.pytest_plugin.opened import Opened
from truegreen.sampling.case_ids import case_id, duplicates
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import Collected, Found, Refused, Serve, Start, Stop, ToHost

MARKER = "model"
"""The marker of model-backed tests."""
_STRICT_IDS = "strict_parametrization_ids"


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
            serve(message, session, self._up, self.account)
        return True


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


def collected_from(  # noqa: PLR0913 - what collection gives
    session: pytest.Session,
    root: Path,
    *,
    items: Sequence[pytest.Item],
    problems: Sequence[Refused],
    unmarked: int,
    deselected: int,
    notices: tuple[str, ...],
    read: tuple[str, ...],
) -> Collected:
    """Everything that the measuring process is told of a collection."""
    found, clashes = describe(items, root)
    return Collected(
        cases=found,
        unmarked=unmarked,
        deselected=deselected,
        problems=(*problems, *clashes),
        notices=(*notices, *_about_ids(items), *_about_cases(items)),
        threads=tuple(t.name for t in threading.enumerate() if t is not threading.main_thread()),
        answers_by_hook=answers_by_hook(session.config),
        read=read,
    )


def selected(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Case files' items and marked tests; every test if none is marked."""
    marked = [item for item in items if is_case_item(item) or item.get_closest_marker(MARKER)]
    return marked if any(not is_case_item(item) for item in marked) else list(items)


def is_case_item(item: pytest.Item) -> bool:
    """Whether an item stands in a case file."""
    return hasattr(item, "found")


def answers_by_hook(config: pytest.Config) -> bool:
    """Whether a conftest brings the answers of case files."""
    hook = getattr(config.hook, "pytest_truegreen_answer", None)
    return bool(hook is not None and hook.get_hookimpls())


def describe(items: Sequence[pytest.Item], root: Path) -> tuple[tuple[Found, ...], tuple[Refused, ...]]:
    """Each item as a case, and the ids that two of them share."""
    found = tuple(_found(item, root) for item in items)
    problems = tuple(
        Refused(
            code="unstable-id", message=f"{count} cases are called {name}, a ledger needs one id for each"
        )
        for name, count in duplicates(case.id for case in found)
    )
    return found, problems


def problem_of(report: pytest.CollectReport) -> Refused:
    """What a failed collection report says, in a sentence with its place."""
    text = report.longreprtext
    if _STRICT_IDS in text and "Duplicate" in text:
        return Refused(
            code="unstable-id",
            message=f"{report.nodeid} gives two cases one id, which pytest would tell apart by counting: {_last_line(text)}",
        )
    known = getattr(report, "truegreen_problem", None)
    if known is not None:
        return Refused(code=known[0], message=known[1])
    return Refused(code="collection-failed", message=f"{report.nodeid or 'the suite'}: {_last_line(text)}")


def _found(item: pytest.Item, root: Path) -> Found:
    name = case_id(item.path, root, item.nodeid)
    if is_case_item(item):
        found: Found = item.found(name)  # type: ignore[attr-defined] # checked by is_case_item
        return found
    marker = item.get_closest_marker(MARKER)
    said = marker.kwargs if marker else {}
    return Found(
        id=name,
        nodeid=item.nodeid,
        kind="python",
        blast_radius=str(said.get("blast_radius", "normal")),
        owner=said.get("owner"),
        feature=said.get("feature"),
        golden=bool(said.get("golden", False)),
    )


def _about_ids(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    """Ids that pytest made of a parameter's place: another order gives them to other cases."""
    placed = [item.nodeid for item in items if _is_made_of_places(item)]
    if not placed:
        return ()
    told = f"{len(placed)} ids are made of a parameter's place in its list, the first is {placed[0]}"
    return (f"{told}: give such parameters ids of their own, or a new one in front moves every history",)


def _is_made_of_places(item: pytest.Item) -> bool:
    spec = getattr(item, "callspec", None)
    values = getattr(spec, "params", None) or {}
    parts = str(getattr(spec, "id", "")).split("-")
    return any(
        part.removeprefix(name).isdigit() and part.startswith(name)
        for name, value in values.items()
        if not isinstance(value, str)
        for part in parts
    )


def _about_cases(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    """What should be said of case files."""
    cases = [item.case for item in items if is_case_item(item)]  # type: ignore[attr-defined] # checked
    if not cases:
        return ()
    from truegreen.sampling.cases import warnings  # noqa: PLC0415 - where there are case files

    return tuple(f"{one.file}:{one.line}: {one.message} ({one.code})" for one in warnings(cases))


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("E").strip() if lines else "no reason was given"
