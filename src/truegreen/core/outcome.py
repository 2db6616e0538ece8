# SPDX-License-Identifier: Apache-2.0
"""Outcomes of one question, words of a decision, and the exit code of each.

- ``unknown`` never rounds up: it is neither ``holds`` nor ``fails``.
- ``block`` outweighs ``hold`` outweighs ``admit``.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class Outcome(Enum):
    """The answer to one question about one lane."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"
    NOT_ASKED = "not-asked"


class Word(Enum):
    """The decision's word."""

    ADMIT = "admit"
    HOLD = "hold"
    BLOCK = "block"

    @property
    def weight(self) -> int:
        """0 for admit, 1 for hold, 2 for block: the heavier word decides."""
        return ("admit", "hold", "block").index(self.value)


def heavier(first: Word, second: Word) -> Word:
    """The word that decides when both were said."""
    return first if first.weight >= second.weight else second


class Exit(IntEnum):
    """Exit codes, the same for every verb."""

    DONE = 0
    BLOCK = 1
    USAGE = 2
    HOLD = 3
    INTERRUPTED = 130


EXIT_OF_WORD = {Word.ADMIT: Exit.DONE, Word.BLOCK: Exit.BLOCK, Word.HOLD: Exit.HOLD}
EXIT_OF_OUTCOME = {
    Outcome.HOLDS: Exit.DONE,
    Outcome.FAILS: Exit.BLOCK,
    Outcome.UNKNOWN: Exit.HOLD,
    Outcome.NOT_ASKED: Exit.HOLD,
}
