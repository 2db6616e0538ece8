# SPDX-License-Identifier: Apache-2.0
"""A pytest run whose model calls are replayed, and that is red if one of them had no recording.

What it decides: when proxies begin and end, whether the run was the whole one, and its exit. What it leaves:
proxies and account, to ``wiring.replay_in_process``.

- The proxies live in the process that was started; workers of pytest-xdist inherit the variables and share them. So
  misses of all workers are in one place, and equal requests have one order.
- A miss makes the exit 1 even where every test passed, because the code under test swallowed it.
- The run is whole if nothing selected, deselected, stopped or interrupted it; after any other run no recording
  counts as unused.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from truegreen.core.errors import TruegreenProblem
from truegreen.core.replay_session import write_session
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.replay_account import Ending
from truegreen.wiring.replay_in_process import ReplayInProcess

SELECTING = (
    "keyword",
    "markexpr",
    "deselect",
    "lf",
    "stepwise",
    "stepwise_skip",
    "ignore",
    "ignore_glob",
    "maxfail",
    "collectonly",
    "setuponly",
    "setupplan",
    "showfixtures",
    "show_fixtures_per_test",
)
"""Options after which not everything runs."""
COLLECTING = ("python_files", "python_classes", "python_functions", "testpaths", "norecursedirs", "addopts")
"""Settings that say what is collected; the command line may set each with ``-o``."""
DESELECTED = "truegreen_deselected"
"""Under this name a worker of pytest-xdist says how many tests were deselected in it."""
ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
MOST_TOLD = 20


class ReplayRun:
    """Serves one pytest run."""

    def __init__(
        self,
        config: pytest.Config,
        folder: Path,
        session_file: Path | None,
        environment: MutableMapping[str, str],
    ) -> None:
        """``environment`` gets the proxies' variables until the end.

        Raises: pytest.UsageError for a folder that is not there or an address that cannot be used.
        """
        self._config, self._session_file, self._environment = config, session_file, environment
        self._deselected = 0
        self._before: dict[str, str | None] = {}
        try:
            self.replay = ReplayInProcess(folder, dict(environment), clock=SystemClock())
            self.replay.__enter__()
        except TruegreenProblem as err:
            raise pytest.UsageError(str(err)) from err
        self._change(self.replay.environment())

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Not everything runs."""
        self._deselected += len(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Every worker collects all tests, so the most that one of them deselected are those of the run."""
        said = getattr(node, "workeroutput", {}).get(DESELECTED, 0)
        self._deselected = max(self._deselected, said)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """A run that passed with a miss has failed."""
        if self.replay.is_red and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._session_file is not None:
            self.replay.close()
            because = self._incomplete_because(exitstatus)
            code = (int(exitstatus) or int(self.replay.has_failed)) if exitstatus in ENDED else None
            ending = Ending(command_exit=code, incomplete_because=because)
            write_atomic(self._session_file, write_session(self.replay.session(ending)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What was replayed and missed."""
        lines = self.replay.summary() or ("replay: nothing was asked",)
        for line in lines[:MOST_TOLD]:
            terminalreporter.write_line(f"truegreen {line}")
        if len(lines) > MOST_TOLD:
            terminalreporter.write_line(f"truegreen: and {len(lines) - MOST_TOLD} more lines")
        if self.replay.is_red:
            terminalreporter.write_line("truegreen: this run is red, whatever its tests said", red=True)

    def pytest_unconfigure(self) -> None:
        """Stop serving, and give the environment back."""
        self.replay.close()
        for name, value in self._before.items():
            if value is None:
                self._environment.pop(name, None)
            else:
                self._environment[name] = value
        self._before.clear()

    def _change(self, made: Mapping[str, str]) -> None:
        """Make the environment the one that is asked, and remember what it was."""
        for name in {*made, *self._environment}:
            if self._environment.get(name) == made.get(name):
                continue
            self._before[name] = self._environment.get(name)
            if name in made:
                self._environment[name] = made[name]
            else:
                del self._environment[name]

    def _incomplete_because(self, exitstatus: int) -> str:
        if exitstatus not in ENDED:
            return f"pytest ended with {int(exitstatus)}"
        options = self._config.option
        used = [name for name in SELECTING if getattr(options, name, None)]
        if used:
            return f"the option {used[0]} selects"
        for setting in getattr(options, "override_ini", None) or ():
            if (name := setting.partition("=")[0].strip()) in COLLECTING:
                return f"the setting {name} selects"
        if self._deselected:
            return f"{self._deselected} tests were deselected"
        if self._config.args_source is pytest.Config.ArgsSource.ARGS:
            return "paths or ids were given"
        return ""


class ReplayWorker:
    """Serves one worker of pytest-xdist: what is deselected there, the process that was started does not see."""

    def __init__(self, config: pytest.Config) -> None:
        self._output: dict[str, object] = config.workeroutput  # type: ignore[attr-defined] # pytest-xdist's own
        self._deselected = 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Not everything runs here."""
        self._deselected += len(items)
        self._output[DESELECTED] = self._deselected
