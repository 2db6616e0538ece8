# SPDX-License-Identifier: Apache-2.0
"""What each layer stops, as a table that the documentation shows and the tests try.

What it decides: reading the table. What it leaves: being true, to the layers.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Literal

import msgspec

Cell = Literal["stops", "passes"]


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to reach past the proxy."""

    id: str
    """Kebab-case name."""
    words: str
    """The way in words."""
    audit: Cell
    """The audit hook alone."""
    preload: Cell
    """The preloaded library alone, with the filter of system calls."""
    landlock: Cell
    """Landlock alone, with the filter of system calls."""
    namespace: Cell
    """The network namespace alone."""


def rows() -> tuple[Row, ...]:
    """The table, in order."""
    text = files("truegreen.guards").joinpath("holds.toml").read_text(encoding="utf-8")
    return tuple(msgspec.convert(row, Row) for row in tomllib.loads(text)["way"])


def page() -> str:
    """The table in Markdown."""
    lines = ["| way out | audit hook | preload | Landlock | namespace |", "|---|---|---|---|---|"]
    for row in rows():
        cells = " | ".join(
            cell if cell == "stops" else f"**{cell}**"
            for cell in (row.audit, row.preload, row.landlock, row.namespace)
        )
        lines.append(f"| {row.words} | {cells} |")
    return "\n".join(lines) + "\n"
