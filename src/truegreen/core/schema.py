# SPDX-License-Identifier: Apache-2.0
"""Checks a value against one of the JSON Schemas that the package ships.

What it decides: whether a value that was read has the shape of its kind, and how a refusal is worded. What it
leaves: reading bytes, to ``canonical``; what the value means, to the kind.

- A schema is known by kind and version, ``sample-ledger.v1``, and lies with the room that owns the kind.
- A schema is loaded and compiled when it is first asked for. Nothing is fetched: a schema refers only to itself.
- The refusal names the place, what was found and what is asked, bounded and with nothing in it that a terminal or
  a log obeys. Of several, the first in the schema's order is told.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted
from truegreen.core.shapes import FORMATS, written
from truegreen.core.toml import dotted

HOMES: Final[Mapping[str, str]] = {
    "baseline.v1": "truegreen.core",
    "cassette.v1": "truegreen.cassettes",
    "contract-check.v1": "truegreen.cassettes",
    "decision.v1": "truegreen.core",
    "policy.v1": "truegreen.core",
    "quarantine.v1": "truegreen.quarantine",
    "record.v1": "truegreen.core",
    "removed.v1": "truegreen.core",
    "replay-session.v1": "truegreen.core",
    "run-index.v1": "truegreen.core",
    "sample-ledger.v1": "truegreen.sampling",
}
"""Every schema and the package in whose folder ``schemas`` it lies."""

_LONGEST_ASKED = 160
"""Longest description of what is asked, in characters, before it is cut."""


def validate(schema_name: str, value: Any) -> None:
    """Refuse a value (as ``read_json`` gives it) that does not have the shape of ``schema_name``.

    Raises: EvidenceProblem ``schema-refused``.
    """
    for error in _validator(schema_name).iter_errors(value):
        place = dotted(tuple(error.instance_path)) or "the top"
        found, asked = _words(error)
        raise EvidenceProblem(
            "schema-refused", f"{schema_name} at {_cut(place)}: found {found}, asked {_cut(asked)}"
        )


def schema(schema_name: str) -> dict[str, Any]:
    """The schema itself; ``schema_name`` is one of ``HOMES``."""
    data = pkgutil.get_data(HOMES[schema_name], f"schemas/{schema_name}.schema.json")
    content: dict[str, Any] = json.loads(data or b"")
    return content


@lru_cache(maxsize=len(HOMES))
def _validator(schema_name: str) -> Any:
    import jsonschema_rs  # noqa: PLC0415 - costs more than the rest of a start together; needed for records only

    return jsonschema_rs.Draft202012Validator(
        schema(schema_name), validate_formats=True, formats=dict(FORMATS), offline=True
    )


def _words(error: Any) -> tuple[str, str]:
    """What was found and what is asked, by the keyword that refused."""
    kind, limit, found = error.kind.name, error.kind.value, written(error.instance)
    match kind:
        case "additionalProperties":
            return f"a field {quoted(limit[0])}", "no field of that name"
        case "propertyNames":
            return f"the name {quoted(str(limit.instance))}", _words(limit)[1]
        case "required":
            return f"no field {quoted(limit)}", "one"
        case "type":
            return found, " or ".join(limit)
        case "enum":
            return found, f"one of {', '.join(str(value) for value in limit)}"
        case "const":
            return found, quoted(str(limit))
        case "pattern":
            return found, f"a text that matches {limit}"
        case "format":
            return found, f"the format {error.kind.format}"
        case "uniqueItems":
            return found, "each element once"
        case _:
            return found, f"{_LIMITS.get(kind, kind)} {limit}"


_LIMITS: Final[Mapping[str, str]] = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "minLength": "characters: at least",
    "maxLength": "characters: at most",
    "minItems": "elements: at least",
    "maxItems": "elements: at most",
    "minProperties": "fields: at least",
}
"""Words of the keywords that compare with a number."""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_ASKED else text[: _LONGEST_ASKED - 1] + "…"
