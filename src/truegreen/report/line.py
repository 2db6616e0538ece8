# SPDX-License-Identifier: Apache-2.0
"""The one line of a decision: its word, the cause in words, the next action.

What it decides: which cause is told, in which words, and what is left out when room is short. What it leaves: the
words themselves, to the catalogue; the decision, to the gate.

- At most 140 characters (code points): what a forge keeps of a commit status. One line, whatever a name holds.
- The word and the action are never cut. Names are shortened first, then owner and count of other causes go, then the
  cause loses its end.
- A decision about one lane says HOLDS, FAILS or UNKNOWN; only a decision about everything says ADMIT.
- An admit says what was measured and what that proves, from the bounds; nothing about cost without a price table.
"""

from __future__ import annotations

from collections.abc import Iterator

from truegreen.core.decision import Decision
from truegreen.core.outcome import Word
from truegreen.report.defused import cut, cut_middle, plain
from truegreen.report.measured import admitted, short_head
from truegreen.report.sentence import Fact
from truegreen.report.story import Story

LIMIT = 140
"""Characters: the description of a commit status (GitHub) takes no more."""
SEPARATOR = " · "

_OF_ONE_LANE = {Word.ADMIT: "HOLDS", Word.HOLD: "UNKNOWN", Word.BLOCK: "FAILS"}
_WIDEST_WORD = 5
_BOTH_ENDS = frozenset({"case", "file", "container", "id"})
"""Facts whose end tells them from their neighbours: such a name is cut in its middle."""
_FACT_ROOM = (60, 40, 28)
"""Characters that each fact may take, tried in this order before something else is left out."""
_LAST_ROOM = (20, 12)
_OWNER_ROOM = 24


def line_of(decision: Decision) -> str:
    """The line of a decision; its own ``line`` field is not read."""
    head = head_of(decision)
    if decision.word is Word.ADMIT:
        return _admit_line(decision, head)
    story = Story(decision)
    action = story.lead.reason.action
    room = LIMIT - len(head) - 1 - len(SEPARATOR) - len(action)
    cause = next((told for told in _tellings(story) if len(told) <= room), None)
    if cause is None:
        cause = cut(_told(story, _LAST_ROOM[-1]), room)
    return f"{head} {cause}{SEPARATOR}{action}"


def head_of(decision: Decision) -> str:
    """The decision word as people see it, padded to the widest, with the mode where it is not enforced."""
    word = decision.word.value.upper() if decision.only_lane is None else _OF_ONE_LANE[decision.word]
    return f"{word} (observe)" if decision.mode == "observe" else word.ljust(_WIDEST_WORD)


def _admit_line(decision: Decision, head: str) -> str:
    told, took = admitted(decision)
    where = ", working copy" if decision.about.local else ""
    tail = f"{SEPARATOR}{took}{SEPARATOR}{plain(short_head(decision))}{where}"
    return f"{head} {cut(told, LIMIT - len(head) - 1 - len(tail))}{tail}"


def _tellings(story: Story) -> Iterator[str]:
    """The cause in ever fewer characters."""
    lead = story.lead
    more = f" (and {lead.others} more)" if lead.others else ""
    owner = f"{SEPARATOR}owner {cut(plain(lead.owner), _OWNER_ROOM)}" if lead.owner else ""
    yield _told(story, LIMIT) + more + owner
    for extras in (more + owner, owner, ""):
        for room in _FACT_ROOM:
            yield _told(story, room) + extras
    for room in _LAST_ROOM:
        yield _told(story, room)


def _told(story: Story, room: int) -> str:
    def shown(name: str, value: Fact) -> str:
        text = str(value)
        if name in ("case", "id"):
            text = story.short(text)
        elif name == "ids":
            text = ", ".join(one.partition("::")[2] or one for one in text.split(", "))
        return (cut_middle if name in _BOTH_ENDS else cut)(plain(text), room)

    return story.sentence(story.lead.cause, shown)
