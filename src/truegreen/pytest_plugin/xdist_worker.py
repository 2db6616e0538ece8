# SPDX-License-Identifier: Apache-2.0
"""A pytest-xdist worker that runs numbered samples.

What it decides: how one worker takes up the sample that its controller wrote down for it. What it leaves:
which worker gets which sample, to ``xdist_host``.

- xdist tells a worker places of items alone, so number, environment and time limit lie in a file of its own.
- A worker runs an item only once it knows the next one: the controller sends ``[item, noop]``, and the noop
  item, last in every collection, runs nothing and reports nothing.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from truegreen.pytest_plugin import guards
from truegreen.pytest_plugin.account import Account
from truegreen.pytest_plugin.collected import collected_from, problem_of, selected
from truegreen.pytest_plugin.fork_worker import run
from truegreen.pytest_plugin.opened import Opened
from truegreen.sampling.engines.messages import Refused, Start

FOLDER = "truegreen_folder"
"""Key of ``workerinput`` that names the folder of the files that controller and workers exchange."""
ROOT = "truegreen_root"
"""Key that names the repository's root."""


class Noop(pytest.Item):
    """An item that runs nothing; its place tells a worker that no sample follows yet."""

    def runtest(self) -> None:
        """Nothing."""


class SampleWorker:
    """The plugin inside one worker."""

    def __init__(self, config: pytest.Config) -> None:
        """``config`` is that of a worker whose controller takes samples."""
        self._input: dict[str, Any] = config.workerinput  # type: ignore[attr-defined] # xdist's own field
        self._folder = Path(self._input[FOLDER])
        self._account = Account(Opened(Path(self._input[ROOT])))
        self._problems: list[Refused] = []
        self._deselected = 0
        self._unmarked = 0
        self._is_inside = False
        self._notices = guards.switch_off(config)
        config.pluginmanager.register(self._account)

    @property
    def name(self) -> str:
        """The name that xdist gave this worker."""
        return str(self._input["workerid"])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what could not be collected."""
        if report.failed:
            self._problems.append(problem_of(report))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Count what the project's own options left out."""
        self._deselected += len(items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Select as every engine does, then put the noop item last."""
        yield
        kept = selected(items)
        self._unmarked = len(items) - len(kept)
        items[:] = [*kept, Noop.from_parent(session, name="truegreen-noop")]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Leave what was found for the controller, before xdist says that collection is done."""
        found = collected_from(
            session,
            Path(self._input[ROOT]),
            items=[item for item in session.items if not isinstance(item, Noop)],
            problems=self._problems,
            unmarked=self._unmarked,
            deselected=self._deselected,
            notices=self._notices,
            read=self._account.opened.take(),
        )
        leave(self._folder / f"{self.name}.collected", found)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Run a sample in place of the item; nothing for the noop item."""
        if self._is_inside:
            return None
        if not isinstance(item, Noop):
            self._is_inside = True
            try:
                start = msgspec.json.decode((self._folder / f"{self.name}.start").read_bytes(), type=Start)
                leave(self._folder / f"{self.name}.ended", run(item, self._account, start, keeps=True))
            finally:
                self._is_inside = False
        return True


def leave(path: Path, message: msgspec.Struct) -> None:
    """Put a message where the other side finds it whole or not at all."""
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(msgspec.json.encode(message))
    part.replace(path)
