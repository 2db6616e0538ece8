# SPDX-License-Identifier: Apache-2.0
"""Strict reading of YAML written by people: values that every reader reads alike, each with its line.

What it decides: which bytes are plain values (mappings with text keys, lists, texts, numbers, booleans, null).
What it leaves: which keys a file may have, to the slice that owns the file.

- UTF-8, at most one byte order mark, bounded in bytes, depth and values (aliases counted where they are used).
- YAML 1.2 core schema. A plain scalar that YAML 1.1 reads as something else (``no``, ``1e3``, ``0o7``, ``1:30``,
  ``2026-01-01``) is refused, because half of all readers would disagree with us; quoting it settles the matter.
- Lines end with CR, LF or both. U+0085, U+2028 and U+2029, which YAML 1.1 takes for line ends, are refused; a
  lenient reader takes them for the ordinary characters that they are in 1.2.
- No key twice in one mapping, no tags, no directives, no merge keys, no infinities.
- Built from events, never from constructed objects: nothing in a file can make us create one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted

Path: TypeAlias = tuple[str | int, ...]
"""Keys and places from the root of a document to a value."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one file may ask of its reader."""

    max_bytes: int = 256 * 1024
    """Length of the file, in bytes."""
    max_depth: int = 32
    """Mappings and lists open at one place."""
    max_values: int = 20_000
    """Values in all documents together, each use of an alias counted with all that stands under its anchor."""
    max_digits: int = 40
    """Characters of a number."""


DEFAULT = Limits()


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One document of a file."""

    value: Any
    """dict with text keys, list, str, int, float, bool or None."""
    lines: dict[Path, int]
    """Path of a value to its line, counted from 1; values under an alias have the alias's line."""

    def line_of(self, path: Path) -> int:
        """Line of the value at ``path``, or of the nearest value above it."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


_CORE_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_CORE_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_OLD_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|_*[0-9][0-9_]*)")
_OLD_FLOAT = re.compile(r"(?:[-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9_]+)(?:[eE][-+][0-9]+)?")
_OLD_GROUPED = re.compile(
    r"(?=.*[0-9.])(?:[-+]?[0-9._]*_[0-9._]*(?:[eE][-+]?[0-9_]+)?|[-+]?[0-9._]+[eE][-+]?[0-9]*_[0-9_]*)"
    r"|[-+]0o[0-7_]+"
)
_OLD_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_OLD_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?")
_OLD_WORDS = frozenset(
    form for word in ("y", "n", "yes", "no", "on", "off") for form in (word, word.capitalize(), word.upper())
) | {"<<", "="}
_OLD_BREAK = re.compile("[\x85\u2028\u2029]")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_DIRECTIVE = re.compile(r"^%[^\r\n]*", re.MULTILINE)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    form: word == "true" for word in ("true", "false") for form in (word, word.capitalize(), word.upper())
}


def read_yaml(
    data: bytes, *, name: str, limits: Limits = DEFAULT, is_strict: bool = True, takes_dates: bool = False
) -> tuple[Document, ...]:
    """The documents of a YAML file; ``name`` is what messages call it.

    ``is_strict`` refuses scalars on which YAML 1.1 and 1.2 differ; without it the 1.2 reading is taken, and a
    key that is no text is taken as written. ``takes_dates`` takes a date or time without quotes as its text, for
    files of others in which dates are asked.

    Raises: UsageProblem ``bad-yaml`` for bytes that are no such file, ``yaml-two-readings`` for a scalar or a
    mapping that readers read differently; each names file and line.
    """
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415 - slow to import, not needed to gate

    try:
        text = _text(data, name, limits)
        stand_ins = _stand_ins(text, name, is_strict=is_strict)
        builder = _Builder(name, limits, stand_ins, is_strict=is_strict, takes_dates=takes_dates)
        return tuple(builder.documents(text.translate(stand_ins)))
    except MarkedYAMLError as err:
        line = err.problem_mark.line + 1 if err.problem_mark else 1
        raise _bad(name, line, f"no YAML: {err.problem or err.context or 'it cannot be parsed'}") from err
    except YAMLError as err:
        raise _bad(name, 1, f"no YAML: {quoted(str(err).splitlines()[0], 120)}") from err


def core_value(text: str) -> Any:
    """What a plain scalar means by the core schema of YAML 1.2 (§10.3.2)."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _CORE_INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _CORE_FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def is_number(text: str) -> bool:
    """Whether YAML 1.2 reads a plain scalar as a number, however long it is."""
    return bool(_CORE_INT.fullmatch(text) or _CORE_FLOAT.fullmatch(text))


