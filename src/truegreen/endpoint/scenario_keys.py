# SPDX-License-Identifier: Apache-2.0
"""The table of every key of a scenario file: shape and meaning.

What it decides: which keys exist in which table and which values each may have. What it leaves: reading a file
against it, and what keys say together, to ``scenario_file``.

The table in ``docs/endpoint.md`` is made from this one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from truegreen.core.shapes import LINE, OneOf, Rule, Shape, Text, Whole, Wrong
from truegreen.endpoint.wait_header import FORMS

SCHEMA: Final = "truegreen/scenario/v1"
MOST_ANSWER_CHARACTERS: Final = 200_000
MOST_MS: Final = 600_000


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A number from ``least`` to ``most``, whole or not."""

    least: float
    """The smallest that is allowed."""
    most: float
    """The largest that is allowed."""
    unit: str = ""
    """Its unit in the plural, or nothing."""

    def wrong(self, value: Any) -> Wrong | None:
        """Another type, or out of range (NaN is)."""
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return Wrong(is_type=True, asked=self.words())
        return None if self.least <= value <= self.most else Wrong(is_type=False, asked=self.words())

    def words(self) -> str:
        """The range and the unit."""
        return f"a number {f'of {self.unit} ' if self.unit else ''}from {self.least:g} to {self.most:g}"

    def schema(self) -> dict[str, Any]:
        """A bounded number."""
        return {"type": "number", "minimum": self.least, "maximum": self.most}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a model may say: a text as it is, or a table or list that is written as JSON."""

    def wrong(self, value: Any) -> Wrong | None:
        """Another type, something that JSON has not (a date, NaN), or too long."""
        if not isinstance(value, (str, dict, list)) or not _is_json(value):
            return Wrong(is_type=True, asked=self.words())
        if len(answer_text(value)) > MOST_ANSWER_CHARACTERS:
            return Wrong(is_type=False, asked=f"an answer of at most {MOST_ANSWER_CHARACTERS} characters")
        return None

    def words(self) -> str:
        """The meaning."""
        return "an answer: a text, or a table or list to be written as JSON"

    def schema(self) -> dict[str, Any]:
        """A string, an object or an array."""
        return {"type": ["string", "object", "array"]}


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """One answer or more."""

    def wrong(self, value: Any) -> Wrong | None:
        """No list, an empty one, or a wrong element."""
        if not isinstance(value, list) or not value:
            return Wrong(is_type=True, asked=self.words())
        for place, element in enumerate(value):
            inner = Answer().wrong(element)
            if inner:
                return Wrong(is_type=inner.is_type, asked=inner.asked, steps=(place,))
        return None

    def words(self) -> str:
        """The meaning."""
        return "a list of at least one answer"

    def schema(self) -> dict[str, Any]:
        """An array."""
        return {"type": "array", "minItems": 1, "items": Answer().schema()}


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """A regular expression of Python's ``re``."""

    def wrong(self, value: Any) -> Wrong | None:
        """No text, or one that does not compile."""
        if not isinstance(value, str) or not value:
            return Wrong(is_type=True, asked=self.words())
        try:
            re.compile(value)
        except re.error as err:
            return Wrong(is_type=False, asked=f"{self.words()}: {err}")
        return None

    def words(self) -> str:
        """The meaning."""
        return "a regular expression"

    def schema(self) -> dict[str, Any]:
        """A string."""
        return {"type": "string", "minLength": 1}


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """True or false."""

    def wrong(self, value: Any) -> Wrong | None:
        """Another type."""
        return None if isinstance(value, bool) else Wrong(is_type=True, asked=self.words())

    def words(self) -> str:
        """The meaning."""
        return "true or false"

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


