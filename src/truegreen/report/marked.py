# SPDX-License-Identifier: Apache-2.0
"""Untrusted text in Markdown: always code, so that nothing in it links, mentions, renders or ends a fold.

What it decides: how a text stands in a paragraph, a table, a block or a fold's title. What it leaves: which text,
to ``markdown``.

- In a paragraph and a table: a code span whose fence is longer than any run of backticks inside; forges neither
  mention people nor link addresses in code.
- In a block: a fence longer than any run of backticks inside, of language ``text``.
- In the title of a fold, which is HTML: escaped, inside of ``<code>``.
- Everything is made harmless for a log first, since a page may be printed to one.

Source: GitHub Flavored Markdown, code spans, tables (a pipe is escaped even in code), fenced code blocks.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from truegreen.report.defused import cut, cut_middle, lines_of, plain, shell_word
from truegreen.report.sentence import Fact

SHOWN_CHARACTERS = 200
"""Of one untrusted value in a sentence or a cell."""
BLOCK_LINES = 12
BLOCK_COLUMNS = 500

_BACKTICKS = re.compile(r"`+")
_ONLY_WORDS = re.compile(r"[A-Za-z0-9%(),; -]*")


def code(text: str, *, in_table: bool = False) -> str:
    """The text as a code span; nothing for an empty one."""
    shown = cut_middle(plain(text), SHOWN_CHARACTERS)
    return _span(shown, in_table=in_table)


def command(text: str) -> str:
    """A command of ours, whose facts are quoted already, as a code span."""
    return _span(plain(text), in_table=False)


def cell(text: str) -> str:
    """The text as a code span in a table."""
    return code(text, in_table=True)


def words(text: str, *, in_table: bool = False) -> str:
    """Words that are ours if they look it; anything with another character is code."""
    return text if _ONLY_WORDS.fullmatch(text) else code(text, in_table=in_table)


def fact(_name: str, value: Fact) -> str:
    """A fact in a sentence."""
    return str(value) if isinstance(value, int) else code(value)


def shell_fact(_name: str, value: Fact) -> str:
    """A fact in a command."""
    return shell_word(cut(str(value), BLOCK_COLUMNS))


def title(text: str) -> str:
    """The text in the title of a fold."""
    return f"<code>{html.escape(cut_middle(plain(text), SHOWN_CHARACTERS))}</code>"


def fenced(texts: Iterable[str]) -> list[str]:
    """The lines of a fenced block; each text may have lines of its own."""
    lines = [cut(part, BLOCK_COLUMNS) for text in texts for part in lines_of(text)[:BLOCK_LINES]]
    fence = "`" * max(3, 1 + _longest_run(lines))
    return [f"{fence}text", *lines, fence]


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A table whose cells are Markdown already."""
    body = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *body] if body else []


def _span(shown: str, *, in_table: bool) -> str:
    if not shown.strip():
        return ""
    fence = "`" * (1 + _longest_run([shown]))
    edge = " " if shown[0] in "` " or shown[-1] in "` " or len(fence) > 1 else ""
    told = shown.replace("|", "\\|") if in_table else shown
    return f"{fence}{edge}{told}{edge}{fence}"


def _longest_run(texts: list[str]) -> int:
    return max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=0)
