# SPDX-License-Identifier: Apache-2.0
"""Every check of the gate is missed by somebody: taken away, it turns a world or a way to fool the gate.

``IN_WORLDS`` names the family in which a check is missed; what only a real ledger, a policy or a working copy can miss
is missed by the rows of ``tests/unit/wiring/rehearsal/test_ways.py``, whose names stand in the ways themselves.
"""

import msgspec
import pytest

from factories.defences import CHECKS, LISTS
from truegreen.wiring.rehearsal.ways import WAYS
from worlds.oracle import word
from worlds.probes import PROBE_RULES
from worlds.spaces import FAMILIES
from worlds.terrain import decided

IN_WORLDS = {
    "not_local": "alone",
    "own_repository": "alone",
    "listed_workflow": "other-runs",
    "own_head_repository": "other-runs",
    "part_known": "alone",
    "agrees_with_run": "alone",
    "kind_matches": "alone",
    "not_dirty": "alone",
    "own_pull_request": "alone",
    "own_head": "other-runs",
    "own_base_ref": "alone",
    "run_counts": "other-runs",
    "not_before_its_job": "alone",
    "base_on_branch": "bases",
    "base_is_tip": "bases",
    "tree_recomputed": "alone",
    "tree_of_the_group": "queue",
    "own_policy": "alone",
    "ruler_recomputed": "alone",
    "subject_recomputed": "alone",
    "not_from_the_future": "alone",
    "index_is_complete": "indexes",
    "heads_can_be_told": "queue",
    "jobs_are_unambiguous": "twins",
    "one_record_each": "extras",
    "something_started": "parts",
    "one_event_measured": "other-runs",
    "attempts_have_ended": "reruns",
    "newest_left_its_record": "reruns",
    "newest_job_succeeded": "alone",
    "every_attempt_is_named": "reruns",
    "embedded_is_what_was_said": "reruns",
    "left_none_left_none": "reruns",
    "other_key_is_another_key": "reruns",
    "links_lead_somewhere": "other-runs",
    "older_left_their_records": "unlisted",
    "not_lost_too_often": "losses",
    "no_older_failure": "reruns",
    "quarantine_is_in_order": "indexes",
}
"""Check to the family in which its absence is noticed."""
IN_NOTES = {"topology_is_named": "topology-editable", "check_is_shown": "check-not-shown"}
"""Check that only discloses to what it discloses."""
IN_WAYS = sorted({name for way in WAYS for name in way.defences} & {name for _, name in CHECKS})


def without(name):
    """The gate's rules, with the probes, without one check."""
    room = next(room for room, check in CHECKS if check == name)
    kept = tuple(check for check in LISTS[room] if check.__name__ != name)
    return msgspec.structs.replace(PROBE_RULES, **{room: kept})


@pytest.mark.parametrize("name", IN_WORLDS)
def test_a_check_that_is_taken_away_is_missed_in_a_world(name, folder):
    """The gate then says another word than the world deserves."""
    rules = without(name)
    assert any(
        decided(world, folder, rules).word.value != word(world) for world in FAMILIES[IN_WORLDS[name]]()
    )


@pytest.mark.parametrize("name", IN_NOTES)
def test_a_disclosure_that_is_taken_away_is_missed(name, folder):
    """It changes no word; people would not be told."""
    world = next(FAMILIES["alone"]())
    told = [
        IN_NOTES[name] in {note.code for note in decided(world, folder, rules).notes}
        for rules in (PROBE_RULES, without(name))
    ]
    assert [True, False] == told


def test_every_check_is_missed_by_somebody():
    """A new check joins the worlds or gets a row of its own; one that nothing misses is not needed."""
    assert {name for _, name in CHECKS} == {*IN_WORLDS, *IN_WAYS, *IN_NOTES}