def is_date(text: str) -> bool:
    """Whether YAML 1.1 reads a plain scalar as a date or a time."""
    return _OLD_TIME.fullmatch(text) is not None


def has_two_readings(text: str) -> bool:
    """Whether YAML 1.1 reads a plain scalar as something else than YAML 1.2 does."""
    if text in _NULLS or text in _BOOLEANS or _SPECIAL_FLOAT.fullmatch(text):
        return False
    if text in _OLD_WORDS or any(old.fullmatch(text) for old in (_OLD_GROUPED, _OLD_BASE_60, _OLD_TIME)):
        return True
    if _OLD_INT.fullmatch(text):
        sign_and_digits = text.lstrip("-+")
        is_old_octal = sign_and_digits.startswith("0") and len(sign_and_digits) > 1
        is_same_hex = text.startswith("0x") and "_" not in text
        return not is_same_hex and (is_old_octal or "_" in text)
    return is_number(text) is not bool(_OLD_FLOAT.fullmatch(text))


class _Open:
    """A mapping or list whose end has not been read."""

    def __init__(self, value: dict[str, Any] | list[Any], path: Path, anchor: str | None) -> None:
        self.value = value
        self.path = path
        self.anchor = anchor
        self.size = 1
        self.key: str | None = None
        self.key_line = 1

    @property
    def wants_key(self) -> bool:
        return isinstance(self.value, dict) and self.key is None


