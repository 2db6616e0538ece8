# SPDX-License-Identifier: Apache-2.0
"""Attempts to reach past the proxy, as the layers write them down and as they are told.

What it decides: the shape of a line, and how a file of lines is read. What it leaves: who writes: the audit hook,
the preloaded library, the witness of a namespace.

- One JSON object a line, appended in one write, so that processes do not mix. A line that is cut or foreign counts
  as an attempt of its own: what cannot be read may have been one.
- Attempts that are equal but for the process are told once, with their count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec


class Attempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody tried to reach past the proxy."""

    layer: str
    """Who saw it: ``audit``, ``preload`` or ``packet``."""
    what: str
    """Kebab-case: ``connect``, ``lookup``, ``datagram``, ``socket``, ``echo``, …."""
    address: str
    """Host and port, name or path that was asked for."""
    program: str = ""
    """Name of the program, where the layer knows it."""
    pid: int = 0
    """Its process, 0 where the layer does not know it."""


UNREADABLE = Attempt(layer="unknown", what="unreadable-line", address="?")
"""Stands for a line that is no attempt of ours."""


def read(path: Path) -> tuple[Attempt, ...]:
    """Attempts in a file, in order; none if there is no file.

    Raises: OSError.
    """
    if not path.exists():
        return ()
    return tuple(_decoded(line) for line in path.read_bytes().splitlines() if line.strip())


def told(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """A line for each distinct attempt, in the order of the first, with its count."""
    counted = Counter(_line(each) for each in attempts)
    return tuple(line if count == 1 else f"{line} ({count} times)" for line, count in counted.items())


def _line(attempt: Attempt) -> str:
    by = f" by {attempt.program}" if attempt.program else ""
    return f"{attempt.what} {attempt.address}{by} [{attempt.layer}]"


def _decoded(line: bytes) -> Attempt:
    try:
        return msgspec.json.decode(line, type=Attempt)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return UNREADABLE
