# SPDX-License-Identifier: Apache-2.0
"""Runs an endpoint, fake or local, until it is told to stop.

What it decides: how a caller learns that it listens, and what ends it. What it leaves: serving, to
``endpoint.fake`` and ``endpoint.local``.

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
from typing import Any

from truegreen.core.outcome import Exit
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.local import LocalModel, LocalSettings
from truegreen.endpoint.scenario_file import load_scenario
from truegreen.wiring.atomic import write_atomic

LOOK_S = 0.2
"""Seconds between two looks for a signal: one that another thread takes does not wake a thread that waits."""


def serve_fake(scenario: Path, *, port: int, ready_file: Path | None, say: Callable[[str], None]) -> Exit:
    """Serve a scenario file until a signal; ``say`` gets the line that announces it.

    Raises: as ``load_scenario``, ``FakeEndpoint.start`` and ``write_atomic``; KeyboardInterrupt on Ctrl-C.
    """
    endpoint = FakeEndpoint(load_scenario(scenario), port=port)
    return _serve(
        endpoint,
        lambda: {"oracle": f"http://127.0.0.1:{endpoint.port}/_oracle"},
        ready_file=ready_file,
        say=say,
    )


def serve_local(settings: LocalSettings, *, ready_file: Path | None, say: Callable[[str], None]) -> Exit:
    """Serve a model until a signal; ``say`` gets the line that announces it.

    Raises: as ``LocalModel.start`` and ``write_atomic``; KeyboardInterrupt on Ctrl-C.
    """
    facts = {"model": settings.model.stem, "slots": settings.slots}
    return _serve(LocalModel(settings), lambda: facts, ready_file=ready_file, say=say)


def _serve(
    endpoint: FakeEndpoint | LocalModel,
    facts: Callable[[], dict[str, Any]],
    *,
    ready_file: Path | None,
    say: Callable[[str], None],
) -> Exit:
    told_to_stop = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: told_to_stop.set())
    try:
        with endpoint:
            announced = {"url": endpoint.url, "port": endpoint.port, **facts(), "pid": os.getpid()}
            line = json.dumps(announced)
            if ready_file is not None:
                write_atomic(ready_file, f"{line}\n".encode())
            say(line)
            while not told_to_stop.wait(LOOK_S):
                pass
    finally:
        signal.signal(signal.SIGTERM, before)
    return Exit.DONE
