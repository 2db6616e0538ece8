# SPDX-License-Identifier: Apache-2.0
"""A plain pytest run over model tests: each is asked once, and the run says what that is worth.

What it decides: which tests are model tests here, their rows in the article's run log, and the closing words.
What it leaves: many runs, to ``truegreen sample``.

- Model tests are the items of case files, tests with the marker, and tests below a lane of the policy.
- ``MODEL_RUN_LOG`` gets a row for each of them, with ``MODEL_RUN_ID``; a set-up error or a skip has a row too.
- A policy that cannot be read costs a plain run nothing: the words say so, and no case file is collected by it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from truegreen.pytest_plugin.account import status_of
from truegreen.pytest_plugin.collected import MARKER, is_case_item
from truegreen.sampling.case_ids import case_id
from truegreen.wiring.run_log import DEFAULT_RUN, RunLog

POLICY_FILE = "truegreen.toml"
KIND = "sample-ledger"
BUCKETS = {"passed": "pass", "failed": "fail", "rerun": "fail"}
"""Status of a test to its bucket; every other status is ``invalid``."""


def places_of(config: pytest.Config, given: Iterable[str], root: Path | None) -> tuple[Path, ...]:
    """Absolute files and folders in which case files are looked for: the option's, else the policy's lanes."""
    named = tuple((config.invocation_params.dir / one).resolve() for one in given)
    return named or tuple((root / tests).resolve() for tests in lanes_in(root)) if root else named


def lanes_in(root: Path) -> tuple[str, ...]:
    """The ``tests`` of each sampled lane; none for a policy that cannot be read."""
    try:
        policy: dict[str, Any] = tomllib.loads((root / POLICY_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    lanes = policy.get("lanes")
    tables = lanes.values() if isinstance(lanes, dict) else ()
    return tuple(
        lane["tests"]
        for lane in tables
        if isinstance(lane, dict) and lane.get("kind", KIND) == KIND and isinstance(lane.get("tests"), str)
    )


class PlainRun:
    """Counts model tests, logs them, and says what one run proves."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        """``root`` is the root that ids are told from."""
        self._root = root
        self._log = RunLog.named_in(environment, root)
        self._run = environment.get("MODEL_RUN_ID") or DEFAULT_RUN
        self._ids: dict[str, str] = {}
        self._reports: dict[str, list[pytest.TestReport]] = {}
        self._passed = 0
        self._asked = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Remember which of the collected are model tests."""
        lanes = [(self._root / tests).resolve() for tests in lanes_in(self._root)]
        for item in items:
            below = any(lane == item.path or lane in item.path.parents for lane in lanes)
            if below or is_case_item(item) or item.get_closest_marker(MARKER):
                self._ids[item.nodeid] = case_id(item.path, self._root, item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a model test's reports; its row is written with the last one."""
        name = self._ids.get(report.nodeid)
        if name is None:
            return
        self._reports.setdefault(report.nodeid, []).append(report)
        if report.when == "teardown":
            status, _ = status_of(self._reports.pop(report.nodeid))
            self._asked += 1
            self._passed += status == "passed"
            self._log.write(self._run, name, BUCKETS.get(status, "invalid"), status)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What one run of each is worth."""
        if self._asked:
            terminalreporter.write_line(
                f"truegreen: {self._passed} of {self._asked} model tests passed, each asked once: "
                "a sample of size one proves next to nothing; truegreen sample asks until it is certain"
            )
