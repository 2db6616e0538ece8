# SPDX-License-Identifier: Apache-2.0
"""The shapes that a value in a configuration file may have: what is asked, in words and as JSON Schema.

What it decides: whether a value has the type that is asked and, if so, whether it is one of those allowed. What
it leaves: which key has which shape, to the table of that file.

- Words, check and schema of a shape stand together, so that documentation, reader and schema cannot part.
- ``true`` is no number, ``5.0`` no whole number, and a text is no list of one.
- What a text may hold is said as ordered rules, so that a problem names the rule that was broken.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec

from truegreen.core import names
from truegreen.core.errors import UsageProblem
from truegreen.core.instants import is_instant
from truegreen.core.quoted import quoted

SHOWN_CHARACTERS = 40
"""Longest written form of a number or a date that a problem shows, in characters, before it is cut."""
LONGEST_BITS = 128
"""Longest whole number that a problem writes out."""
_PASSWORD: Final = re.compile(r"://[^/\s]*@")


def is_nfc(text: str) -> bool:
    """Whether a text is in Unicode normal form C."""
    return unicodedata.is_normalized("NFC", text)


def is_path_pattern(text: str) -> bool:
    """Whether a text is a pattern of paths as ``names`` reads it."""
    try:
        names.matches(text, "")
    except UsageProblem:
        return False
    return True


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "instant": is_instant,
    "nfc": is_nfc,
    "path-pattern": is_path_pattern,
}
"""What the JSON Schemas mean by a ``format`` of ours."""


class Wrong(msgspec.Struct, frozen=True, kw_only=True):
    """Why a value is refused."""

    is_type: bool
    """Whether its type is wrong, rather than the value."""
    asked: str
    """What is asked instead, in words."""
    steps: tuple[int, ...] = ()
    """Where in the value, if it is a list."""


class Shape(Protocol):
    """One shape."""

    def wrong(self, value: Any) -> Wrong | None:
        """Why a value as ``tomllib`` gives it is refused, or None."""
        ...

    def words(self) -> str:
        """What is asked, for a sentence and for the documentation."""
        ...

    def schema(self) -> dict[str, Any]:
        """The shape as JSON Schema 2020-12."""
        ...


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule about a text."""

    asked: str
    """What it asks, in words that end the sentence "… is asked"."""
    pattern: str = ""
    """What the whole text must match: an expression that Python, ECMA 262 and Rust read alike."""
    format: str = ""
    """A name of ``FORMATS``, for what no such expression can say; stands instead of ``pattern``."""

    def allows(self, text: str) -> bool:
        """Whether a text keeps the rule."""
        if self.format:
            return FORMATS[self.format](text)
        return _compiled(self.pattern).fullmatch(text) is not None


