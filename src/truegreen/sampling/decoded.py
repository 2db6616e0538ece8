# SPDX-License-Identifier: Apache-2.0
r"""Decoding of an answer: from its text to values, and to the texts in which something forbidden may hide.

What it decides: whether an answer is one JSON value, and which one. What it leaves: what the value should be, to
``expect``.

- The whole answer is parsed first and strictly: no key twice at any depth, no NaN, nothing before or after. A
  code fence is looked at only where the case allows one, and only if the whole is no JSON.
- Integers of any size are read exactly; a number that no double can hold is refused.
- Forbidden text is compared without regard to letter case, compatibility forms (NFKC) and invisible characters
  (format characters, variation selectors), in raw text, decoded texts and decoded keys.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterator
from typing import Any, NoReturn

from truegreen.core.canonical import Limits, read_json
from truegreen.core.errors import EvidenceProblem

LIMITS = Limits(max_bytes=4 * 1024 * 1024, max_depth=64)
"""How much of an answer is decoded."""
LONGEST_INTEGER = 1000
"""Digits of an integer that is still read, exactly."""
_VARIATION_SELECTORS = frozenset(
    {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x034F, *range(0x180B, 0x180F)}
)


def decode(output: str, *, may_be_fenced: bool) -> Any:
    """The value that the whole answer is.

    Raises: EvidenceProblem as ``read_json`` does; a lone surrogate is ``not-utf8``.
    """
    try:
        return _whole(output)
    except EvidenceProblem:
        inside = _inside_fence(output) if may_be_fenced else None
        if inside is None:
            raise
        return _whole(inside)


def second_key(output: str) -> str | None:
    """The first key that stands twice in one object of an answer that ``decode`` refused as ``duplicate-key``."""
    for text in (output, _inside_fence(output)):
        try:
            json.loads(text or "", object_pairs_hook=_refuse_second)
        except _SecondKeyError as found:
            return found.key
        except ValueError:
            continue
    return None


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text and every key in a decoded value, with the words for its place; depth is bounded by ``decode``."""
    if isinstance(value, str):
        yield f"decoded value of {path}" if path else "decoded value", value
    elif isinstance(value, dict):
        for key, inner in value.items():
            place = f"{path}.{key}" if path else key
            yield f"decoded key {place}", key
            yield from texts(inner, place)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from texts(inner, f"{path}[{number}]")


def folded(text: str) -> str:
    """The text as it is compared with forbidden ones."""
    if text.isascii():
        return text.casefold()
    composed = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(filter(_is_visible, composed))


def is_blank(text: str) -> bool:
    """Whether nothing in the text can be seen: white space and invisible characters only."""
    return not "".join(filter(_is_visible, text)).strip()


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) != "Cf" and ord(character) not in _VARIATION_SELECTORS


def _whole(text: str) -> Any:
    try:
        return read_json(_bytes(text), LIMITS)
    except EvidenceProblem as err:
        if err.code != "number-out-of-range":
            raise
        return _LargeNumbers(err).decode(text)


class _LargeNumbers:
    """Reads a text that ``read_json`` refused for a number: integers exactly, and all else as strictly.

    A record may not hold such an integer, since not every reader would keep it; an answer may, and it is judged
    by what it says.
    """

    def __init__(self, refused: EvidenceProblem) -> None:
        self._refused = refused

    def decode(self, text: str) -> Any:
        decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._fraction,
            parse_constant=self._constant,
        )
        try:
            value = decoder.decode(text)
        except json.JSONDecodeError as err:
            raise EvidenceProblem("not-json", f"not JSON at character {err.pos}") from err
        for _, inner in texts(value):
            _bytes(inner)
        return value

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) != len(pairs):
            raise EvidenceProblem("duplicate-key", "a name stands twice in one object", contradictory=True)
        return built

    def _integer(self, digits: str) -> int:
        if len(digits) > LONGEST_INTEGER:
            raise self._refused
        return int(digits)

    def _fraction(self, digits: str) -> float:
        number = float(digits)
        vanished = number == 0 and any(digit in "123456789" for digit in digits.lower().partition("e")[0])
        if vanished or not math.isfinite(number):
            raise self._refused
        return number

    def _constant(self, name: str) -> NoReturn:
        raise EvidenceProblem("not-json", f"{name} is no JSON number")


class _SecondKeyError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _refuse_second(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _SecondKeyError(key)
        seen.add(key)


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as err:
        raise EvidenceProblem("not-utf8", f"character {err.start} is half a character") from err


def _inside_fence(output: str) -> str | None:
    """What stands in the one code fence that the whole answer is, or None."""
    # Not splitlines: U+2028 and its like may stand raw inside a JSON text.
    lines = output.strip().split("\n")
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith("```")]
    if fences != [0, len(lines) - 1] or lines[-1].strip() != "```":
        return None
    return "\n".join(lines[1:-1]) if lines[0][3:].strip().lower() in ("", "json") else None
