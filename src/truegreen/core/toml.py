# SPDX-License-Identifier: Apache-2.0
"""Strict reading of a TOML file in which every problem can be shown with its line.

What it decides: which bytes are one TOML document, and what a problem in it looks like. What it leaves: the
meaning of keys, to the reader of each file.

- UTF-8 without byte order mark, no more than ``MAX_BYTES``, nested no deeper than ``toml_lines.MAX_DEPTH``.
- A place is believed only after proof: the scanner must have found exactly the keys that ``tomllib`` read, and
  the text at each place must read as the same value. Otherwise the file's name stands without a line; a wrong
  line is never shown.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted
from truegreen.core.toml_lines import Place, TomlPath, places_of

MAX_BYTES = 256 * 1024
"""Length of the largest file that is read, in bytes."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_AT = r"(?s)(?P<reason>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)"


class TomlFile(msgspec.Struct, frozen=True, kw_only=True):
    """One TOML document and where its keys stand."""

    name: str
    """The file's name as problems show it."""
    text: str
    """The document, as it was received."""
    root: dict[str, Any]
    """What it holds."""
    lines: dict[TomlPath, int]
    """Line of each key and element; empty if the places could not be proved."""

    def at(self, path: TomlPath) -> str:
        """``NAME:LINE`` of a path or of the nearest table around it; ``NAME`` alone for the whole document."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return f"{self.name}:{self.lines[path[:end]]}"
        return self.name

    def problem_at(self, path: TomlPath, code: str, sentence: str) -> UsageProblem:
        """What is wrong at a path, ready to raise or to collect."""
        return UsageProblem(code, f"{self.at(path)}: {sentence}")


def read_toml(data: bytes, name: str) -> TomlFile:
    """The document in ``data``.

    Raises: UsageProblem ``bad-toml``, with the line, for bytes that are no TOML document within the limits.
    """
    text = _text(data, name)
    with_lf = text.replace("\r\n", "\n")
    places = places_of(with_lf, name)
    try:
        root = tomllib.loads(text)
    except (ValueError, RecursionError) as err:  # ValueError: a number of more digits than Python reads
        raise _not_toml(str(err), with_lf, name) from err
    return TomlFile(name=name, text=text, root=root, lines=_proved(places, root))


def dotted(path: TomlPath) -> str:
    """A path as one writes it: ``lanes."a b".branches[0]``."""
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in path)
    return shown.removeprefix(".")


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) and len(name) <= 64 else quoted(name)  # noqa: PLR2004 - a lane's longest name


def _text(data: bytes, name: str) -> str:
    if len(data) > MAX_BYTES:
        raise UsageProblem("bad-toml", f"{name}: {len(data)} bytes, more than the {MAX_BYTES} that are read")
    if data.startswith(b"\xef\xbb\xbf"):
        raise UsageProblem("bad-toml", f"{name}:1: starts with a byte order mark, bytes ef bb bf")
    try:
        return data.decode()
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        raise UsageProblem(
            "bad-toml",
            f"{name}:{line}: byte {err.start} is 0x{data[err.start]:02x}, which is not UTF-8 there",
        ) from err


def _not_toml(reason: str, text: str, name: str) -> UsageProblem:
    found = re.fullmatch(_AT, reason)
    if not found:
        return UsageProblem("bad-toml", f"{name}: no TOML: {reason[:1].lower()}{reason[1:120]}")
    line = found["line"] or text.rstrip("\n").count("\n") + 1
    column = f" at column {found['column']}" if found["column"] else " where the file ends"
    reason = found["reason"]
    return UsageProblem("bad-toml", f"{name}:{line}: no TOML{column}: {reason[:1].lower()}{reason[1:200]}")


def _proved(places: dict[TomlPath, Place], root: dict[str, Any]) -> dict[TomlPath, int]:
    read = dict(_walk((), root))
    if read.keys() != places.keys() or not all(_agrees(places[path], value) for path, value in read.items()):
        return {}
    return {path: place.line for path, place in places.items()}


def _walk(path: TomlPath, value: Any) -> Iterator[tuple[TomlPath, Any]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*path, step), inner
        yield from _walk((*path, step), inner)


def _agrees(place: Place, value: Any) -> bool:
    if place.raw is None:
        return isinstance(value, (dict, list))
    if (
        isinstance(value, str)
        and place.raw == f'"{value}"'
        and value.isprintable()
        and not {*value} & {*'"\\'}
    ):
        return True  # the plainest spelling reads as itself
    try:
        again = tomllib.loads(f"v = {place.raw}")["v"]
    except tomllib.TOMLDecodeError:
        return False
    if isinstance(value, float) and math.isnan(value):
        return isinstance(again, float) and math.isnan(again)
    return type(again) is type(value) and bool(again == value)
