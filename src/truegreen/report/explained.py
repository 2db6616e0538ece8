# SPDX-License-Identifier: Apache-2.0
"""One reason explained: its cause in words, the evidence behind it, the next action, the command that shows it.

What it decides: what belongs to an explanation. What it leaves: how it looks, to ``explanation_text`` and
``explanation_pages``; finding and reading a decision, to wiring.

- A code alone is explained as the catalogue has it, with the names of its facts.
- A decision's causes come leading one first, each with the files, attempts and counts that it rests on.
- Commands hold facts quoted for a shell, whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from truegreen.core.decision import CaseRow, Cause, Member, SeenFile
from truegreen.core.outcome import Word
from truegreen.report.defused import cut, plain, shell_word
from truegreen.report.measured import required
from truegreen.report.reasons import ALWAYS, Reason, reason_of
from truegreen.report.sentence import Fact, Shown, filled
from truegreen.report.story import Story

READ_THIS = ": truegreen why"
FACT_CHARACTERS = 300
"""Of one fact in a sentence."""
DETAIL = "expected and got"
"""Name of the one value that may have lines of its own."""
MOST_EVIDENCE = 12
"""Files and attempts that one explanation names."""

Piece = dict[str, Fact]
"""One piece of evidence: what it is, and its values by name."""


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """One reason, explained; its sentences are filled by whoever shows them."""

    reason: Reason
    """Its entry in the catalogue."""
    word: str
    """Its weight here; for a code alone every weight that it may have."""
    told: dict[str, Fact]
    """Facts of its sentences; for a code alone their names."""
    lane: str | None = None
    """Lane."""
    case: str | None = None
    """Case."""
    owner: str | None = None
    """Who is asked."""
    facts: dict[str, Fact] = {}
    """What the gate gave with it."""
    evidence: tuple[Piece, ...] = ()
    """What it rests on."""
    left_out: int = 0
    """Further pieces of evidence that are not named here."""

    def sentence(self, shown: Shown) -> str:
        """The cause in a sentence."""
        return filled(self.reason.line, self.told, shown)

    def paragraph(self, shown: Shown) -> str:
        """The cause in a paragraph."""
        return filled(self.reason.cause, self.told, shown)

    @property
    def action(self) -> str:
        """What to do next, without the advice to read this explanation; empty for an admit."""
        return self.reason.action.removesuffix(READ_THIS).removesuffix(", or")

    def commands(self) -> tuple[str, ...]:
        """Commands that reproduce or repair, on one line each."""
        return tuple(plain(filled(command, self.told, _quoted)) for command in self.reason.next)


def explain_code(reason: Reason) -> Explained:
    """A code as the catalogue has it, with the names of its facts in capitals."""
    names = ALWAYS | set(reason.facts)
    return Explained(
        reason=reason,
        word=" or ".join((reason.word, *reason.also)),
        told={name: name.upper() for name in names},
    )


def explain_decision(story: Story) -> tuple[Explained, ...]:
    """Every cause of a decision, the leading one first, then what was disclosed."""
    return tuple(explain_cause(story, cause) for cause in (*story.causes, *story.decision.notes))


def explain_cause(story: Story, cause: Cause) -> Explained:
    """A cause with the facts and the evidence of its decision."""
    evidence = list(_evidence(story, cause))
    return Explained(
        reason=reason_of(cause.code),
        word=cause.word.value if cause.word else "note",
        told=story.facts(cause),
        lane=cause.lane,
        case=cause.case,
        owner=story.owner(cause),
        facts=dict(cause.facts),
        evidence=tuple(evidence[:MOST_EVIDENCE]),
        left_out=max(0, len(evidence) - MOST_EVIDENCE),
    )


def shown_plain(_name: str, value: Fact) -> str:
    """A fact in a sentence on a terminal."""
    return cut(plain(str(value)), FACT_CHARACTERS)


def _evidence(story: Story, cause: Cause) -> Iterator[Piece]:
    """The case's counts, then the lane's attempts, then the files."""
    row = story.row(cause)
    if row is not None:
        yield _of_case(row)
    if cause.word is Word.ADMIT:
        lanes = required(story.decision)
    else:
        lanes = tuple(lane for lane in story.decision.lanes if lane.lane == cause.lane)
    members = [member for lane in lanes for member in lane.members]
    yield from (_of_member(one) for one in members if cause.facts.get("part") in (None, one.part))
    digests = {member.digest for member in members}
    named = (cause.facts.get("file"), cause.facts.get("container"))
    for file in story.decision.files:
        if (file.name, file.container) == named or (named[0] is None and file.digest in digests):
            yield _of_file(file)


def _of_case(row: CaseRow) -> Piece:
    counts: Piece = {"case": row.id, "passed": row.passed, "asked": row.asked, "state": row.state}
    buckets: Piece = {f"in bucket {name}": count for name, count in row.buckets.items()}
    return counts | {"proves": row.proves} | buckets | ({DETAIL: row.detail} if row.detail else {})


def _of_member(member: Member) -> Piece:
    piece: Piece = {
        "lane": member.lane,
        "part": member.part,
        "run": member.run_id,
        "attempt": member.run_attempt,
        "standing": member.standing,
    }
    return piece | ({"record": member.digest} if member.digest else {})


def _of_file(file: SeenFile) -> Piece:
    piece: Piece = {"file": file.name, "in": file.container, "standing": file.standing}
    return piece | ({"code": file.code} if file.code else {}) | {"digest": file.digest}


def _quoted(_name: str, value: Fact) -> str:
    return shell_word(str(value))
