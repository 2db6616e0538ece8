# SPDX-License-Identifier: Apache-2.0
"""Schemas and patterns that cannot hang and fetch nothing.

What it decides: which JSON Schemas and regular expressions can be used. What it leaves: what they are about, to
``expect``.

- Patterns are ECMA-262 without look-around and back-references, matched in time linear in the text; the patterns
  inside a schema too.
- A schema refers to itself at most: nothing is read from disk or network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from truegreen.core.canonical import write_json
from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted

PATTERN_BYTES = 1 << 20
"""Largest compiled size of a pattern, in bytes."""


def pattern_matcher(regex: str) -> Callable[[str], bool]:
    """Whether the pattern occurs somewhere in a text.

    Raises: UsageProblem ``bad-expectation`` for a pattern that is not one of linear time.
    """
    is_valid: Callable[[str], bool] = _validator(write_json({"pattern": regex})).is_valid
    return is_valid


def check_schema(schema: Any) -> None:
    """Refuse a schema that cannot be used.

    Raises: UsageProblem ``bad-expectation`` for one that is no schema or points elsewhere; EvidenceProblem as
    ``write_json`` for a value that has no JSON form.
    """
    _validator(write_json(schema))


def violations(schema: Any, value: Any) -> Iterator[tuple[str, str]]:
    """Place and message of every way in which a decoded value breaks a schema.

    Raises: as ``check_schema``.
    """
    for violation in _validator(write_json(schema)).iter_errors(value):
        yield ".".join(map(str, violation.instance_path)), violation.message


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> Any:
    import jsonschema_rs  # noqa: PLC0415 - slow to import, needed by cases only

    options = jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES, dfa_size_limit=PATTERN_BYTES)
    try:
        return jsonschema_rs.validator_for(msgspec.json.decode(schema), offline=True, pattern_options=options)
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as err:
        first = str(err).partition("\n")[0]
        raise UsageProblem("bad-expectation", f"a schema that cannot be used: {quoted(first, 160)}") from err
