# SPDX-License-Identifier: Apache-2.0
"""The newest record of a pool accounts truly for every earlier attempt, and takes samples from nowhere else."""

import pytest

from truegreen.core.outcome import Word
from worlds.spaces import job, lane, record
from worlds.terrain import decided
from worlds.world import Attempt, Run, Said, World

ONE = lane("pool")


def after(first, said, *, artifact=True, lists=True, more=()):
    """A first attempt that left this, and a second one that says that of it."""
    attempts = (Attempt(0, (job(ONE, artifact=artifact),), lists_artifacts=lists), Attempt(10, (job(ONE),)))
    before = (record(ONE, outcome=first),) if first else ()
    chain = (said,) if said else ()
    return World((ONE,), (Run(1, attempts), *more), (*before, record(ONE, attempt=2, chain=chain)))


@pytest.mark.parametrize(
    ("world", "word", "code"),
    [
        (after("unknown", Said(1, 1, "samples", "unknown")), Word.ADMIT, "all-lanes-hold"),
        (after("fails", Said(1, 1, "samples", "fails")), Word.BLOCK, "case-broken"),
        (after(None, Said(1, 1, "samples", "unknown")), Word.ADMIT, "all-lanes-hold"),
        (after("unknown", None), Word.HOLD, "attempt-unaccounted"),
        (after("fails", None), Word.BLOCK, "older-attempt-failed"),
        (after("fails", Said(1, 1, "samples", "holds")), Word.BLOCK, "earlier-differs"),
        (
            after("unknown", Said(1, 1, "samples", "unknown", is_its_record=False)),
            Word.BLOCK,
            "earlier-differs",
        ),
        (after(None, Said(1, 1, "left-none"), artifact=False), Word.ADMIT, "all-lanes-hold"),
        (after(None, Said(1, 1, "left-none")), Word.HOLD, "earlier-not-read"),
        (after(None, Said(1, 1, "left-none"), artifact=False, lists=False), Word.HOLD, "earlier-not-read"),
        (after("unknown", Said(1, 1, "left-none")), Word.BLOCK, "chain-contradicts"),
        (after(None, Said(1, 1, "other-key")), Word.HOLD, "attempt-unaccounted"),
        (after("unknown", Said(1, 1, "other-key")), Word.BLOCK, "chain-contradicts"),
        (after(None, Said(7, 1, "left-none")), Word.BLOCK, "chain-contradicts"),
        (after(None, Said(1, 2, "samples", "holds")), Word.BLOCK, "chain-contradicts"),
    ],
)
def test_what_is_said_of_an_earlier_attempt_is_held_against_it(world, word, code, tmp_path):
    """By the record that is there, by the forge's list of artifacts, by the index."""
    made = decided(world, tmp_path)
    assert (word, code) == (made.word, made.code)


def test_an_attempt_is_named_once(tmp_path):
    """Two stories of one attempt are one too many."""
    twice = after(None, Said(1, 1, "left-none"), artifact=False)
    newest = record(ONE, attempt=2, chain=(Said(1, 1, "left-none"), Said(1, 1, "samples", "holds")))
    assert "chain-contradicts" == decided(World(twice.lanes, twice.runs, (newest,)), tmp_path).code


@pytest.mark.parametrize(
    ("head", "is_there", "said", "code"),
    [
        ("other", True, "holds", "chain-contradicts"),
        ("other", False, "holds", "chain-contradicts"),
        ("same", True, "holds", "all-lanes-hold"),
    ],
)
def test_samples_come_from_attempts_with_this_key(head, is_there, said, code, tmp_path):
    """An earlier push with other files gives none, whether its record is there or not."""
    runs = (Run(1, (Attempt(10, (job(ONE),)),)), Run(2, (Attempt(0, (job(ONE),)),), head=head))
    theirs = (record(ONE, 2, outcome=said),) if is_there else ()
    mine = record(ONE, chain=(Said(2, 1, "samples", said),))
    assert code == decided(World((ONE,), runs, (*theirs, mine)), tmp_path).code


def test_an_attempt_that_judged_another_tree_is_passed_by(tmp_path):
    """Its record beside shows that its key is another one; it satisfies nothing itself."""
    attempts = (Attempt(0, (job(ONE),)), Attempt(10, (job(ONE),)))
    first = record(ONE, outcome="fails", wrong="tree")
    second = record(ONE, attempt=2, chain=(Said(1, 1, "other-key"),))
    made = decided(World((ONE,), (Run(1, attempts),), (first, second)), tmp_path)
    assert (Word.ADMIT, ["superseded", "present"]) == (made.word, [m.standing for m in made.lanes[0].members])
