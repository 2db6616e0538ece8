# SPDX-License-Identifier: Apache-2.0
"""Runs the fake endpoint until it is told to stop.

What it decides: how a caller learns that it listens, and what ends it. What it leaves: serving, to
``endpoint.fake``.

- One JSON line says the addresses once it listens; the same line goes to the ready file, whole or not at all.
- SIGTERM ends it in order (done); Ctrl-C interrupts it.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from truegreen.core.outcome import Exit
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario_file import load_scenario
from truegreen.wiring.atomic import write_atomic


def serve(scenario: Path, *, port: int, ready_file: Path | None, say: Callable[[str], None]) -> Exit:
    """Serve a scenario file until a signal; ``say`` gets the line that announces it.

    Raises: as ``load_scenario``, ``FakeEndpoint.start`` and ``write_atomic``; KeyboardInterrupt on Ctrl-C.
    """
    endpoint = FakeEndpoint(load_scenario(scenario), port=port)
    told_to_stop = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: told_to_stop.set())
    try:
        with endpoint:
            line = _announcement(endpoint)
            if ready_file is not None:
                write_atomic(ready_file, f"{line}\n".encode())
            say(line)
            told_to_stop.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
    return Exit.DONE


def _announcement(endpoint: FakeEndpoint) -> str:
    oracle = f"http://127.0.0.1:{endpoint.port}/_oracle"
    return json.dumps({"url": endpoint.url, "port": endpoint.port, "oracle": oracle, "pid": os.getpid()})
