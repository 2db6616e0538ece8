# SPDX-License-Identifier: Apache-2.0
"""Which files of the repository were opened for reading, as the interpreter itself reports.

What it decides: which openings are noted. What it leaves: whether a file was declared, to wiring, which knows the
ruler and the subject.

- An audit hook sees every opening by Python code, of any library; it cannot be taken away, and a fork inherits it.
- Programs that a test starts, and C code that opens by itself, are not seen: this discloses, it does not guard.
- Caches that Python and pytest keep are nobody's input.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

NOT_INPUTS = ("/.git/", "/__pycache__/", "/.pytest_cache/", "/.truegreen/", "/site-packages/", "/.venv/")
MOST_NOTED = 10_000
_WRITES = frozenset("wax+")


class Opened:
    """Files below a root that this process has opened for reading since it was last asked."""

    def __init__(self, root: Path) -> None:
        """Notes from now on; ``root`` is absolute."""
        self._prefix = f"{root}{os.sep}"
        self._known: set[str] = set()
        self._new: set[str] = set()
        sys.addaudithook(self._hear)

    def take(self) -> tuple[str, ...]:
        """Files that are new since the last call, by their path from the root, sorted.

        A name with a control character, or with bytes that are no text, is left out: no record could hold it.
        """
        new, self._new = self._new, set()
        self._known |= new
        return tuple(sorted(name for name in new if name.isprintable()))

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open":
            return
        path, mode, flags = arguments
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or not _reads(mode, flags):
            return
        if not os.path.isabs(path):  # noqa: PTH117 - at every opening: a path object would cost more than the rest
            path = os.path.abspath(path)  # noqa: PTH100 - links stay: the name is told as it was opened
        if not path.startswith(self._prefix) or any(part in path for part in NOT_INPUTS):
            return
        name = path[len(self._prefix) :]
        if name not in self._known and len(self._known) + len(self._new) < MOST_NOTED:
            self._new.add(name)


def _reads(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return not _WRITES & set(mode)
    if not isinstance(flags, int):
        return False
    is_folder = bool(flags & getattr(os, "O_DIRECTORY", 0))
    return not flags & (os.O_WRONLY | os.O_RDWR) and not is_folder
