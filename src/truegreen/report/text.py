# SPDX-License-Identifier: Apache-2.0
"""A decision on a terminal or in a log.

What it decides: which rows a person sees. What it leaves: colours, to the command line; the line, to ``line``.

- The line comes first; then why, each lane's cases, what was disclosed, and what was decided on.
- Every case that does not simply pass has a row; of those that pass, only as many as are read at a glance.
- Untrusted text is on one line and harmless; no line begins with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from truegreen.core.decision import CaseRow, Cause, Decision, LaneRow
from truegreen.core.outcome import Word
from truegreen.report.defused import cut, lines_of, plain
from truegreen.report.line import line_of
from truegreen.report.measured import SHORT_COMMIT, duration, passes, proved
from truegreen.report.reasons import reason_of
from truegreen.report.screen import EMPTY, Line, Screen, Span, Style, line, plain_screen, table
from truegreen.report.sentence import Fact
from truegreen.report.story import Story

AT_A_GLANCE = 15
"""Cases of a lane that are shown even if all of them pass."""
MOST_ROWS = 60
"""Cases of a lane, or causes, that a screen shows."""
DETAIL_LINES = 3
DETAIL_COLUMNS = 160
_STYLE: dict[Word | None, Style] = {Word.ADMIT: "admit", Word.HOLD: "hold", Word.BLOCK: "block", None: "dim"}


def text_of(decision: Decision) -> str:
    """The screen without colours."""
    return plain_screen(screen_of(decision))


def screen_of(decision: Decision) -> Screen:
    """The whole screen."""
    story = Story(decision)
    parts = (
        (line(Span(line_of(decision), _STYLE[decision.word])),),
        tuple(_why(story)),
        *(tuple(_lane(row)) for row in decision.lanes),
        tuple(_notes(story)),
        tuple(_about(decision)),
    )
    return tuple(
        one for number, part in enumerate(parts) if part for one in ((EMPTY, *part) if number else part)
    )


def shown_fact(_name: str, value: Fact) -> str:
    """A fact in a sentence on a screen."""
    return cut(plain(str(value)), DETAIL_COLUMNS)


def _why(story: Story) -> Iterator[Line]:
    if story.decision.word is Word.ADMIT:
        return
    yield line(Span("why", "strong"))
    for cause in story.causes[:MOST_ROWS]:
        yield from _cause(story, cause)
    yield from _left_out(len(story.causes), "causes")


def _cause(story: Story, cause: Cause) -> Iterator[Line]:
    reason = reason_of(cause.code)
    word = cause.word.value if cause.word else "note"
    told = story.sentence(cause, shown_fact)
    yield line("  ", Span(word.ljust(5), _STYLE[cause.word]), f"  {told}  ", Span(plain(cause.code), "dim"))
    for detail in _detail(story.row(cause)):
        yield line(" " * 9, detail)
    owner = story.owner(cause)
    asked = f"owner {cut(plain(owner), DETAIL_COLUMNS)} · " if owner else ""
    yield line(" " * 9, Span(f"{asked}{reason.action}", "dim"))


def _detail(row: CaseRow | None) -> tuple[str, ...]:
    if row is None or not row.detail:
        return ()
    return tuple(cut(part, DETAIL_COLUMNS) for part in lines_of(row.detail)[:DETAIL_LINES] if part)


def _lane(row: LaneRow) -> Iterator[Line]:
    where = ", ".join(plain(name) for name in (row.endpoint, *row.models_served) if name)
    took = f"{row.calls} calls, {duration(row.wall_ms)}, {row.tokens} tokens"
    yield line(
        Span(f"lane {cut(plain(row.lane), DETAIL_COLUMNS)}", "strong"),
        f": {row.outcome.value} · {plain(row.kind)}, {plain(row.role)}, {plain(row.seal)} · {took}",
        f" · {cut(where, DETAIL_COLUMNS)}" if where else "",
    )
    passing = [case for case in row.cases if passes(case)]
    others = [case for case in row.cases if not passes(case)]
    shown = [*others[:MOST_ROWS], *(passing if len(row.cases) <= AT_A_GLANCE else [])]
    if shown:
        yield from table(("case", "passed", "what that proves", "owner", "merge"), map(_cells, shown))
    yield from _left_out(len(others), "cases")
    if len(row.cases) > AT_A_GLANCE and passing:
        proof = proved(passing)
        yield line(f"  {len(passing)} more cases pass{f' ({proof})' if proof else ''}")


def _cells(case: CaseRow) -> tuple[str, ...]:
    excused = f"excused until {case.excused_until}" if case.excused_until else case.then
    return (
        plain(case.id),
        f"{case.passed} of {case.asked}",
        plain(case.proves),
        plain(case.owner or "-"),
        plain(excused),
    )


def _notes(story: Story) -> Iterator[Line]:
    notes = story.decision.notes
    if notes:
        yield line(Span("notes", "strong"))
    for note in notes[:MOST_ROWS]:
        yield line("  ", story.sentence(note, shown_fact), "  ", Span(plain(note.code), "dim"))
    yield from _left_out(len(notes), "notes")


def _left_out(count: int, what: str) -> Iterator[Line]:
    if count > MOST_ROWS:
        yield line(f"  {count - MOST_ROWS} more {what} stand in the decision's record")


def _about(decision: Decision) -> Iterator[Line]:
    about = decision.about
    number = f" #{about.pull_request}" if about.pull_request is not None else ""
    where = "working copy" if about.local else f"{about.head_repo}{number}"
    run = "" if about.local else f", run {about.run_id} attempt {about.run_attempt}"
    head, tip = about.head_sha[:SHORT_COMMIT], about.base_tip[:SHORT_COMMIT]
    into = f" into {about.base_ref}" + (f" at {tip}" if tip else "")
    told = f"decided on {head} ({where}){into}{run}, {decision.now}"
    yield line(Span(cut(plain(told), 2 * DETAIL_COLUMNS), "dim"))
    codes = "" if decision.word is Word.ADMIT else " · truegreen why CODE explains a code"
    yield line(Span(f"mode {plain(decision.mode)}, topology {plain(decision.topology)}{codes}", "dim"))
