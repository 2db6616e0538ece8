# SPDX-License-Identifier: Apache-2.0
"""Strict reading and canonical writing of JSON: the one way bytes become values here, and back.

What it decides: which bytes are one JSON value that every reader reads alike, and the one form in which a value
is written (RFC 8785). What it leaves: what the value means, to the schema of its kind.

- UTF-8 without byte order mark; a lone surrogate is refused, raw or as an escape.
- One value and nothing after it; never empty, never larger or deeper than the limits. Depth is measured before
  anything recurses.
- No name twice in one object, at any depth: such a text has two readings, so it contradicts itself.
- No NaN and no Infinity; integers within ±(2^53-1); a fraction or exponent must give a finite double and may not
  vanish to zero.
- Numbers are values, not spellings (RFC 8785 §3.2.2.3): ``1.0`` and ``1e0`` read as the integer 1, ``-0`` as 0.
  A whole number of 2^53 or more that canonical form would write as plain digits is refused both ways, since its
  digits would be refused when read again.
"""

from __future__ import annotations

import json
import re
from array import array
from itertools import accumulate, chain
from math import isfinite
from typing import Any, NoReturn

import msgspec

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer that a double holds exactly together with its neighbours (RFC 7493 §2.2)."""

PLAIN_DIGITS_BELOW = 1e21
"""Doubles below this are written without exponent by RFC 8785 (ECMA-262, Number::toString)."""

WRITTEN_ALIKE_FROM = 1e-4
"""From here on the shortest digits of a double with a fraction stand without exponent, in ``repr`` and in RFC 8785."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one JSON text may ask of its reader."""

    max_bytes: int = 16 * 1024 * 1024
    """Length of the text, in bytes."""

    max_depth: int = 64
    """Arrays and objects open at one place; a lone scalar has depth 0."""


DEFAULT = Limits()


class Spelled(msgspec.Struct, frozen=True):
    """A number as its text spells it, for readers to whom ``1``, ``1.0`` and ``1e0`` are three things."""

    text: str
    """The token: JSON's grammar, any length, any size."""


_LONGEST_INTEGER = len(str(-MAX_SAFE_INTEGER))
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'"[]{}'))
_STEP = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_SURROGATE_HINTS = (rb"\ud", rb"\uD")
_ESCAPE = r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
_PIECE = r'(?P<name>"(?:[^"\\]|\\.)*+")(?P<colon>[ \t\r\n]*+:)?|[\[\]{}]'


def read_json(data: bytes, limits: Limits = DEFAULT) -> Any:
    """The one value that the text means: dict, list, str, int, float, bool or None.

    Raises: EvidenceProblem ``too-large``, ``empty``, ``byte-order-mark``, ``not-utf8``, ``too-deep``,
    ``duplicate-key`` (contradictory), ``number-out-of-range`` or ``not-json``; nothing else, whatever the bytes.
    """
    return _read(data, limits, _decoder)


def read_spelled(data: bytes, limits: Limits = DEFAULT) -> Any:
    """As ``read_json``, with every number as ``Spelled`` and so never out of range.

    Raises: EvidenceProblem as ``read_json``, but for ``number-out-of-range``.
    """
    return _read(data, limits, _spelling_decoder)


def _read(data: bytes, limits: Limits, decoder: json.JSONDecoder) -> Any:
    text = _text(data, limits)
    _check_depth(data, limits)
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as err:
        raise EvidenceProblem(
            "not-json", f"not JSON at {_place(text, err.pos)}: {_reason(text, err.pos)}"
        ) from err
    except _SecondKeyError as err:
        raise _duplicate(text) from err
    if any(hint in data for hint in _SURROGATE_HINTS):
        _check_surrogates(text)
    return value


def write_json(value: Any, limits: Limits = DEFAULT) -> bytes:
    """The canonical bytes of a value (RFC 8785), exactly: no line end follows.

    Takes dict with text keys, list, tuple, str, int, float, bool and None, and no subclass of these.

    Raises: EvidenceProblem ``number-out-of-range``, ``not-utf8``, ``too-deep`` or ``not-json`` for a value that has no
    canonical form which ``read_json`` reads back.
    """
    is_simple, has_whole_doubles = _looked_through(value, limits)
    if is_simple:
        try:
            return _encoder.encode(_with_integers(value) if has_whole_doubles else value).encode()
        except UnicodeEncodeError as err:
            raise _lone_surrogate() from err
    import rfc8785  # noqa: PLC0415 - few values need it, and the gate's line should come soon

    try:
        return rfc8785.dumps(value)
    except (UnicodeEncodeError, rfc8785.CanonicalizationError) as err:
        raise _lone_surrogate() from err


def is_canonical(data: bytes, limits: Limits = DEFAULT) -> bool:
    """Whether the bytes are the canonical form of the value that they hold.

    Raises: EvidenceProblem as ``read_json`` when they hold no value.
    """
    return write_json(read_json(data, limits)) == data


