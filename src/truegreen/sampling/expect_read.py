# SPDX-License-Identifier: Apache-2.0
"""Reads the ``expect`` mapping of a case.

What it decides: types, and which expectations fit together. What it leaves: files and lines, to ``case_file``.

- Unknown keys, wrong types and expectations that contradict each other are refused, never ignored.
- At least one expectation stands in every case: a case that expects nothing would pass on anything.
- Expectations about keys or numbers make the answer JSON; ``format`` may say so, and may not say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.plain_yaml import Path
from truegreen.core.quoted import quoted
from truegreen.sampling.decoded import folded
from truegreen.sampling.expectations import FORMATS, KEYS, Enum, Expect, Pattern, Range
from truegreen.sampling.linear import check_schema, pattern_matcher

At = Callable[[Path], str]
"""How a message names the place of a value: file and line, or the path itself."""
ReadSchema = Callable[[str], Any]
"""Reads the schema that a path names."""


def dotted(path: Path) -> str:
    """The path itself as the name of a place: ``expect.enum.label``."""
    return ".".join(map(str, ("expect", *path)))


def expect_of(given: Any, *, at: At = dotted, read_schema: ReadSchema | None = None) -> Expect:
    """The expectations in a mapping; ``at`` names places, ``read_schema`` reads a schema that is named by path.

    Raises: UsageProblem ``bad-expectation``.
    """
    if not isinstance(given, Mapping) or not given:
        raise _bad(at(()), f"expect is {_shown(given)}, at least one expectation is needed")
    for key in given:
        if key not in KEYS:
            raise _bad(at((key,)), f"unknown expectation {quoted(str(key))}, known are {', '.join(KEYS)}")
    found = _Reader(given, at, read_schema).expect()
    if not found.is_json and found == Expect(format="text"):
        raise _bad(at(()), "expect asks for nothing: any answer would pass")
    return found


class _Reader:
    """Reads one mapping whose keys are known."""

    def __init__(self, given: Mapping[str, Any], at: At, read_schema: ReadSchema | None) -> None:
        self._given = given
        self._at = at
        self._read_schema = read_schema

    def expect(self) -> Expect:
        found = Expect(
            format="json",
            required_keys=self._texts("required_keys"),
            min_items_per_key=self._count("min_items_per_key", 0),
            max_items_per_key=self._count("max_items_per_key", 0),
            forbid_substrings=self._forbidden(),
            max_output_chars=self._count("max_output_chars", 1),
            json_schema=self._schema(),
            enums=self._by_key("enum", self._enum),
            ranges=self._by_key("number_range", self._range),
            patterns=self._by_key("regex", self._pattern),
        )
        low, high = found.min_items_per_key, found.max_items_per_key
        if low is not None and high is not None and low > high:
            raise self._bad(("min_items_per_key",), f"is {low}, more than max_items_per_key, {high}")
        return msgspec.structs.replace(found, format=self._format(found))

    def _format(self, found: Expect) -> str:
        needs_json = found.is_about_keys or found.json_schema is not None or bool(found.ranges)
        named = self._given.get("format", "json" if needs_json else "text")
        if named not in FORMATS:
            raise self._bad(("format",), f"is {_shown(named)}, not one of {', '.join(FORMATS)}")
        if needs_json and named == "text":
            raise self._bad(("format",), "is text, and other expectations are about decoded JSON")
        return str(named)

    def _texts(self, key: str) -> tuple[str, ...]:
        given = self._given.get(key, [])
        if not isinstance(given, list):
            raise self._bad((key,), f"is {_shown(given)}, a list of texts is asked")
        for place, one in enumerate(given):
            if not isinstance(one, str) or not one:
                raise self._bad((key, place), f"is {_shown(one)}, a text is asked: put it in quotes")
            if one in given[:place]:
                raise self._bad((key, place), f"is {quoted(one)} a second time")
        return tuple(given)

    def _forbidden(self) -> tuple[str, ...]:
        texts = self._texts("forbid_substrings")
        for place, text in enumerate(texts):
            if not folded(text):
                raise self._bad(
                    ("forbid_substrings", place), f"is {quoted(text)}, in which nothing is visible"
                )
        return texts

    def _count(self, key: str, least: int) -> int | None:
        given = self._given.get(key)
        if key in self._given and (type(given) is not int or given < least):
            raise self._bad((key,), f"is {_shown(given)}, a whole number of {least} or more is asked")
        return given

    def _schema(self) -> Any:
        if "json_schema" not in self._given:
            return None
        given = self._given["json_schema"]
        if isinstance(given, str):
            if self._read_schema is None:
                raise self._bad(("json_schema",), f"is {_shown(given)}, and no file can be read here")
            given = self._read_schema(given)
        if not isinstance(given, Mapping):
            raise self._bad(("json_schema",), f"is {_shown(given)}, a schema or the path of one is asked")
        try:
            check_schema(given)
        except (UsageProblem, EvidenceProblem) as err:
            raise self._bad(("json_schema",), f"is {err.message}") from err
        return given

    def _by_key(self, name: str, read: Callable[[str | None, Any, Path], Any]) -> tuple[Any, ...]:
        """One expectation about the whole answer, or a mapping from keys to expectations."""
        if name not in self._given:
            return ()
        given = self._given[name]
        if not isinstance(given, Mapping) or (name == "number_range" and _is_range(given)):
            return (read(None, given, (name,)),)
        if not given:
            raise self._bad((name,), "is empty")
        return tuple(read(key, value, (name, key)) for key, value in given.items())

    def _enum(self, key: str | None, given: Any, path: Path) -> Enum:
        if not isinstance(given, list) or not given:
            raise self._bad(path, f"is {_shown(given)}, a list of values is asked")
        for place, one in enumerate(given):
            if isinstance(one, Mapping | list):
                raise self._bad((*path, place), f"is {_shown(one)}, a text, number, boolean or null is asked")
        return Enum(key=key, values=tuple(given))

    def _range(self, key: str | None, given: Any, path: Path) -> Range:
        asked = "two numbers [low, high] or a mapping of min and max is asked"
        if isinstance(given, list):
            given = dict(zip(("min", "max"), given, strict=True)) if len(given) == 2 else None  # noqa: PLR2004 - a pair
        if not isinstance(given, Mapping) or not _is_range(given):
            raise self._bad(path, f"is {_shown(self._value(path))}, {asked}")
        low, high = given.get("min"), given.get("max")
        if low is not None and high is not None and low > high:
            raise self._bad(path, f"has min {low}, more than max {high}")
        return Range(key=key, low=low, high=high)

    def _pattern(self, key: str | None, given: Any, path: Path) -> Pattern:
        if not isinstance(given, str) or not given:
            raise self._bad(path, f"is {_shown(given)}, a pattern is asked: put it in quotes")
        try:
            pattern_matcher(given)
        except (UsageProblem, EvidenceProblem) as err:
            why = "a pattern of linear time is asked: no look-around, no back-reference"
            raise self._bad(path, f"is {quoted(given)}, {why}") from err
        return Pattern(key=key, regex=given)

    def _value(self, path: Path) -> Any:
        value: Any = self._given
        for step in path:
            value = value[step]
        return value

    def _bad(self, path: Path, sentence: str) -> UsageProblem:
        return _bad(self._at(path), f"{'.'.join(map(str, path))} {sentence}")


def _is_range(given: Mapping[str, Any]) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in given.values())
    return bool(given) and given.keys() <= {"min", "max"} and numbers


def _shown(value: Any) -> str:
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return quoted(value)
        case list():
            return f"a list of {len(value)}"
        case Mapping():
            return f"a mapping of {len(value)}"
    return quoted(str(value), 40)


def _bad(place: str, sentence: str) -> UsageProblem:
    return UsageProblem("bad-expectation", f"{place}: {sentence}", hint="docs/cases.md lists every key")
