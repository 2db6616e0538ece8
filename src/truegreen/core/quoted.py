# SPDX-License-Identifier: Apache-2.0
"""How a value that we were given is shown inside one of our sentences.

What it decides: which characters of foreign text may reach a terminal, a log or a page as they are. What it
leaves: the escaping that a forge's log or Markdown asks for, to the reports.

- The value stands in double quotes, so that its ends are seen.
- Control characters, terminal escapes, line ends, bidirectional marks, unassigned and private code points and
  lone surrogates are written as escapes; so are the quote and the backslash.
- A long value is cut and says how long it was.
- ``plainly`` leaves out quotes and keeps quotes and backslashes inside, for text that is a sentence of its own.
"""

from __future__ import annotations

SHOWN_CHARACTERS = 80
"""Characters of a value that a message shows before it is cut."""


_ESCAPED_BYTES = range(0xDC80, 0xDD00)
"""What Python's ``surrogateescape`` puts in place of a byte that is not UTF-8 (PEP 383)."""

_ONE_BYTE = range(0x100)


def quoted(value: str | bytes, limit: int = SHOWN_CHARACTERS) -> str:
    r"""The value in double quotes, defused, at most ``limit`` characters of it.

    Bytes are read as UTF-8; a byte that is not UTF-8 shows as ``\xNN``.
    """
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    shown = "".join(
        "\\" + character if character in '"\\' else _shown(character) for character in text[:limit]
    )
    return f'"{shown}"{_rest(text, limit)}'


def plainly(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """The text defused and not in quotes, at most ``limit`` characters of it."""
    return "".join(map(_shown, text[:limit])) + _rest(text, limit)


def _rest(text: str, limit: int) -> str:
    return f"… ({len(text)} characters)" if len(text) > limit else ""


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    number = ord(character)
    if number in _ESCAPED_BYTES:
        number -= 0xDC00
    return f"\\x{number:02x}" if number in _ONE_BYTE else f"\\u{{{number:x}}}"
