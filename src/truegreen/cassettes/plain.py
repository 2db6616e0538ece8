# SPDX-License-Identifier: Apache-2.0
"""JSON values with spelled numbers, as plain JSON that RFC 8785 can write without losing a type.

What it decides: one plain form for each value, so that two values with one form are the same. What it leaves:
which values are keyed, to ``request``; the digest, to ``key``.

- RFC 8785 writes ``0.0`` as ``0`` and ``1e2`` as ``100``, and refuses integers beyond 2^53. A number that it would
  not give back with its type stands as ``{"$number": "0.0"}``. Integers keep every digit; other numbers are the
  exact decimal, so that ``1.50`` is ``1.5``, and ``1e2`` is ``100.0`` and not ``100``.
- A name that begins with ``$`` gets a second one, so that no value can be mistaken for such a mark.
- For files (``lines=True``) a text that is long or has line ends stands as ``{"$text": [piece, …]}``; its pieces
  joined are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from truegreen.core.canonical import MAX_SAFE_INTEGER, Spelled
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

PIECE = 100
"""Longest piece of a text that a file holds on one line, in characters."""

LONGEST_NORMALISED = 400
"""A longer number stands as it is spelled, in characters."""

_WRITTEN_OUT = 21
"""Whole decimals of up to so many digits are written out, as RFC 8785 would."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SAFE_DIGITS = len(str(-MAX_SAFE_INTEGER))


class Ignored(msgspec.Struct, frozen=True):
    """Stands where a declared volatile element of a list was."""


def plain(value: Any, *, lines: bool = False) -> Any:
    """The plain form of a value that ``read_spelled`` gave."""
    match value:
        case Spelled():
            return _number(value.text)
        case Ignored():
            return {"$ignored": True}
        case str():
            return {"$text": list(pieces(value))} if lines and _is_long(value) else value
        case dict():
            return {_escaped(name): plain(item, lines=lines) for name, item in value.items()}
        case list() | tuple():
            return [plain(item, lines=lines) for item in value]
    return value


def value_of(form: Any) -> Any:
    """The value behind a plain form: ``plain`` undone.

    Raises: EvidenceProblem ``cassette-shape`` for a form that no value has.
    """
    match form:
        case bool() | None | str():
            return form
        case int() | float():
            return Spelled(repr(form))
        case list():
            return [value_of(item) for item in form]
        case dict():
            return _object(form)
    raise _no_form(repr(type(form)))


def by_value(value: Any) -> Any:
    """The value with every number that is whole as its integer: ``1``, ``1.0`` and ``1e0`` become one, as ``-0`` and 0.

    For endpoints whose clients write one number in several ways; whoever asks for it gives up the difference.
    """
    match value:
        case Spelled() if len(value.text) <= LONGEST_NORMALISED:
            sign, digits, exponent = decimal_of(value.text)
            if not digits:
                return Spelled("0")
            is_written_out = 0 <= exponent <= LONGEST_NORMALISED
            return Spelled(f"{sign}{digits}{'0' * exponent}") if is_written_out else value
        case dict():
            return {name: by_value(item) for name, item in value.items()}
        case list():
            return [by_value(item) for item in value]
    return value


def pieces(text: str) -> Iterator[str]:
    """The text in pieces that end after a line end, after a space, or where they are full."""
    for line in _LINE.findall(text):
        yield from _cut(line)


def _object(form: dict[str, Any]) -> Any:
    if "$number" in form or "$text" in form:
        return _mark(form)
    if any(name.startswith("$") and not name.startswith("$$") for name in form):
        raise _no_form(next(name for name in form if name.startswith("$")))
    return {name[name.startswith("$") :]: value_of(item) for name, item in form.items()}


def _mark(form: dict[str, Any]) -> Any:
    match form:
        case {"$number": str(text)} if len(form) == 1 and _is_number(text):
            return Spelled(text)
        case {"$text": list(parts)} if len(form) == 1 and all(isinstance(part, str) for part in parts):
            return "".join(parts)
    raise _no_form(", ".join(form))


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-").replace(".", "", 1).replace("e", "", 1).replace("E", "", 1)
    return digits.replace("-", "", 1).replace("+", "", 1).isdecimal() and digits.isascii()


def _no_form(shown: str) -> EvidenceProblem:
    return EvidenceProblem("cassette-shape", f"{quoted(shown)} marks no value that a cassette can hold")


def _escaped(name: str) -> str:
    return f"${name}" if name.startswith("$") else name


def _is_long(text: str) -> bool:
    return len(text) > PIECE or "\n" in text


def _cut(line: str) -> Iterator[str]:
    start = 0
    while len(line) - start > PIECE:
        end = line.rfind(" ", start, start + PIECE) + 1 or start + PIECE
        yield line[start:end]
        start = end
    yield line[start:]


def _number(text: str) -> Any:
    if not {".", "e", "E"} & set(text):
        is_safe = len(text) <= _SAFE_DIGITS and abs(int(text)) <= MAX_SAFE_INTEGER and text != "-0"
        return int(text) if is_safe else {"$number": text}
    if len(text) > LONGEST_NORMALISED:
        return {"$number": text}
    sign, digits, exponent = decimal_of(text)
    if not digits:
        return {"$number": f"{sign}0.0"}
    if exponent >= 0:
        is_short = len(digits) + exponent <= _WRITTEN_OUT
        return {"$number": f"{sign}{digits}{'0' * exponent}.0" if is_short else f"{sign}{digits}e{exponent}"}
    double = float(text)
    if double and decimal_of(repr(double)) == (sign, digits, exponent):
        return double
    return {"$number": f"{sign}{digits}e{exponent}"}


def decimal_of(text: str) -> tuple[str, str, int]:
    """A number's sign, its digits without zeros around them, and the power of ten they are multiplied with."""
    sign = "-" if text.startswith("-") else ""
    mantissa, _, power = text.removeprefix("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(power or 0) - len(fraction)
    digits = (whole + fraction).lstrip("0")
    bare = digits.rstrip("0")
    return sign, bare, exponent + len(digits) - len(bare)
