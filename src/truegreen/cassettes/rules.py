# SPDX-License-Identifier: Apache-2.0
"""What a key depends on beside the request: the endpoint's alias, named places, declared volatile paths.

What it decides: which paths may be declared volatile, and what leaving them out means. What it leaves: naming them,
to the policy.

- A volatile path lies in the body, the query or the headers. It is removed before keying, whether it is there or
  not; an element of a list leaves a mark, so that its neighbours keep their places.
- What was removed is counted and printed in the cassette.
- The type of a number counts, unless the rules say that it does not.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from truegreen.cassettes.paths import Path, Step, matches, pattern_of
from truegreen.cassettes.places import Places, places
from truegreen.cassettes.plain import Ignored, by_value
from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted

MAY_BE_VOLATILE: Final = ("body", "query", "headers")
"""Where a volatile path begins."""


class KeyRules(msgspec.Struct, frozen=True, kw_only=True):
    """How requests to one endpoint are keyed."""

    host: str
    """Alias of the endpoint; the same alias means that one's answers may stand for the other's."""
    places: Places = msgspec.field(default_factory=places)
    """Named places."""
    volatile: tuple[str, ...] = ()
    """Declared volatile paths, as ``paths`` spells them."""
    ignores_number_types: bool = False
    """Whether ``1``, ``1.0`` and ``1e0`` are one number, as for RFC 8785; printed in each cassette."""


def check_rules(rules: KeyRules) -> KeyRules:
    """The rules, if they can be used.

    Raises: UsageProblem ``bad-json-path``.
    """
    for text in rules.volatile:
        pattern = pattern_of(text)
        if pattern[0] not in MAY_BE_VOLATILE or len(pattern) == 1:
            asked = ", ".join(MAY_BE_VOLATILE)
            raise UsageProblem(
                "bad-json-path", f"{quoted(text)} may not be volatile: a path below {asked} is asked"
            )
    return rules


def keyed(document: dict[str, Any], rules: KeyRules) -> dict[str, Any]:
    """The document as it is keyed and compared under these rules."""
    kept, _ = without_volatile(document, rules.volatile)
    return {**kept, "body": by_value(kept["body"])} if rules.ignores_number_types else kept


def without_volatile(
    document: dict[str, Any], volatile: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, int]]:
    """The document without its volatile places, and how many each pattern removed."""
    counts = dict.fromkeys(volatile, 0)
    if not volatile:
        return document, counts
    patterns = {text: pattern_of(text) for text in volatile}
    return _stripped(document, (), patterns, counts), counts


def _stripped(value: Any, path: Path, patterns: dict[str, tuple[Step, ...]], counts: dict[str, int]) -> Any:
    if isinstance(value, dict):
        return {
            name: _stripped(item, (*path, name), patterns, counts)
            for name, item in value.items()
            if not _is_volatile((*path, name), patterns, counts)
        }
    if isinstance(value, list):
        return [
            Ignored()
            if _is_volatile((*path, place), patterns, counts)
            else _stripped(item, (*path, place), patterns, counts)
            for place, item in enumerate(value)
        ]
    return value


def _is_volatile(path: Path, patterns: dict[str, tuple[Step, ...]], counts: dict[str, int]) -> bool:
    for text, pattern in patterns.items():
        if matches(pattern, path):
            counts[text] += 1
            return True
    return False
