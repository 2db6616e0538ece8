# SPDX-License-Identifier: Apache-2.0
"""What a case may expect of an answer: the expectations, each with its meaning.

What it decides: which expectations exist. What it leaves: reading them, to ``expect_read``; judging an answer,
to ``expect``.
"""

from __future__ import annotations

from typing import Any

import msgspec

FORMATS = ("json", "fenced-json", "text")
"""``json``: the whole answer is one JSON value; ``fenced-json``: it may stand in one code fence; ``text``."""
KEYS = (
    "format",
    "required_keys",
    "min_items_per_key",
    "max_items_per_key",
    "forbid_substrings",
    "max_output_chars",
    "json_schema",
    "enum",
    "number_range",
    "regex",
)
"""Keys of ``expect`` in a case file."""

Scalar = str | int | float | bool | None


class Enum(msgspec.Struct, frozen=True, kw_only=True):
    """One value out of a closed list."""

    key: str | None
    """Top-level key whose value it is; None for the whole answer."""
    values: tuple[Scalar, ...]
    """The values; a boolean is no number."""


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """A number between two bounds, both included."""

    key: str | None
    """Top-level key whose value it is; None for the whole answer."""
    low: float | None
    """Smallest value; None: no bound."""
    high: float | None
    """Largest value; None: no bound."""


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern that occurs somewhere in a text."""

    key: str | None
    """Top-level key whose text it is; None for the raw answer."""
    regex: str
    """ECMA-262 pattern of linear time."""


class Expect(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one case expects."""

    format: str
    """One of ``FORMATS``."""
    required_keys: tuple[str, ...] = ()
    """Top-level keys that carry a value; null is none unless the schema allows it."""
    min_items_per_key: int | None = None
    """Fewest items of each list."""
    max_items_per_key: int | None = None
    """Most items of each list."""
    forbid_substrings: tuple[str, ...] = ()
    """Texts that occur nowhere, in any letter case."""
    max_output_chars: int | None = None
    """Most Unicode code points of the raw answer."""
    json_schema: Any = None
    """JSON Schema (draft 2020-12 unless it says otherwise), without references to elsewhere; None: no schema."""
    enums: tuple[Enum, ...] = ()
    """Closed lists."""
    ranges: tuple[Range, ...] = ()
    """Numbers."""
    patterns: tuple[Pattern, ...] = ()
    """Patterns."""

    @property
    def is_json(self) -> bool:
        """Whether the answer is decoded."""
        return self.format != "text"

    @property
    def is_only_negative(self) -> bool:
        """Whether something is forbidden or limited, and nothing is asked that an empty answer would not have."""
        negative = (
            self.forbid_substrings,
            self.max_output_chars is not None,
            self.max_items_per_key is not None,
        )
        positive = (self.required_keys, self.min_items_per_key, self.enums, self.ranges, self.patterns)
        return any(negative) and not any(positive) and self.json_schema is None

    @property
    def keys_asked(self) -> tuple[str, ...]:
        """Top-level keys that closed lists, numbers and patterns are about, in order, each once."""
        keys = [one.key for one in self.enums]
        keys += [one.key for one in self.ranges]
        keys += [one.key for one in self.patterns]
        return tuple(dict.fromkeys(key for key in keys if key is not None))

    @property
    def is_about_keys(self) -> bool:
        """Whether the answer has to be an object."""
        counts = (self.min_items_per_key, self.max_items_per_key)
        return bool(self.required_keys or self.keys_asked) or counts != (None, None)
