# SPDX-License-Identifier: Apache-2.0
"""The article's ``run.jsonl``: one line for each run of a case, with its ``run``, ``case`` and ``passed``.

What it decides: which rows there are. What it leaves: counting them, to whoever reads; our own count is the
ledger.

- Every outcome has a row: a set-up error, a skip or a crash too, with its ``bucket`` and ``reason``.
- A row is one write to a file opened for appending: writers at once do not mix lines.
- It is written only where ``MODEL_RUN_LOG`` names a file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truegreen.core.errors import ReachProblem

NAME = "MODEL_RUN_LOG"
DEFAULT_RUN = "local"


class RunLog:
    """Rows for one file, or for none."""

    def __init__(self, path: Path | None) -> None:
        """``path`` is None where nobody asked for a log."""
        self._path = path

    @classmethod
    def named_in(cls, environment: Mapping[str, str], cwd: Path) -> RunLog:
        """The log that ``MODEL_RUN_LOG`` names."""
        text = environment.get(NAME, "").strip()
        return cls(cwd / text if text else None)

    def write(self, run: str, case: str, bucket: str, reason: str = "") -> None:
        """Append one row.

        Raises: ReachProblem ``not-written``.
        """
        if self._path is None:
            return
        line = json.dumps(row(run, case, bucket, reason), ensure_ascii=True) + "\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(
                self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666
            )
            try:
                os.write(handle, line.encode("ascii"))
            finally:
                os.close(handle)
        except OSError as err:
            raise ReachProblem(
                "not-written", f"a row of {self._path} was not written: {err.strerror}"
            ) from err


def row(run: str, case: str, bucket: str, reason: str) -> dict[str, Any]:
    """One row: the article's three fields, and for anything but pass or fail its bucket and reason."""
    told: dict[str, Any] = {"run": run, "case": case, "passed": bucket == "pass"}
    if bucket not in ("pass", "fail"):
        told |= {"bucket": bucket, "reason": reason}
    return told
