# SPDX-License-Identifier: Apache-2.0
"""Which record belongs to which attempt: the newest is by start time, and two files of one text are one record."""

from dataclasses import replace

import pytest

from truegreen.core.outcome import Word
from worlds.spaces import job, lane, record
from worlds.terrain import decided
from worlds.world import Attempt, Run, World


def runs_of(one, *starts):
    """Runs 1, 2, … that began then."""
    return tuple(Run(number, (Attempt(at, (job(one),)),)) for number, at in enumerate(starts, start=1))


@pytest.mark.parametrize(("starts", "word"), [((0, 10), Word.ADMIT), ((10, 0), Word.HOLD)])
def test_the_newest_attempt_is_the_one_that_began_last(starts, word, tmp_path):
    """Not the one with the highest number."""
    one = lane("exact")
    left = (record(one, 1, outcome="unknown"), record(one, 2))
    assert word is decided(World((one,), runs_of(one, *starts), left), tmp_path).word


def test_two_files_of_one_text_are_one_record(tmp_path):
    """A forge may hand out an artifact twice."""
    one = lane("exact")
    left = record(one)
    assert Word.ADMIT is decided(World((one,), runs_of(one, 0), (left, replace(left, copy=1))), tmp_path).word


def test_a_missing_newest_record_leaves_the_older_failure_standing(tmp_path):
    """The lane is not only incomplete: it failed."""
    for rule in ("pool", "exact", "carry"):
        one = lane(rule)
        world = World((one,), runs_of(one, 0, 10), (record(one, 1, outcome="fails"),))
        assert Word.BLOCK is decided(world, tmp_path).word


def test_an_attempt_that_left_an_unreadable_record_was_not_lost(tmp_path):
    """The file that cannot be read holds by itself, whatever its name says."""
    one = lane("exact")
    attempts = (Attempt(0, (job(one, "lost", artifact=False),)), Attempt(10, (job(one),)))
    stale = record(one, wrong="policy")
    world = World((one,), (Run(1, attempts),), (stale, record(one, attempt=2)))
    made = decided(world, tmp_path)
    assert (Word.HOLD, "left-no-record") == (made.word, made.code)


def test_an_older_record_with_another_key_is_not_passed_over(tmp_path):
    """It judged something else: its failure is not this change's."""
    one = lane("pool")
    attempts = (Attempt(0, (job(one),)), Attempt(10, (job(one),)))
    first = record(one, outcome="fails", wrong="tree")
    world = World((one,), (Run(1, attempts),), (first, record(one, attempt=2)))
    made = decided(world, tmp_path)
    assert (Word.HOLD, "attempt-unaccounted") == (made.word, made.code)
