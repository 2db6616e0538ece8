# SPDX-License-Identifier: Apache-2.0
"""Suites in folders of their own, driven through real engines without an endpoint."""

import os
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from truegreen.sampling.engines.child import EngineHost
from truegreen.sampling.engines.messages import Collected, Ended, Serve, Start

Drive = Callable[..., tuple[Collected, list[Ended]]]


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Path]:
    """Write a suite: file name to text."""

    def write(files: dict[str, str] | None = None, **python: str) -> Path:
        for name, text in {
            **(files or {}),
            **{f"tests/{key}.py": text for key, text in python.items()},
        }.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def drive() -> Drive:
    """Run every case of a suite ``runs`` times and give what was found and how each sample ended."""

    def go(  # noqa: PLR0913 - what an engine is started with
        root: Path,
        *arguments: str,
        engine: str = "fork",
        runs: int = 1,
        slots: int = 4,
        timeout_s: float = 30.0,
        environment: dict[str, str] | None = None,
    ) -> tuple[Collected, list[Ended]]:
        extra = (
            ["-p", "xdist", "-n", str(slots), "--dist", "load", "--max-worker-restart", "1000"]
            if engine == "xdist"
            else []
        )
        with EngineHost(
            ["tests", *extra, *arguments],
            cwd=root,
            root=root,
            environment={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(environment or {})},
            mode="xdist" if engine == "xdist" else "",
        ) as host:
            collected = host.collected()
            if collected.problems or not collected.cases:
                return collected, []
            host.say(Serve(engine=engine, slots=slots))
            todo = [(index, n) for n in range(1, runs + 1) for index in range(len(collected.cases))]
            return collected, _all(host, todo, slots, timeout_s)

    return go


def _all(host: EngineHost, todo: list[tuple[int, int]], slots: int, timeout_s: float) -> list[Ended]:
    busy, ends = 0, []
    while todo or busy:
        while todo and busy < slots:
            index, n = todo.pop(0)
            env = {"TRUEGREEN_SAMPLE": str(n), "TRUEGREEN_CASE": str(index)}
            host.start(Start(index=index, n=n, draw=0, env=env, timeout_s=timeout_s))
            busy += 1
        message = host.hear(60.0)
        assert message is not None, "the engine said nothing for a minute"
        if isinstance(message, Ended):
            ends.append(message)
            busy -= 1
    return sorted(ends, key=lambda end: (end.index, end.n))


@pytest.fixture
def statuses(drive: Drive) -> Callable[..., dict[str, list[str]]]:
    """Short name of each case to the statuses of its samples, by number."""

    def go(root: Path, *arguments: str, **options: object) -> dict[str, list[str]]:
        collected, ends = drive(root, *arguments, **options)
        assert () == collected.problems
        told: dict[str, list[str]] = {}
        for end in ends:
            told.setdefault(collected.cases[end.index].id.rpartition("::")[2], []).append(end.status)
        return told

    return go
