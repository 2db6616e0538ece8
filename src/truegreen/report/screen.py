# SPDX-License-Identifier: Apache-2.0
"""A screen: lines of text with the part that each stretch plays, so that colour is never content.

What it decides: the shape, and what of it a log without colours shows. What it leaves: colours, to the command
line where there is a terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from truegreen.report.defused import cells, cut, cut_middle, padded

Style = Literal["", "admit", "hold", "block", "dim", "strong"]
WIDTH = 100
"""Columns of a paragraph; long enough for a sentence, short enough to read."""
WIDEST_CELL = 60
"""Columns of a table's cell before it is cut in its middle."""


class Span(msgspec.Struct, frozen=True):
    """A stretch of text in one style, already made harmless."""

    text: str
    """What is shown."""
    style: Style = ""
    """What part it plays."""


Line = tuple[Span, ...]
Screen = tuple[Line, ...]

EMPTY: Line = ()


def plain_screen(screen: Screen) -> str:
    """The screen without colours; every line ends in LF and has no space at its end."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in screen)


def line(*parts: str | Span) -> Line:
    """A line of texts and spans."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def paragraph(text: str, indent: int = 0) -> Screen:
    """A text wrapped at its spaces; words are never broken, so that what they hold can be copied."""
    lines = textwrap.wrap(text, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    return tuple(line(" " * indent + part) for part in lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], indent: int = 2) -> Screen:
    """A table with a dim head; each column is as wide as its widest cell."""
    shown = [tuple(cut_middle(cell, WIDEST_CELL) for cell in row) for row in rows]
    widths = [max(cells(row[column]) for row in (tuple(head), *shown)) for column in range(len(head))]

    def joined(row: Sequence[str]) -> str:
        return " " * indent + "  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True))

    return (line(Span(joined(head), "dim")), *(line(joined(row)) for row in shown))


def labelled(label: str, texts: Iterable[str], columns: int = 9, limit: int = 400) -> Screen:
    """Lines behind a label; the label stands beside the first of them only."""
    return tuple(
        line("  ", Span(padded(label if number == 0 else "", columns), "dim"), cut(text, limit))
        for number, text in enumerate(texts)
    )
