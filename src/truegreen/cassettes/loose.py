# SPDX-License-Identifier: Apache-2.0
"""Is a contract looser than any consumer would be? And does a model's name say which model it is?

What it decides: places of a JSON Schema that bound nothing, and names that may mean another model tomorrow. What it
leaves: how loose is too loose, to people: each is a note.

- An object without ``additionalProperties: false``, an array without ``maxItems``, a text or a number without any
  bound. What ``enum``, ``const`` or ``$ref`` says is bounded where it is said.
- A name is pinned by a date, a revision or a digest in it. ``latest`` is never pinned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_INNER: Final = ("properties", "patternProperties", "$defs", "dependentSchemas")
_SINGLE: Final = (
    "items",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "not",
    "if",
    "then",
    "else",
)
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_BOUNDS: Final = {
    "array": ("maxItems",),
    "string": ("maxLength", "pattern", "format"),
    "integer": ("maximum", "exclusiveMaximum"),
    "number": ("maximum", "exclusiveMaximum"),
}
_CLOSED: Final = ("enum", "const", "$ref", "$dynamicRef")
_PINNED: Final = re.compile(
    r"(?:19|20)\d{2}-?(?:0[1-9]|1[0-2])(?:-?(?:0[1-9]|[12]\d|3[01]))?(?!\d)"  # a day or a month
    r"|-(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?![0-9a-z])"  # a day without its year: -0613
    r"|[-@]\d{3}(?![0-9a-z])|@?sha256:[0-9a-f]{12,}|@[0-9a-f]{7,}|\.gguf$",
    re.IGNORECASE,
)


def loose_places(schema: Any) -> tuple[str, ...]:
    """What the schema leaves open, each place once: ``files[*]: no maxLength``."""
    return tuple(dict.fromkeys(_walk(schema, "")))


def is_floating(model: str) -> bool:
    """Whether the name of a model may mean another model tomorrow."""
    return "latest" in model.lower() or _PINNED.search(model) is None


def _walk(schema: Any, place: str) -> Iterator[str]:
    if schema is True or schema == {}:
        yield f"{place or 'the top'}: anything is allowed"
    if not isinstance(schema, dict):
        return
    if not any(word in schema for word in _CLOSED):
        yield from _open(schema, place or "the top")
    for word in _INNER:
        for name, inner in schema.get(word, {}).items() if isinstance(schema.get(word), dict) else ():
            yield from _walk(inner, f"{place}.{name}" if place else name)
    for word in _SINGLE:
        if isinstance(schema.get(word), dict):
            yield from _walk(schema[word], f"{place}[*]" if word == "items" else place)
    for word in _LISTS:
        for inner in schema.get(word, []) if isinstance(schema.get(word), list) else ():
            yield from _walk(inner, f"{place}[*]" if word == "prefixItems" else place)


def _open(schema: dict[str, Any], place: str) -> Iterator[str]:
    said = schema.get("type")
    types = said if isinstance(said, list) else [said]
    is_object = "object" in types or "properties" in schema
    if (
        is_object
        and schema.get("additionalProperties") is not False
        and schema.get("unevaluatedProperties") is not False
    ):
        yield f"{place}: no additionalProperties: false"
    for kind in types:
        bounds = _BOUNDS.get(kind, ()) if isinstance(kind, str) else ()
        if bounds and not any(word in schema for word in bounds):
            yield f"{place}: no {bounds[0]}"
