# SPDX-License-Identifier: Apache-2.0
"""The recording that comes nearest to a request without one, and where the two part.

What it decides: which recording is nearest and the first JSON path that differs. What it leaves: the sentence about
it, to ``store``.

- Recordings of the same template come first, then the fewest leaves that differ, then the name.
- The first path is the first in the order of the asked request: method, host, path, query, headers, stream, template,
  body.
- Outlines are kept as numbers a leaf: thousands are compared in milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

import msgspec

from truegreen.cassettes.leaks import Needles, spans
from truegreen.cassettes.paths import Path, leaves, spelled
from truegreen.cassettes.plain import plain
from truegreen.core.canonical import write_json
from truegreen.core.quoted import plainly

SHOWN, SHOWN_BEFORE = 60, 12
"""Characters of a value that a miss shows, and how many of them stand before the place where two values part."""
REDACTED = re.compile(r"\[redacted: [a-z-]+\]")


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded request as it is compared."""

    name: str
    """File."""
    template: str | None
    """Template id."""
    marks: frozenset[int]
    """One number a leaf: path and value."""


def outline_of(name: str, document: dict[str, Any]) -> Outline:
    """The outline of a document without volatile places."""
    template = document.get("template")
    return Outline(
        name=name,
        template=template.get("id") if isinstance(template, dict) else None,
        marks=frozenset(hash((path, _text(value))) for path, value in leaves(document)),
    )


def nearest_of(document: dict[str, Any], outlines: Iterable[Outline]) -> Outline | None:
    """The nearest of these outlines, or None if there is none."""
    asked = outline_of("", document)
    return min(
        outlines,
        key=lambda one: (one.template != asked.template, len(one.marks ^ asked.marks), one.name),
        default=None,
    )


def first_difference(
    asked: dict[str, Any], stored: dict[str, Any], redacted: frozenset[str] = frozenset()
) -> str | None:
    """The first path at which two documents differ, or None.

    At the paths in ``redacted`` a stored text's marks stand for anything.
    """
    ours, theirs = dict(leaves(asked)), dict(leaves(stored))
    for path, value in ours.items():
        if path not in theirs or not _same(path, value, theirs[path], redacted):
            below = (one for one in theirs if one[: len(path)] == path) if value in ({}, []) else ()
            return spelled(next(iter(below), path))
    return next((spelled(path) for path in theirs if path not in ours), None)


def told_apart(asked: dict[str, Any], stored: dict[str, Any], place: str) -> tuple[str, str]:
    """What stands at a spelled path in both documents, as people are told: JSON, from shortly before the two part.

    ``nothing`` where a document has no value there; a value that holds a secret is not shown.
    """
    ours, theirs = (_json_at(document, place) for document in (asked, stored))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False)))
    start = same - SHOWN_BEFORE if same > 2 * SHOWN_BEFORE else 0
    first, second = (f"{'…' if start else ''}{plainly(text[start:], SHOWN)}" for text in (ours, theirs))
    return first, second


def _json_at(document: dict[str, Any], place: str) -> str:
    value = next((value for path, value in leaves(document) if spelled(path) == place), None)
    if value is None and place not in {spelled(path) for path, _ in leaves(document)}:
        return "nothing"
    text = _text(value).decode()
    return "a text that holds a secret" if spans(text, Needles()) else text


def _same(path: Path, asked: Any, stored: Any, redacted: frozenset[str]) -> bool:
    if spelled(path) in redacted and isinstance(asked, str) and isinstance(stored, str):
        pattern = ".*".join(map(re.escape, REDACTED.split(stored)))
        return re.fullmatch(pattern, asked, re.DOTALL) is not None
    return _text(asked) == _text(stored)


def _text(value: Any) -> bytes:
    return write_json(plain(value))
