# SPDX-License-Identifier: Apache-2.0
"""Explanations on a terminal.

- The decision's line first, then the leading reason whole; further reasons in the same form, notes in one line each.
- A paragraph is wrapped; commands and evidence are not, so that they can be copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from truegreen.report.defused import cut, lines_of, plain
from truegreen.report.explained import DETAIL, Explained, Piece, shown_plain
from truegreen.report.screen import EMPTY, Line, Screen, Span, Style, labelled, line, paragraph

MOST = 20
"""Reasons that a screen explains."""
VALUE_CHARACTERS = 300
COMMAND_CHARACTERS = 4_000
"""A command is shown whole up to here: half a command is worse than none."""
_STYLES: dict[str, Style] = {"admit": "admit", "hold": "hold", "block": "block"}


def explanation_screen(told: Sequence[Explained], head: str = "") -> Screen:
    """The screen; ``head`` is the decision's line, empty for a code alone."""
    weighty = [one for one in told if one.word != "note" or not head]
    notes = [one for one in told if one.word == "note" and head]
    lines: list[Line] = [line(Span(plain(head), "strong")), EMPTY] if head else []
    for one in weighty[:MOST]:
        lines += [*_reason(one), EMPTY]
    if len(weighty) > MOST:
        lines += [line(f"{len(weighty) - MOST} more reasons stand in the decision's record"), EMPTY]
    if notes:
        lines += [line(Span("notes", "strong"))]
        lines += [_note(one) for one in notes[:MOST]]
        lines += [EMPTY]
    return tuple(lines[:-1])


def _note(one: Explained) -> Line:
    return line("  ", one.sentence(shown_plain), "  ", Span(plain(one.reason.code), "dim"))


def _reason(one: Explained) -> Iterator[Line]:
    reason, style = one.reason, _STYLES.get(one.word, "strong")
    yield line(Span(f"{plain(reason.code)} ({one.word})", style), f": {reason.title}")
    yield line("  ", Span(one.sentence(shown_plain), "strong"))
    yield EMPTY
    yield from paragraph(one.paragraph(shown_plain), indent=2)
    yield EMPTY
    yield from labelled("owner", [plain(one.owner)] if one.owner else [])
    yield from labelled("next", [one.action] if one.action else [])
    yield from labelled("run", one.commands(), limit=COMMAND_CHARACTERS)
    yield from labelled("rule", [reason.rule])
    yield from labelled("evidence", [text for piece in one.evidence for text in _piece(piece)])
    yield from labelled("", [f"and {one.left_out} more in the decision's record"] if one.left_out else [])


def _piece(piece: Piece) -> Iterator[str]:
    """A piece of evidence in one line; a text with lines of its own stands below it."""
    texts = {name: value for name, value in piece.items() if name != DETAIL}
    yield ", ".join(f"{name} {cut(plain(str(value)), VALUE_CHARACTERS)}" for name, value in texts.items())
    for part in lines_of(str(piece.get(DETAIL, "")))[:3]:
        if part:
            yield f"  {cut(part, VALUE_CHARACTERS)}"
