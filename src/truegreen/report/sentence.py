# SPDX-License-Identifier: Apache-2.0
"""Sentences with facts in braces: how the catalogue's words and a cause's facts become text.

What it decides: the small grammar, and what stands where a fact is missing. What it leaves: how a fact is made
harmless for a terminal, a page or a shell, to the function that each rendering hands in.

- ``{name}`` is a fact. ``[ … {name} … ]`` is left out as a whole when one of its facts is missing.
- Any other missing fact reads ``?``: a rendering never fails for the want of a word.
- Brackets and braces have no other use, so that no sentence of ours can be half of a workflow command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec

from truegreen.core.errors import EvidenceProblem

MISSING = "?"
"""What stands in place of a fact that the cause does not bring."""

Fact = str | int
Shown = Callable[[str, Fact], str]
"""Makes a fact harmless for one medium: gets its name and its value."""

_TOKEN = re.compile(r"\{(?P<name>[a-z][a-z_]*)\}|(?P<mark>[\[\]])|(?P<text>[^\[\]{}]+)")


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a sentence that stands or falls together."""

    parts: tuple[tuple[str, str], ...]
    """Pairs of ``text`` or ``name`` and the value."""
    optional: bool
    """Whether it is left out when a fact is missing."""

    @property
    def names(self) -> frozenset[str]:
        """The facts that it needs."""
        return frozenset(value for kind, value in self.parts if kind == "name")


@lru_cache(maxsize=1024)
def parsed(template: str) -> tuple[Piece, ...]:
    """The pieces of a template.

    Raises: EvidenceProblem ``bad-sentence`` for a stray brace, brackets that do not match or stand inside one
    another, and an optional piece without a fact.
    """
    pieces: list[Piece] = []
    parts: list[tuple[str, str]] = []
    is_open = False
    position = 0
    while position < len(template):
        token = _TOKEN.match(template, position)
        if token is None or token["mark"] == ("[" if is_open else "]"):
            raise _bad(template, position)
        position = token.end()
        if token["mark"]:
            _close(pieces, parts, optional=is_open)
            if is_open and not pieces[-1].names:
                raise _bad(template, position)
            parts, is_open = [], not is_open
        else:
            parts.append(("name", token["name"]) if token["name"] else ("text", token["text"]))
    if is_open:
        raise _bad(template, position)
    _close(pieces, parts, optional=False)
    return tuple(pieces)


def names_in(template: str, *, needed: bool = False) -> frozenset[str]:
    """The facts that a template names; with ``needed`` only those without which it reads ``?``."""
    pieces = [piece for piece in parsed(template) if not (needed and piece.optional)]
    return frozenset[str]().union(*(piece.names for piece in pieces))


def filled(template: str, facts: Mapping[str, Fact], shown: Shown) -> str:
    """The sentence with its facts, each made harmless by ``shown``."""
    return "".join(
        _value(kind, value, facts, shown)
        for piece in parsed(template)
        if not (piece.optional and not piece.names <= facts.keys())
        for kind, value in piece.parts
    )


def _value(kind: str, value: str, facts: Mapping[str, Fact], shown: Shown) -> str:
    if kind == "text":
        return value
    return shown(value, facts[value]) if value in facts else MISSING


def _close(pieces: list[Piece], parts: list[tuple[str, str]], *, optional: bool) -> None:
    if parts or optional:
        pieces.append(Piece(parts=tuple(parts), optional=optional))


def _bad(template: str, position: int) -> EvidenceProblem:
    return EvidenceProblem(
        "bad-sentence", f"the sentence {template!r} cannot be read at character {position}"
    )
