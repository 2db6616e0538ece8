# SPDX-License-Identifier: Apache-2.0
"""What a decision hangs on in an answer: the values at the paths that its contract declares.

What it decides: which values these are. What it leaves: what another value means, to ``review`` and ``drift``.

- Every choice of an answer has its decision. A declared path that is not there is a value of its own: absent.
- An answer that is not what its contract asks for (no JSON, say) has no decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from truegreen.cassettes.contracts import Contract
from truegreen.cassettes.kept import broken, value_of
from truegreen.cassettes.paths import Every, Path, Step, pattern_of, spelled
from truegreen.cassettes.replies import replies
from truegreen.core.canonical import write_json
from truegreen.core.errors import EvidenceProblem

ABSENT = b""
"""Stands for a declared path that an answer has not."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """One answer against its contract."""

    broken: tuple[str, ...]
    """Places at which it breaks the contract, and what is asked there."""
    decision: tuple[tuple[tuple[str, bytes], ...], ...] | None
    """For each choice, path to canonical value; null if the answer cannot be read as the contract asks."""
    values: tuple[Any, ...]
    """For each choice, what the contract's schema is asked about."""


def decided(contract: Contract, body: bytes, content_type: str) -> Decided:
    """The decision of an answer whose content coding is undone."""
    found = tuple(f"{one.place}: {one.asked}" for one in broken(contract, body, content_type))
    try:
        values = tuple(value_of(contract, reply) for reply in replies(body, content_type))
    except EvidenceProblem:
        return Decided(broken=found, decision=None, values=())
    decision = tuple(tuple(_at_all(contract, value)) for value in values)
    return Decided(broken=found, decision=decision, values=values)


def changed_fields(old: Decided, new: Decided) -> tuple[str, ...]:
    """Declared paths whose values differ, in the order of the contract; none if one of the two has no decision."""
    if old.decision is None or new.decision is None:
        return ()
    before = {(n, at): value for n, choice in enumerate(old.decision) for at, value in choice}
    after = {(n, at): value for n, choice in enumerate(new.decision) for at, value in choice}
    places = [*before, *(one for one in after if one not in before)]
    return tuple(dict.fromkeys(at for n, at in places if before.get((n, at)) != after.get((n, at))))


def _at_all(contract: Contract, value: Any) -> Iterator[tuple[str, bytes]]:
    for text in contract.decision:
        found = list(values_at(value, pattern_of(text)))
        yield from ((spelled(path), write_json(item)) for path, item in found)
        if not found:
            yield text, ABSENT


def values_at(value: Any, pattern: tuple[Step, ...], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values that a pattern means, with their paths."""
    if not pattern:
        yield path, value
        return
    step, rest = pattern[0], pattern[1:]
    if step is Every.MEMBER and isinstance(value, dict):
        for name, item in value.items():
            yield from values_at(item, rest, (*path, name))
    elif step is Every.ELEMENT and isinstance(value, list):
        for place, item in enumerate(value):
            yield from values_at(item, rest, (*path, place))
    elif not isinstance(step, Every) and _has(value, step):
        yield from values_at(value[step], rest, (*path, step))


def _has(value: Any, step: str | int) -> bool:
    if isinstance(step, str):
        return isinstance(value, dict) and step in value
    return isinstance(value, list) and step < len(value)
