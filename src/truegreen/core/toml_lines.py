# SPDX-License-Identifier: Apache-2.0
"""On which line of a TOML text each key and each element stands.

What it decides: places, and how deep a text may nest. What it leaves: whether the text is TOML and what it
means, to ``tomllib``; proving that each place is right, to ``toml``.

- A path is a tuple of names and of indices into arrays: ``("lanes", "a", "branches", 0)``.
- Lines count from 1. A table that is only implied (``[a.b]`` implies ``a``) stands where it is first implied,
  one that has a header of its own stands at its header.
- The scanner never raises over a text that is not TOML: it gives no places, and ``tomllib`` says why.
- Depth is measured before anything recurses, so that a hostile text cannot exhaust the stack.
"""

from __future__ import annotations

import re
import tomllib

import msgspec

from truegreen.core.errors import UsageProblem

TomlPath = tuple[str | int, ...]

MAX_DEPTH = 16
"""Names and indices in one path; a policy needs four."""

_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\[^\n])*+\"|'[^'\n]*'")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*+"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*+'{3,5}"
    r'|"(?:[^"\\\n]|\\[^\n])*+"'
    r"|'[^'\n]*'"
)
_BARE = re.compile(r"[^\s,\[\]{}#\"'][^,\]}#\n]*")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a key or element stands."""

    line: int
    """Its line, counted from 1."""
    raw: str | None
    """The text of a plain value, so that it can be compared with what was read; null for tables and arrays."""


def places_of(text: str, name: str) -> dict[TomlPath, Place]:
    """The place of every table, key and element of a text with LF line ends; empty if it cannot be followed.

    Raises: UsageProblem ``bad-toml`` for a text that nests deeper than ``MAX_DEPTH``.
    """
    scanner = _Scanner(text, name)
    try:
        scanner.document()
    except _LostError:
        return {}
    return scanner.places


class _LostError(Exception):
    """The text is not TOML as far as this scanner knows it."""


class _Scanner:
    """One walk through one text; ``at`` is the index of the next character."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.at = 0
        self.line = 1
        self.line_at = 0
        self.places: dict[TomlPath, Place] = {}
        self.lengths: dict[TomlPath, int] = {}

    def document(self) -> None:
        table: TomlPath = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text.startswith("[[", self.at):
                table = self.element_header()
            elif self.text.startswith("[", self.at):
                table = self.header()
            else:
                self.pair(self.resolved(table))
            self.end_of_line()

    def header(self) -> TomlPath:
        self.at += 1
        path = self.named(self.key())
        self.expect("]")
        self.note(path, again=True)
        return path

    def element_header(self) -> TomlPath:
        self.at += 2
        *parents, last = self.key()
        array = (*self.resolved(self.named(tuple(parents))), last)
        self.expect("]]")
        index = self.lengths.get(array, 0)
        self.lengths[array] = index + 1
        self.note(array)
        self.note((*array, index))
        return array

    def pair(self, table: TomlPath) -> None:
        names = self.key()
        for end in range(1, len(names)):
            self.note((*table, *names[:end]))
        self.expect("=")
        self.skip(_SPACE)
        self.value((*table, *names))

    def value(self, path: TomlPath) -> None:
        self.check_depth(path)
        opening = self.text[self.at : self.at + 1]
        if opening == "[":
            self.note(path)
            self.array(path)
        elif opening == "{":
            self.note(path)
            self.inline_table(path)
        else:
            line = self.line_now()
            raw = self.skip(_STRING if opening in ('"', "'") else _BARE)
            self.places[path] = Place(line=line, raw=raw.strip())

    def array(self, path: TomlPath) -> None:
        self.at += 1
        index = 0
        self.skip(_BLANK)
        while not self.taken("]"):
            self.value((*path, index))
            index += 1
            self.skip(_BLANK)
            if not self.taken(","):
                self.expect("]")
                return
            self.skip(_BLANK)

    def inline_table(self, path: TomlPath) -> None:
        self.at += 1
        self.skip(_BLANK)
        while not self.taken("}"):
            self.pair(path)
            self.skip(_BLANK)
            if not self.taken(","):
                self.expect("}")
                return
            self.skip(_BLANK)

    def key(self) -> tuple[str, ...]:
        names: list[str] = []
        while True:
            self.skip(_SPACE)
            names.append(_decoded(self.skip(_KEY_PART)))
            self.check_depth(tuple(names))
            self.skip(_SPACE)
            if not self.taken("."):
                return tuple(names)

    def named(self, names: tuple[str, ...]) -> TomlPath:
        """The path of a header's names, noting every table that it implies."""
        path: TomlPath = ()
        for name in names:
            path = (*self.resolved(path), name)
            self.note(path)
        return path

    def resolved(self, path: TomlPath) -> TomlPath:
        """The path itself, or its newest element if it is an array of tables."""
        return (*path, self.lengths[path] - 1) if path in self.lengths else path

    def note(self, path: TomlPath, *, again: bool = False) -> None:
        self.check_depth(path)
        if again or path not in self.places:
            self.places[path] = Place(line=self.line_now(), raw=None)

    def check_depth(self, path: TomlPath) -> None:
        if len(path) > MAX_DEPTH:
            raise UsageProblem(
                "bad-toml",
                f"{self.name}:{self.line_now()}: nested {len(path)} deep, more than the {MAX_DEPTH} that are read",
            )

    def line_now(self) -> int:
        """The line of ``at``, which never moves back."""
        self.line += self.text.count("\n", self.line_at, self.at)
        self.line_at = self.at
        return self.line

    def skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            raise _LostError
        self.at = found.end()
        return found[0]

    def taken(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def expect(self, mark: str) -> None:
        self.skip(_SPACE)
        if not self.taken(mark):
            raise _LostError

    def end_of_line(self) -> None:
        before = self.at
        self.skip(_BLANK)
        if self.at < len(self.text) and "\n" not in self.text[before : self.at]:
            raise _LostError


def _decoded(raw: str) -> str:
    """A key part as it is meant; quotes and escapes are read by ``tomllib`` itself."""
    if raw[0] not in "\"'":
        return raw
    try:
        (name,) = tomllib.loads(f"{raw} = 0")
    except tomllib.TOMLDecodeError as err:
        raise _LostError from err
    return name
