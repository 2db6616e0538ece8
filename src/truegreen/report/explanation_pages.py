# SPDX-License-Identifier: Apache-2.0
"""Explanations for pages and for tools: Markdown and JSON.

- The JSON is versioned, and written so that a log may hold it: what a terminal or a runner obeys stands as escapes.
- In the Markdown every text that somebody else wrote is code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from truegreen.core.canonical import write_json
from truegreen.report import marked
from truegreen.report.as_json import json_of
from truegreen.report.explained import Explained, Piece, shown_plain

SCHEMA = "truegreen/why/v1"
MOST = 20
"""Reasons that a page explains."""


def explanation_json(told: Sequence[Explained], head: str = "", digest: str | None = None) -> str:
    """The explanations as JSON; ``head`` and ``digest`` are the decision's, empty for a code alone."""
    reasons = [_value(one) for one in told]
    return json_of(write_json({"schema": SCHEMA, "line": head, "decision": digest, "reasons": reasons}))


def explanation_markdown(told: Sequence[Explained], head: str = "") -> str:
    """The explanations as Markdown."""
    parts = [f"### {marked.code(head)}\n"] if head else []
    parts += ["\n".join(_reason(one)) + "\n" for one in told[:MOST]]
    if len(told) > MOST:
        parts.append(f"{len(told) - MOST} more reasons stand in the decision's record.\n")
    return "\n".join(parts)


def _value(one: Explained) -> dict[str, Any]:
    return {
        "code": one.reason.code,
        "word": one.word,
        "title": one.reason.title,
        "line": one.sentence(shown_plain),
        "cause": one.paragraph(shown_plain),
        "action": one.action,
        "commands": one.commands(),
        "rule": one.reason.rule,
        "lane": one.lane,
        "case": one.case,
        "owner": one.owner,
        "facts": one.facts,
        "evidence": one.evidence,
        "left_out": one.left_out,
    }


def _reason(one: Explained) -> Iterator[str]:
    yield f"#### {marked.words(one.reason.code)} ({one.word}): {one.reason.title}"
    yield ""
    yield one.paragraph(marked.fact)
    yield ""
    yield from ([f"- Owner: {marked.code(one.owner)}"] if one.owner else [])
    yield from ([f"- Next: {one.action}"] if one.action else [])
    yield from (f"- Command: {marked.command(command)}" for command in one.commands())
    yield f"- Rule: {one.reason.rule}"
    yield from (f"- Evidence: {_piece(piece)}" for piece in one.evidence)
    yield from ([f"- And {one.left_out} more pieces of evidence"] if one.left_out else [])


def _piece(piece: Piece) -> str:
    return ", ".join(
        f"{marked.words(name)} {value if isinstance(value, int) else marked.code(value)}"
        for name, value in piece.items()
    )
