# SPDX-License-Identifier: Apache-2.0
"""How long the command takes before it does anything, beside an interpreter that does nothing.

It sits in hooks and in every gate job, so its own start must not be felt.
"""

import subprocess
import sys
import time
from pathlib import Path

from measuring import NotMeasured, Row


def rows(folder: Path) -> tuple[Row, ...]:
    """The first screen, from start to exit, in a folder that is no repository."""
    python = sys.executable
    return (
        Row(
            name="truegreen --help, start to exit",
            peer_name="python -c pass",
            ours=lambda: _seconds([python, "-m", "truegreen", "--help"], folder),
            peer=lambda: _seconds([python, "-c", "pass"], folder),
            target=10,
            rounds=15,
        ),
    )


def _seconds(command: list[str], folder: Path) -> float:
    started = time.perf_counter()
    ran = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if ran.returncode:
        raise NotMeasured(f"{' '.join(command)} exits {ran.returncode}")
    return time.perf_counter() - started
