# SPDX-License-Identifier: Apache-2.0
"""Writes what ``--help`` prints below every ``$ truegreen … --help`` of docs/cli.md.

Only sessions of one such command are rewritten; everything else on the page stays as it is.
"""

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"

WIDTH = {**os.environ, "COLUMNS": "80"}
"""What a terminal of usual width, and a shell without one, shows."""


def main() -> None:
    """Rewrite the page in place."""
    kept: list[str] = []
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = False
        if inside:
            continue
        kept.append(line)
        if line.startswith("$ truegreen") and line.endswith(" --help"):
            inside = True
            kept += _help(line.split()[2:])
    PAGE.write_text("\n".join(kept) + "\n", encoding="utf-8")


def _help(arguments: list[str]) -> list[str]:
    command = [sys.executable, "-m", "truegreen", *arguments]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=WIDTH).stdout
    return [line.rstrip() for line in shown.splitlines()]


if __name__ == "__main__":
    main()
