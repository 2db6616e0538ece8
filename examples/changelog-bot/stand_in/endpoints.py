# SPDX-License-Identifier: Apache-2.0
"""Model endpoints of the demo: ``truegreen endpoint fake``, one process for each scenario that is asked for."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

from stand_in.authors import environment

SCENARIOS = Path(__file__).parents[1] / "scenarios"


class Endpoints:
    """Starts an endpoint when its scenario is first asked for; ends all of them when it is left."""

    def __init__(self) -> None:
        """None is running yet."""
        self._running: dict[str, tuple[subprocess.Popen[str], str]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process, _url in self._running.values():
            process.terminate()
        for process, _url in self._running.values():
            process.communicate()

    def url(self, scenario: str) -> str:
        """Base URL of the endpoint that behaves as ``scenarios/<scenario>.toml`` says."""
        with self._lock:
            if scenario not in self._running:
                self._running[scenario] = _started(SCENARIOS / f"{scenario}.toml")
            return self._running[scenario][1]


def _started(scenario: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "truegreen", "endpoint", "fake", "--scenario", scenario],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise RuntimeError(f"the endpoint of {scenario} did not start, exit {process.wait()}")
    return process, json.loads(line)["url"]
