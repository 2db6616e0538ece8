# SPDX-License-Identifier: Apache-2.0
"""Removing or corrupting a member never yields admit, and a file more never makes a decision lighter.

All changes are judged by the oracle, which the gate equals on all worlds; every few of them the gate itself is asked.
"""

from itertools import count, cycle, islice

import pytest

from worlds.oracle import expected, standing, word
from worlds.spaces import FAMILIES
from worlds.terrain import decided
from worlds.world import FOREIGN, REFUSED, STALE, TWICE, Record

DAMAGES = (*REFUSED, TWICE, *STALE, *FOREIGN)
"""What a member is exchanged for: its own bytes damaged, stale evidence, somebody else's."""
WEIGHT = {"admit": 0, "hold": 1, "block": 2}
DAMAGES_EACH, EXTRAS_EACH = 3, 3
"""How many of them are tried on one member, and how many files are added to one world: they take turns."""
EVERY = 40
"""The gate itself is asked about every so many changes."""


class Asking:
    """Asks the oracle always and the gate now and then."""

    def __init__(self, name, folder, counted):
        self.name, self.folder, self.counted = name, folder, counted
        self.turn = count()

    def word(self, world):
        """The word; both give the same."""
        said = word(world)
        if next(self.turn) % EVERY == 0:
            made = decided(world, self.folder)
            self.counted(self.name, made.word.value)
            assert (said, world) == (made.word.value, world)
        return said


@pytest.mark.parametrize("family", FAMILIES)
def test_a_member_that_is_gone_or_damaged_is_never_admitted(family, folder, counted):
    """Whatever the decision was before: an absent record is no better than a failing one."""
    ask = Asking("members gone or damaged", folder, counted)
    admitted = []
    changes = 0
    rotating = cycle(DAMAGES)
    for world in FAMILIES[family]():
        for record in expected(world):
            damages = islice(rotating, DAMAGES_EACH)
            changed = [world.without(record), *(world.with_wrong(record, wrong) for wrong in damages)]
            changes += len(changed)
            admitted += [other for other in changed if ask.word(other) == "admit"]
    assert [] == admitted[:1]
    assert changes > 0


def extras(world):
    """Files that fill no open place: beside a record that counts, faulty ones, and those of nobody's lane."""
    yield Record(lane="gone", part="all", run=1, attempt=1, outcome="fails")
    for lane in world.lanes:
        for part in lane.parts:
            yield Record(lane=lane.name, part=part, run=world.gate_run, attempt=9)
            for wrong in (*REFUSED, TWICE, "repo", "run", "part"):
                yield Record(lane=lane.name, part=part, run=world.gate_run, attempt=1, wrong=wrong)
    for record in world.records:
        if record.is_readable and standing(record, world) == "fresh":
            for outcome, wrong in (("fails", ""), ("holds", ""), ("holds", "policy"), ("unknown", "tree")):
                yield Record(record.lane, record.part, record.run, record.attempt, outcome, wrong, copy=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_file_more_never_makes_a_decision_lighter(family, folder, counted):
    """It changes nothing, or adds a hold for bytes that nobody can read, or a block."""
    ask = Asking("a file more", folder, counted)
    lighter = []
    for at, world in enumerate(FAMILIES[family]()):
        before = WEIGHT[word(world)]
        every = list(extras(world))
        for extra in islice(
            cycle(every), at * EXTRAS_EACH % len(every), at * EXTRAS_EACH % len(every) + EXTRAS_EACH
        ):
            after = world.with_record(extra)
            if WEIGHT[ask.word(after)] < before:
                lighter.append((world, extra))
    assert [] == lighter[:1]
