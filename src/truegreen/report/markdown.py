# SPDX-License-Identifier: Apache-2.0
"""A decision as a page of Markdown: a step's summary, a comment.

What it decides: what stands in the head, and what is left out when the page would be too large. What it leaves:
the folds below it, to ``folds``; escaping, to ``marked``; posting, to whoever asked.

- The head has no jargon: what broke, k of n here, what that proves, whose it is, and what one can do.
- The page is smaller than its limit in UTF-8. What does not fit is left out by rows, and the page says how many.

Source: GitHub takes 1 MiB of summary a step and 65,536 characters of comment.
"""

from __future__ import annotations

from truegreen.core.decision import CaseRow, Cause, Decision
from truegreen.core.outcome import Word
from truegreen.report import marked
from truegreen.report.folds import Rows, folds_of, next_commands
from truegreen.report.line import head_of
from truegreen.report.measured import admitted, short_head
from truegreen.report.reasons import reason_of
from truegreen.report.sentence import Fact, Shown
from truegreen.report.story import Story

SUMMARY_BYTES = 1024 * 1024
"""Limit of a step's summary (GitHub)."""
COMMENT_BYTES = 65_536
"""Limit of a comment (GitHub counts characters; bytes are never fewer)."""
ROWS = (2_000, 400, 100, 25, 5, 1)
"""Rows of each list, tried in this order until the page fits."""
RECORD_HAS_ALL = "the decision's record has everything"


def markdown_of(decision: Decision, limit_bytes: int = SUMMARY_BYTES) -> str:
    """The page, smaller than ``limit_bytes`` in UTF-8."""
    story = Story(decision)
    for most in ROWS:
        page = _page(story, Rows(most), limit_bytes)
        if len(page.encode()) < limit_bytes:
            return page
    return f"### {head_of(decision).strip()}\n\nThe page is left out: {RECORD_HAS_ALL}.\n"


def _page(story: Story, rows: Rows, limit_bytes: int) -> str:
    parts = [
        *_head(story),
        _broken(story, rows),
        _others(story, rows),
        _can(story),
        *folds_of(story, rows),
    ]
    if rows.left_out:
        told = ", ".join(f"{count} {what}" for what, count in rows.left_out.items())
        parts.append([f"Left out to stay below {limit_bytes // 1024} KiB: {told}; {RECORD_HAS_ALL}."])
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(story: Story) -> tuple[list[str], list[str]]:
    """The heading, and the sentence below it."""
    decision, lead = story.decision, story.lead
    word = head_of(decision).strip()
    if decision.word is Word.ADMIT:
        told, took = admitted(decision)
        where = ", working copy" if decision.about.local else ""
        return [f"### {word} {told}"], [f"{took} · {marked.code(short_head(decision))}{where}"]
    more = f"and {lead.others} more · " if lead.others else ""
    owner = f"owner {marked.code(lead.owner)} · " if lead.owner else ""
    told = story.sentence(lead.cause, _short(story))
    return [f"### {word} {told}"], [f"{more}{owner}{lead.reason.action}"]


def _short(story: Story) -> Shown:
    """Facts of the head: a case by the name that people call it."""

    def shown(name: str, value: Fact) -> str:
        return marked.fact(name, story.short(str(value)) if name == "case" else value)

    return shown


def _broken(story: Story, rows: Rows) -> list[str]:
    """The cases that speak against the merge, a row each."""
    head = ("case", "passed here", "what that proves", "owner", "")
    return marked.table(head, (_case(story, *pair) for pair in rows.few("cases", story.against)))


def _case(story: Story, cause: Cause, row: CaseRow) -> tuple[str, ...]:
    return (
        marked.cell(story.short(row.id)),
        f"{row.passed} of {row.asked}",
        marked.words(row.proves, in_table=True),
        marked.cell(story.owner(cause) or ""),
        reason_of(cause.code).title.lower(),
    )


def _others(story: Story, rows: Rows) -> list[str]:
    """Causes that are no case's, a point each; the leading one stands in the head."""
    others = [cause for cause in story.causes[1:] if not story.row(cause)]
    return [
        f"- {story.sentence(cause, marked.fact)} · {reason_of(cause.code).action}"
        for cause in rows.few("causes", others)
    ]


def _can(story: Story) -> list[str]:
    """What one can do now, the shortest way first."""
    if story.decision.word is Word.ADMIT:
        return []
    lead = story.lead
    ways = [lead.reason.action if lead.cause.case is None else "fix the code and push"]
    if any(cause.code == "case-flaky" for cause in story.causes):
        ways.append("quarantine the unsteady case, in a pull request of its own")
    ways += [f"reproduce: {command}" for command in next_commands(story, lead.cause)[:1]]
    return [f"**You can:** {' · '.join(ways)}"]
