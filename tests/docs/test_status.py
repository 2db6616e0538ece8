# SPDX-License-Identifier: Apache-2.0
"""docs/status.md: each promise names a command that exists, and says what is true of it."""

import re
from pathlib import Path

from truegreen.cli import verbs

ROOT = Path(__file__).parents[2]
STATES = {"works", "partly", "not yet"}


def _rows():
    lines = (ROOT / "docs" / "status.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] != "promise"]


def test_every_row_has_promise_command_and_state():
    """Three cells: words, commands as code, one of the three states."""
    assert _rows()
    assert [] == [
        row
        for row in _rows()
        if len(row) != 3
        or not row[0]
        or not re.match(r"`[^`]+`", row[1])
        or row[2].partition(":")[0] not in STATES
    ]


def test_what_a_row_names_exists():
    """Test files are there; verbs are built where the row says that they work, and not where it says not yet."""
    wrong = []
    for _, command, state in _rows():
        wrong += [
            path
            for path in re.findall(r"(?:tests|examples|docs|bench)/[\w./-]+", command)
            if not (ROOT / path).exists()
        ]
        for name in re.findall(r"truegreen ([a-z-]+)", command):
            if name not in verbs.NAMES or verbs.is_built(name) == (state == "not yet"):
                wrong.append(f"{name}: {state}")
    assert [] == wrong


def test_no_verb_is_forgotten():
    """Every verb of the design stands in some row."""
    text = (ROOT / "docs" / "status.md").read_text(encoding="utf-8")
    assert [] == [name for name in verbs.NAMES if f"truegreen {name}" not in text]