class Texts(msgspec.Struct, frozen=True, kw_only=True):
    """Names of models."""

    def wrong(self, value: Any) -> Wrong | None:
        """No list, or a wrong element."""
        if not isinstance(value, list):
            return Wrong(is_type=True, asked=self.words())
        for place, element in enumerate(value):
            inner = NAME.wrong(element)
            if inner:
                return Wrong(is_type=inner.is_type, asked=inner.asked, steps=(place,))
        return None

    def words(self) -> str:
        """The meaning."""
        return "a list of model names"

    def schema(self) -> dict[str, Any]:
        """An array of strings."""
        return {"type": "array", "items": NAME.schema()}


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key of one table."""

    shape: Shape
    """What its value may be."""
    meaning: str
    """What it does, for the documentation."""
    is_required: bool = False
    """Whether leaving it out is an error."""


NAME: Final = Text(meaning="a name", max_characters=120, rules=(LINE,))
PROMPT: Final = Text(meaning="a text", max_characters=2000)
SHARE: Final = Number(least=0, most=1)
PER_S: Final = Number(least=0.001, most=100_000, unit="calls a second")
WAIT_S: Final = Number(least=0, most=86_400, unit="seconds")
MS: Final = Number(least=0, most=MOST_MS, unit="milliseconds")
HEADER: Final = Rule(
    pattern=r"[A-Za-z][A-Za-z0-9-]*: [!-~](?:[ -~]*[!-~])?", asked="a header, such as X-Cache: HIT"
)
VALUE: Final = Rule(pattern=r"[!-~](?:[ -~]*[!-~])?", asked="the value of a header")

TABLES: Final[Mapping[str, Mapping[str, Key]]] = {
    "": {
        "schema": Key(shape=OneOf(values=(SCHEMA,)), meaning="the file's format", is_required=True),
        "seed": Key(shape=NAME, meaning="start of every draw", is_required=True),
        "models": Key(shape=Texts(), meaning="models that exist; none given: every model does"),
        "served": Key(shape=NAME, meaning="model that answers name; by default the one that was asked"),
        "fingerprint": Key(shape=NAME, meaning="`system_fingerprint` of answers"),
        "piece_chars": Key(
            shape=Whole(least=1, most=10_000), meaning="code points in a stream's piece; 16 by default"
        ),
    },
    "limits": {
        "per_s": Key(shape=PER_S, meaning="calls a second; above them 429"),
        "burst": Key(shape=Whole(least=1, most=100_000), meaning="calls at once after a pause; 1 by default"),
        "in_flight": Key(
            shape=Whole(least=1, most=100_000), meaning="calls under way at once; above them 429"
        ),
        "retry_as": Key(
            shape=OneOf(values=FORMS), meaning="how the 429 tells the wait; `seconds` by default"
        ),
    },
    "rules": {
        "id": Key(shape=NAME, meaning="name in the oracle's counts", is_required=True),
        "answer": Key(shape=Answer(), meaning="what a passing sample gets", is_required=True),
        "fails": Key(shape=Answers(), meaning="what failing samples get, each as likely as the others"),
        "pass": Key(shape=SHARE, meaning="probability of a pass; 1 by default"),
        "refuse": Key(shape=SHARE, meaning="probability of a refusal; 0 by default"),
        "truncate": Key(shape=SHARE, meaning="probability of a stop at the token limit; 0 by default"),
        "served": Key(shape=NAME, meaning="model that this rule's answers name"),
    },
    "rules.when": {
        "model": Key(shape=NAME, meaning="the model that was asked"),
        "contains": Key(shape=PROMPT, meaning="a text that stands in the prompt"),
        "pattern": Key(shape=Expression(), meaning="an expression that is found in the prompt"),
    },
    "rules.latency": {
        "law": Key(
            shape=OneOf(values=("constant", "exponential", "lognormal")), meaning="`constant` by default"
        ),
        "ms": Key(shape=MS, meaning="the constant, the mean, or the lognormal's median", is_required=True),
        "sigma": Key(
            shape=Number(least=0, most=5),
            meaning="the lognormal's deviation of the logarithm; 0.5 by default",
        ),
        "fail_factor": Key(
            shape=Number(least=0, most=1000), meaning="factor for every outcome but a pass; 1 by default"
        ),
        "piece_ms": Key(shape=MS, meaning="time before each later piece of a stream; 0 by default"),
    },
    "rules.faults": {
        "kind": Key(
            shape=OneOf(values=("status", "hang", "cut", "malformed", "error-inside")),
            meaning="what happens",
            is_required=True,
        ),
        "share": Key(shape=SHARE, meaning="share of arrivals, drawn anew for each"),
        "first": Key(
            shape=Whole(least=1, most=1_000_000), meaning="instead of a share: the first so many arrivals"
        ),
        "per": Key(
            shape=OneOf(values=("sample", "prompt", "endpoint")),
            meaning="what `first` counts by; `sample` by default, the others depend on the order of arrival",
        ),
        "status": Key(
            shape=Whole(least=400, most=599), meaning="of `status` and `error-inside`; 500 by default"
        ),
        "retry_after": Key(
            shape=Text(meaning="a value of Retry-After", max_characters=100, rules=(VALUE,)),
            meaning="of `status`: the header's value, as it is",
        ),
        "retry_in_s": Key(shape=WAIT_S, meaning="of `status`: the wait, told in the form `retry_as`"),
        "retry_as": Key(shape=OneOf(values=FORMS), meaning="of `status`: the form; `seconds` by default"),
        "should_retry": Key(
            shape=Text(meaning="a value of x-should-retry", max_characters=100, rules=(VALUE,)),
            meaning="of `status`: the header's value, as it is",
        ),
        "at": Key(
            shape=OneOf(values=("before-head", "after-head", "midway", "before-end")),
            meaning="of `hang` and `cut`: where; `before-head` by default",
        ),
        "how": Key(
            shape=OneOf(values=("json", "framing", "not-http")), meaning="of `malformed`; `json` by default"
        ),
    },
    "rules.prefix_cache": {
        "tokens": Key(
            shape=Whole(least=1, most=1_000_000), meaning="`cached_tokens` of a warm sample", is_required=True
        ),
        "share": Key(shape=SHARE, meaning="share of warm samples; 1 by default"),
    },
    "rules.response_cache": {
        "share": Key(shape=SHARE, meaning="share of samples that get the stored answer", is_required=True),
        "header": Key(
            shape=Text(meaning="a header", max_characters=200, rules=(HEADER,)),
            meaning="the cache's mark; `X-Cache: HIT` by default",
        ),
        "silent": Key(shape=Truth(), meaning="whether the cache leaves no mark; false by default"),
        "repeats_request_id": Key(
            shape=Truth(), meaning="whether the stored request id comes with it; true by default"
        ),
    },
}
"""Table name to its keys; inner tables are named by their path."""

INNER: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("limits", "rules"),
    "rules": ("when", "latency", "faults", "prefix_cache", "response_cache"),
}
"""Table name to the tables in it."""
LISTS: Final = frozenset({"rules", "rules.faults"})
"""Tables that stand more than once."""


def answer_text(value: str | dict[str, Any] | list[Any]) -> str:
    """The text of an answer: as it is, or JSON in one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_json(inner) for inner in value.values())
    if isinstance(value, list):
        return all(_is_json(inner) for inner in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, bool, int))
