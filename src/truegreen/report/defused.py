# SPDX-License-Identifier: Apache-2.0
"""Untrusted text made harmless: for a terminal, a log that a runner reads, and a shell.

What it decides: which characters of a case id, a detail or a file name are shown as they are, and where a text may
be cut. What it leaves: Markdown and annotations, which escape on top of this.

- One line: control characters, terminal escapes, line ends, direction marks and other invisible characters are shown
  as escapes; any other space is a space.
- Neither syntax of workflow commands survives: ``##[`` counts anywhere in a line, ``::name`` at its beginning.
- A cut leaves an ellipsis, prefers the end of a word and never parts a character from what modifies it.

Source: actions/runner, ActionCommand (both syntaxes); Unicode Standard Annex 29 for what must stay together.
"""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "…"
_COMMANDS = (
    "add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|notice|remove-matcher|save-state|set-env"
    "|set-output|stop-commands|warning"
)
"""Workflow commands of actions/runner; those of other runners begin their line too."""
_SECOND_SYNTAX = re.compile(rf":{{2,}}(?=(?:{_COMMANDS})(?![\w-]))|(?:(?<=\s)|\A):{{2,}}", re.IGNORECASE)
_SURROGATE_BYTES = range(0xDC80, 0xDD00)
_EMOJI_MODIFIERS = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_HANGUL_TAILS = range(0x1160, 0x1200)
_KEPT_OF_A_CUT = 2 / 3


def plain(text: str) -> str:
    """The text on one line, with nothing in it that a terminal or a runner obeys."""
    shown = "".join(char if char.isprintable() else _escape(char) for char in text)
    return _SECOND_SYNTAX.sub(_parted, shown.replace("##[", "##\\["))


def lines_of(text: str) -> tuple[str, ...]:
    """The lines of a text, each on its own made harmless."""
    return tuple(plain(line) for line in re.split(r"\r\n|\n|\r", text))


def shell_word(text: str) -> str:
    """The text as one argument of a POSIX shell, harmless on the screen too, and never an option."""
    import shlex  # noqa: PLC0415 - only explanations name commands

    word = plain(text)
    return shlex.quote(f"./{word}" if word.startswith("-") else word)


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters (code points) of the text, with an ellipsis if something is missing."""
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    end = _whole(text, limit - 1)
    word_end = text.rfind(" ", int(end * _KEPT_OF_A_CUT), end + 1)
    kept = text[:word_end] if word_end > 0 else text[:end]
    return kept.rstrip() + ELLIPSIS


def cut_middle(text: str, limit: int) -> str:
    """As ``cut``, but keeping both ends: the end of an id tells it from its neighbours."""
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    front = _whole(text, (limit - 1 + 1) // 2)
    back = len(text) - (limit - 1 - front)
    while back < len(text) and _clings(text, back):
        back += 1
    return text[:front] + ELLIPSIS + text[back:]


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(_cells(char) for char in text)


def padded(text: str, columns: int) -> str:
    """The text with spaces behind it up to a width in terminal columns."""
    return text + " " * (columns - cells(text))


def _parted(colons: re.Match[str]) -> str:
    return "\\".join(colons[0])


def _escape(char: str) -> str:
    if unicodedata.category(char) == "Zs":
        return " "
    number = ord(char)
    if number in _SURROGATE_BYTES:  # a byte that is not UTF-8 (PEP 383)
        return f"\\x{number - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


def _whole(text: str, end: int) -> int:
    """The nearest place at or before ``end`` where the text may be cut."""
    while end > 0 and _clings(text, end):
        end -= 1
    return end


def _clings(text: str, index: int) -> bool:
    """Whether the character at ``index`` belongs to the one before it."""
    char = text[index]
    number = ord(char)
    if unicodedata.category(char).startswith("M") or number in _EMOJI_MODIFIERS or number in _HANGUL_TAILS:
        return True
    if number in _FLAG_LETTERS:
        start = index
        while start > 0 and ord(text[start - 1]) in _FLAG_LETTERS:
            start -= 1
        return (index - start) % 2 == 1
    return False


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
