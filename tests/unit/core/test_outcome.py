# SPDX-License-Identifier: Apache-2.0
"""Outcomes, words and exit codes."""

import itertools

import pytest

from truegreen.core.outcome import EXIT_OF_OUTCOME, EXIT_OF_WORD, Exit, Outcome, Word, heavier


def test_block_outweighs_hold_outweighs_admit():
    """The order of the words, from light to heavy."""
    assert [Word.ADMIT, Word.HOLD, Word.BLOCK] == sorted(Word, key=lambda word: word.weight)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(Word, repeat=2)))
def test_the_heavier_word_decides_whatever_the_order(one, other):
    """Commutative, and never lighter than either."""
    assert heavier(one, other) == heavier(other, one)
    assert max(one.weight, other.weight) == heavier(one, other).weight


def test_only_admit_and_holds_exit_0():
    """Every word and every outcome has an exit code, and what is not green is never 0."""
    assert {Word.ADMIT: 0, Word.HOLD: 3, Word.BLOCK: 1} == {word: int(EXIT_OF_WORD[word]) for word in Word}
    assert {Outcome.HOLDS: 0, Outcome.FAILS: 1, Outcome.UNKNOWN: 3, Outcome.NOT_ASKED: 3} == {
        outcome: int(EXIT_OF_OUTCOME[outcome]) for outcome in Outcome
    }


def test_there_are_five_exit_codes():
    """The same for every verb."""
    assert [0, 1, 2, 3, 130] == sorted(Exit)