class _Builder:
    """Builds values from parser events, without recursion."""

    def __init__(
        self, name: str, limits: Limits, stand_ins: Mapping[int, int], *, is_strict: bool, takes_dates: bool
    ) -> None:
        self._name = name
        self._limits = limits
        self._originals = {stand_in: original for original, stand_in in stand_ins.items()}
        self._is_strict = is_strict
        self._takes_dates = takes_dates
        self._count = 0
        self._line = 1
        self._reset()

    def documents(self, text: str) -> Iterator[Document]:
        from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import, not needed to gate
        from ruamel.yaml import events as kinds  # noqa: PLC0415 - as above

        for event in YAML(typ="safe", pure=True).parse(text):
            self._line = event.start_mark.line + 1
            match event:
                case kinds.DocumentStartEvent():
                    self._reset()
                case kinds.DocumentEndEvent():
                    yield Document(value=self._root, lines=self._lines)
                case kinds.AliasEvent():
                    self._alias(event.anchor)
                case kinds.ScalarEvent():
                    self._refuse_tag(event.tag)
                    text_here = event.value.translate(self._originals)
                    self._scalar(text_here, event.anchor, is_plain=event.style is None)
                case kinds.MappingStartEvent() | kinds.SequenceStartEvent():
                    self._refuse_tag(event.tag)
                    value: dict[str, Any] | list[Any] = (
                        {} if isinstance(event, kinds.MappingStartEvent) else []
                    )
                    self._start(value, event.anchor)
                case kinds.MappingEndEvent() | kinds.SequenceEndEvent():
                    self._end()

    def _reset(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._lines: dict[Path, int] = {}
        self._root: Any = None

    def _scalar(self, text: str, anchor: str | None, *, is_plain: bool) -> None:
        if _HALF_CHARACTER.search(text):
            raise self._bad(f"{quoted(text)} holds half a character, which no UTF-8 can carry")
        if self._open and self._open[-1].wants_key:
            self._key(text, is_plain=is_plain)
            return
        value = self._plain(text) if is_plain else text
        self._add(value, 1)
        if anchor:
            self._anchors[anchor] = (value, 1)

    def _key(self, text: str, *, is_plain: bool) -> None:
        top = self._open[-1].value
        if is_plain and text == "<<":
            raise self._two_readings("a merge key << is read by YAML 1.1 only: write the keys out")
        if is_plain and self._is_strict and not isinstance(self._plain(text), str):
            raise self._two_readings(f"the key {quoted(text)} is no text: put it in quotes")
        if text in top:
            raise self._two_readings(f"the key {quoted(text)} stands twice in one mapping")
        self._open[-1].key, self._open[-1].key_line = text, self._line

    def _plain(self, text: str) -> Any:
        is_date_asked = self._takes_dates and is_date(text)
        if self._is_strict and has_two_readings(text) and not is_date_asked:
            raise self._two_readings(
                f"{quoted(text)} is read differently by YAML 1.1 and 1.2: put it in quotes"
            )
        if len(text) > self._limits.max_digits and is_number(text):
            raise self._bad(f"a number of {len(text)} characters, more than {self._limits.max_digits}")
        value = core_value(text)
        if self._is_strict and isinstance(value, float) and not math.isfinite(value):
            raise self._bad(f"{quoted(text)} is no finite number")
        return value

    def _alias(self, anchor: str) -> None:
        if anchor not in self._anchors:
            raise self._bad(f"the alias {quoted(anchor)} has no finished anchor before it")
        self._add(*self._anchors[anchor])

    def _start(self, value: dict[str, Any] | list[Any], anchor: str | None) -> None:
        if len(self._open) == self._limits.max_depth:
            raise self._bad(f"nested deeper than the {self._limits.max_depth} that are read")
        path = self._add(value, 1)
        self._open.append(_Open(value, path, anchor))

    def _end(self) -> None:
        ended = self._open.pop()
        if self._open:
            self._open[-1].size += ended.size - 1
        if ended.anchor:
            self._anchors[ended.anchor] = (ended.value, ended.size)

    def _add(self, value: Any, size: int) -> Path:
        """Put a value where it belongs and give its path."""
        self._count += size
        if self._count > self._limits.max_values:
            raise self._bad(f"more than the {self._limits.max_values} values that are read")
        path: Path = ()
        line = self._line
        if not self._open:
            self._root = value
        else:
            top = self._open[-1]
            line = self._line if isinstance(top.value, list) else top.key_line  # a person looks for the key
            path = self._add_to(top, value, size)
        self._lines[path] = line
        return path

    def _add_to(self, top: _Open, value: Any, size: int) -> Path:
        top.size += size
        if isinstance(top.value, list):
            top.value.append(value)
            return (*top.path, len(top.value) - 1)
        if top.key is None:
            raise self._bad("a key is a mapping, a list or an alias, only texts are keys")
        path = (*top.path, top.key)
        top.value[top.key], top.key = value, None
        return path

    def _refuse_tag(self, tag: str | None) -> None:
        if tag:
            raise self._bad(f"the tag {quoted(tag)}: tags are not read, write a plain or quoted value")

    def _bad(self, sentence: str) -> UsageProblem:
        return _bad(self._name, self._line, sentence)

    def _two_readings(self, sentence: str) -> UsageProblem:
        return UsageProblem("yaml-two-readings", f"{self._name}:{self._line}: {sentence}")


def _text(data: bytes, name: str, limits: Limits) -> str:
    if len(data) > limits.max_bytes:
        raise _bad(name, 1, f"{len(data)} bytes, more than the {limits.max_bytes} that are read")
    try:
        text = data.decode()
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        raise _bad(
            name, line, f"byte {err.start} is 0x{data[err.start]:02x}, which is not UTF-8 there"
        ) from err
    text = text.removeprefix("\ufeff")
    if text.startswith("\ufeff"):
        raise _bad(name, 1, "more than one byte order mark at the start: the second would be content")
    directive = _DIRECTIVE.search(text)
    if directive:
        line = text.count("\n", 0, directive.start()) + 1
        raise _bad(name, line, f"the directive {quoted(directive[0], 40)}: directives are not read")
    return text


def _stand_ins(text: str, name: str, *, is_strict: bool) -> dict[int, int]:
    """For each character that only YAML 1.1 takes for a line end, one that the text does not have.

    The parser takes these characters for line ends in some places and not in others.
    """
    found = _OLD_BREAK.search(text)
    if found is None:
        return {}
    if is_strict:
        line = text.count("\n", 0, found.start()) + 1
        sentence = f"{quoted(found[0])} ends a line for YAML 1.1 only: write it as an escape in double quotes"
        raise UsageProblem("yaml-two-readings", f"{name}:{line}: {sentence}")
    unused = (code for code in range(0xE000, 0xF900) if chr(code) not in text)
    return {ord(original): stand_in for original, stand_in in zip("\x85\u2028\u2029", unused, strict=False)}


def _bad(name: str, line: int, sentence: str) -> UsageProblem:
    return UsageProblem("bad-yaml", f"{name}:{line}: {sentence}")
