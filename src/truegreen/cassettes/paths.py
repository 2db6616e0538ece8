# SPDX-License-Identifier: Apache-2.0
"""Places inside a request, as people write them: ``body.messages[0].content``, ``body.tools[*].id``.

What it decides: how a path is spelled, and which places a pattern means. What it leaves: what is done there.

- Names stand bare where they are letters, digits, ``_`` and ``-``, else as a JSON text in quotes.
- ``[*]`` is every element of a list and ``.*`` every member of an object. Nothing else is a wildcard, and no pattern
  reaches "any depth": whoever ignores a place names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted


class Every(Enum):
    """A step of a pattern that is open."""

    MEMBER = ".*"
    """Every member of an object."""
    ELEMENT = "[*]"
    """Every element of a list."""


Step = str | int | Every
"""A name, a place in a list, or every one of either."""
Path = tuple[str | int, ...]
"""Names and places from the top."""
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_STEP: Final = re.compile(
    r'\.?(?:(?P<bare>[A-Za-z0-9_-]+)|(?P<text>"(?:[^"\\]|\\.)*"))|\[(?P<index>[0-9]{1,9}|\*)\]|\.(?P<any>\*)'
)


def spelled(path: Path) -> str:
    """A path as people write it; ``the top`` for the whole."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{_name(step)}" for step in path)
    return "".join(steps).removeprefix(".") or "the top"


def pattern_of(text: str) -> tuple[Step, ...]:
    """The steps of a pattern.

    Raises: UsageProblem ``bad-json-path``.
    """
    steps: list[Step] = []
    position = 0
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None or (steps and found[0][0] not in ".["):
            break
        position = found.end()
        steps.append(_step(found))
    if not steps or position < len(text):
        raise UsageProblem(
            "bad-json-path",
            f"{quoted(text)} is no path such as body.messages[*].id, from character {position + 1}",
        )
    return tuple(steps)


def matches(pattern: tuple[Step, ...], path: Path) -> bool:
    """Whether a path is one that the pattern means."""
    return len(pattern) == len(path) and all(map(_allows, pattern, path))


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Every value that holds no other, with its path, in the order of the value."""
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    else:
        yield path, value


def _allows(asked: Step, step: str | int) -> bool:
    if asked is Every.MEMBER:
        return isinstance(step, str)
    if asked is Every.ELEMENT:
        return isinstance(step, int)
    return asked == step and type(asked) is type(step)


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return Every.ELEMENT if found["index"] == "*" else int(found["index"])
    if found["text"] is not None:
        return str(json.loads(found["text"]))
    return found["bare"] if found["bare"] is not None else Every.MEMBER


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)