class _SecondKeyError(Exception):
    """An object that just closed names something twice; the place is found afterwards."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise _SecondKeyError
    return built


def _integer(digits: str) -> int:
    if len(digits) <= _LONGEST_INTEGER and abs(number := int(digits)) <= MAX_SAFE_INTEGER:
        return number
    raise _out_of_range(f"the integer {quoted(digits)} is outside ±{MAX_SAFE_INTEGER}")


def _fraction(digits: str) -> int | float:
    number = float(digits)
    if number == 0 and any(digit in "123456789" for digit in re.split("[eE]", digits)[0]):
        raise _out_of_range(f"the number {quoted(digits)} is too small for a double and would vanish to 0")
    _check_double(number, quoted(digits))
    return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number


def _constant(name: str) -> NoReturn:
    raise EvidenceProblem("not-json", f"{name} is no JSON number")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction, parse_constant=_constant
)
_spelling_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=Spelled, parse_float=Spelled, parse_constant=_constant
)
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _check_double(number: float, shown: str) -> None:
    if not isfinite(number):
        raise _out_of_range(f"the number {shown} is not a finite double")
    if number.is_integer() and MAX_SAFE_INTEGER < abs(number) < PLAIN_DIGITS_BELOW:
        raise _out_of_range(f"the whole number {shown} is outside ±{MAX_SAFE_INTEGER}")


def _lone_surrogate() -> EvidenceProblem:
    return EvidenceProblem("not-utf8", "a text holds a lone surrogate, which no UTF-8 can carry")


def _out_of_range(sentence: str) -> EvidenceProblem:
    return EvidenceProblem("number-out-of-range", sentence)


def _text(data: bytes, limits: Limits) -> str:
    if len(data) > limits.max_bytes:
        raise EvidenceProblem(
            "too-large", f"{len(data)} bytes of JSON, more than the {limits.max_bytes} that are read"
        )
    if not data.strip(b" \t\r\n"):
        raise EvidenceProblem("empty", f"no JSON value in {len(data)} bytes")
    if data.startswith(_MARKS):
        raise EvidenceProblem(
            "byte-order-mark", f"the text starts with a byte order mark, bytes {data[:4].hex(' ')}"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as err:
        raise EvidenceProblem(
            "not-utf8", f"byte {err.start} is 0x{data[err.start]:02x}, which is not UTF-8 there"
        ) from err


def _check_depth(data: bytes, limits: Limits) -> None:
    """Measure nesting by deleting what is no structure; exact up to the first place that is not JSON."""
    if data.count(b"[") + data.count(b"{") <= limits.max_depth:
        return
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    structure = data.translate(None, _NOT_STRUCTURE).replace(b'""', b"")
    outside_strings = b"".join(structure.split(b'"')[::2])
    depth = max(accumulate(array("b", outside_strings.translate(_STEP))), default=0)
    if depth > limits.max_depth:
        raise EvidenceProblem(
            "too-deep", f"nested {depth} deep, more than the {limits.max_depth} that are read"
        )


def _check_surrogates(text: str) -> None:
    for escape in re.finditer(_ESCAPE, text):
        if escape[1]:
            raise EvidenceProblem(
                "not-utf8",
                f"the escape {quoted(escape[0])} at {_place(text, escape.start())} is half a character",
            )


def _duplicate(text: str) -> EvidenceProblem:
    key, first, second = _second_key(text)
    return EvidenceProblem(
        "duplicate-key",
        f"the name {quoted(key)} stands twice in one object, at {_place(text, first)} and {_place(text, second)}",
        contradictory=True,
    )


def _second_key(text: str) -> tuple[str, int, int]:
    """The first name that its object already has, and both places; the text is known to have one and to be JSON up to it."""
    open_objects: list[dict[str, int]] = []
    tokens = re.finditer(_PIECE, text)
    while True:
        token = next(tokens)
        if token[0] in "[{":
            open_objects.append({})
        elif token[0] in "]}":
            open_objects.pop()
        elif token["colon"]:
            key = _decoder.decode(token["name"])
            first = open_objects[-1].setdefault(key, token.start())
            if first != token.start():
                return key, first, token.start()


def _place(text: str, position: int) -> str:
    line_start = text.rfind("\n", 0, position) + 1
    return f"line {text.count(chr(10), 0, position) + 1} column {position - line_start + 1}"


def _reason(text: str, position: int) -> str:
    rest = text[position:].strip(" \t\r\n")
    return f"found {quoted(rest, 20)}" if rest else "the text ends before the value does"


def _looked_through(value: Any, limits: Limits) -> tuple[bool, bool]:
    """Whether the C encoder writes the canonical form once whole doubles are integers, and whether there are such.

    It does where every name is ASCII, so that all orders agree, and where Python writes every double as RFC 8785.

    Walks level by level, so that a value that cannot be written is refused before anything recurses.
    """
    simple, whole_doubles = True, False
    level = [value]
    for _ in range(limits.max_depth + 1):
        containers: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str or kind is bool or item is None:
                continue
            if kind is list or kind is tuple:
                containers.append(item)
            elif kind is dict:
                simple &= _has_ascii_names(item)
                containers.append(item.values())
            elif kind is int:
                _check_integer(item)
            elif kind is float:
                _check_double(item, repr(item))
                whole_doubles |= item.is_integer()
                simple &= (
                    abs(item) <= MAX_SAFE_INTEGER if item.is_integer() else abs(item) >= WRITTEN_ALIKE_FROM
                )
            else:
                raise EvidenceProblem("not-json", f"a value of type {kind.__name__} has no JSON form")
        if not containers:
            return simple, whole_doubles
        level = list(chain.from_iterable(containers))
    raise EvidenceProblem(
        "too-deep", f"a value is nested deeper than the {limits.max_depth} that are read back"
    )


def _with_integers(value: Any) -> Any:
    """The value with every whole double as the integer that it is; its depth is known to be bounded."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {name: _with_integers(item) for name, item in value.items()}
        case list() | tuple():
            return [_with_integers(item) for item in value]
    return value


def _has_ascii_names(item: dict[Any, Any]) -> bool:
    for name in item:
        if type(name) is not str:
            raise EvidenceProblem("not-json", f"an object is named by {quoted(repr(name))}, which is no text")
    return all(map(str.isascii, item))


def _check_integer(number: int) -> None:
    if abs(number) > MAX_SAFE_INTEGER:
        raise _out_of_range(f"an integer of {number.bit_length()} bits is outside ±{MAX_SAFE_INTEGER}")