LINE = Rule(
    pattern=r"(?! )[^\x00-\x1f\x7f-\x9f\u2028\u2029]*(?<! )",
    asked="a single line without control characters or spaces around it",
)
"""What every short text keeps that people will read."""


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text."""

    meaning: str
    """What it is, with its article: ``a path from the root``."""
    max_characters: int
    """Its greatest length in code points; it is never empty."""
    rules: tuple[Rule, ...] = ()
    """Rules in the order in which they are checked."""

    def wrong(self, value: Any) -> Wrong | None:
        """Another type, empty, too long, or the first rule that is broken."""
        if not isinstance(value, str):
            return Wrong(is_type=True, asked=self.words())
        if not 1 <= len(value) <= self.max_characters:
            return Wrong(is_type=False, asked=f"{self.meaning} of 1 to {self.max_characters} characters")
        broken = next((rule for rule in self.rules if not rule.allows(value)), None)
        return Wrong(is_type=False, asked=broken.asked) if broken else None

    def words(self) -> str:
        """The meaning."""
        return self.meaning

    def schema(self) -> dict[str, Any]:
        """A string with a pattern or a format for each rule; readers that do not know our formats skip them."""
        rules = [
            {"format": rule.format} if rule.format else {"pattern": f"^(?:{rule.pattern})$"}
            for rule in self.rules
        ]
        bounds = {"type": "string", "minLength": 1, "maxLength": self.max_characters}
        return bounds | ({"allOf": rules} if rules else {})


class OneOf(msgspec.Struct, frozen=True, kw_only=True):
    """One text of a closed set."""

    values: tuple[str, ...]
    """The values that are built."""

    def wrong(self, value: Any) -> Wrong | None:
        """Another type, or none of the values."""
        if not isinstance(value, str):
            return Wrong(is_type=True, asked=self.words())
        return None if value in self.values else Wrong(is_type=False, asked=self.words())

    def words(self) -> str:
        """``one of a, b``, or the only value."""
        return f"one of {', '.join(self.values)}" if len(self.values) > 1 else f'"{self.values[0]}"'

    def schema(self) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": list(self.values)}


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """A whole number."""

    least: int
    """The smallest that is allowed."""
    most: int
    """The largest that is allowed."""

    def wrong(self, value: Any) -> Wrong | None:
        """Another type (a truth value and 5.0 too), or out of range."""
        if not isinstance(value, int) or isinstance(value, bool):
            return Wrong(is_type=True, asked=self.words())
        return None if self.least <= value <= self.most else Wrong(is_type=False, asked=self.words())

    def words(self) -> str:
        """The range."""
        return f"a whole number from {self.least} to {self.most}"

    def schema(self) -> dict[str, Any]:
        """A bounded integer."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


class Above(msgspec.Struct, frozen=True, kw_only=True):
    """A number above zero, whole or not."""

    most: int
    """The largest that is allowed."""
    unit: str
    """Its unit, in the plural."""

    def wrong(self, value: Any) -> Wrong | None:
        """Another type, or out of range (NaN and infinity are)."""
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return Wrong(is_type=True, asked=self.words())
        return None if 0 < value <= self.most else Wrong(is_type=False, asked=self.words())

    def words(self) -> str:
        """The range and the unit."""
        return f"a number of {self.unit} above 0 and up to {self.most}"

    def schema(self) -> dict[str, Any]:
        """A bounded number."""
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.most}


class ListOf(msgspec.Struct, frozen=True, kw_only=True):
    """A list of distinct texts."""

    item: Text | OneOf
    """Shape of each element."""
    meaning: str
    """What the list is, with its article."""
    least: int = 0
    """The fewest elements."""
    most: int = 200
    """The most elements."""

    def wrong(self, value: Any) -> Wrong | None:
        """No list, too few or many, a wrong element, or an element twice."""
        if not isinstance(value, list):
            return Wrong(is_type=True, asked=self.words())
        if not self.least <= len(value) <= self.most:
            return Wrong(is_type=False, asked=f"{self.meaning}, {self.least} to {self.most} of them")
        for index, element in enumerate(value):
            inner = self.item.wrong(element)
            if inner:
                return msgspec.structs.replace(inner, steps=(index,))
            if element in value[:index]:
                return Wrong(is_type=False, asked=f"{self.meaning}, each once", steps=(index,))
        return None

    def words(self) -> str:
        """The meaning."""
        return self.meaning

    def schema(self) -> dict[str, Any]:
        """An array without repetition."""
        bounds = {"type": "array", "minItems": self.least, "maxItems": self.most, "uniqueItems": True}
        return bounds | {"items": self.item.schema()}


def asked(refused: Wrong) -> str:
    """What is asked instead, as the end of a sentence."""
    return refused.asked if refused.asked.startswith("one of") else f"asked {refused.asked}"


def written(value: Any) -> str:
    """A value as it is shown in a problem: bounded, with nothing in it that a terminal obeys, and no address's password."""
    if isinstance(value, str):
        return quoted(_PASSWORD.sub("://…@", value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, int) and value.bit_length() > LONGEST_BITS:  # Python refuses to write very long ones
        return f"a number of {value.bit_length()} bits"
    text = str(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
