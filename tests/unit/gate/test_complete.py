# SPDX-License-Identifier: Apache-2.0
"""Whether everything is there: what the run index must say, what is disclosed, and what came of each member."""

from dataclasses import replace

import msgspec
import pytest

from truegreen.core.errors import ReachProblem
from truegreen.core.outcome import Word
from truegreen.gate.complete import CHECKS
from truegreen.gate.decide import decide
from truegreen.gate.intake import Evidence
from truegreen.wiring.rehearsal.chains import left_nothing, run_again
from truegreen.wiring.rehearsal.events import queued
from truegreen.wiring.rehearsal.tricks import index, own_run, subject, without_evidence
from truegreen.wiring.rehearsal.ways import WAYS
from worlds import oracle
from worlds.spaces import FAMILIES, job, lane, record
from worlds.terrain import decided as decided_world
from worlds.world import Attempt, Run, World


def told(change):
    """A trick that tells the run index otherwise."""
    return lambda actors: index(actors, lambda listed: msgspec.structs.replace(listed, **change))


INDEXES = {
    "no page may be missing": (told({"complete": False}), "a page or a count is missing"),
    "it covers the pull request": (told({"pull_requests": (8,)}), "does not cover pull request 7"),
    "it has the gate's own run": (told({"runs": ()}), "lacks run 1001 attempt 1"),
    "it lists every job": (
        lambda actors: own_run(
            actors,
            lambda run: msgspec.structs.replace(
                run, attempts=(msgspec.structs.replace(run.attempts[0], jobs_complete=False),)
            ),
        ),
        "lacks jobs of an attempt",
    ),
    "it is there": (lambda actors: replace(actors.stage, index=None), "no run index"),
}


@pytest.mark.parametrize("name", INDEXES)
def test_the_forge_s_list_is_whole(name, decided):
    """Otherwise nobody knows which attempts there were."""
    trick, problem = INDEXES[name]
    made = decided(trick)
    [found] = [cause for cause in made.causes if cause.code == "attempts-unknown"]
    assert (Word.HOLD, True) == (made.word, problem in found.facts["problem"])


def test_the_forge_s_list_is_about_this_head(decided):
    """One of another commit says nothing."""
    assert "index-other-head" == decided(told({"head_sha": "c" * 40})).code


def test_a_queue_s_list_names_its_pull_requests(actors, decided):
    """Without them nobody knows what was measured before the queue."""
    made = decided(
        lambda actors: replace(
            queued(actors).stage,
            index=msgspec.structs.replace(queued(actors).stage.index, pull_requests=()),
        )
    )
    assert (Word.HOLD, "attempts-unknown") == (made.word, made.code)


class _Forgetful:
    """A clone that loses its history after binding: the second question where the head stands has no answer."""

    def __init__(self, git):
        self._git = git
        self._asked = 0

    def __getattr__(self, name):
        return getattr(self._git, name)

    def merge_base(self, one, other):
        self._asked += 1
        if self._asked > 1:
            raise ReachProblem("missing-object", "the commit is gone")
        return self._git.merge_base(one, other)


def test_a_base_that_cannot_be_told_holds(actors, asked):
    """No key can be compared without it."""
    with actors.stage.git.asking() as git:
        made = decide(asked(git=_Forgetful(git)), Evidence())
    assert (Word.HOLD, "missing-object") == (made.word, made.code)


def test_a_base_behind_the_tip_is_disclosed(actors, decided):
    """Evidence against an older base counts and is called that."""
    with actors.stage.git.asking() as git:
        older = git.parents(actors.base)[0]
    made = decided(lambda actors: subject(actors, base_sha=older))
    [note] = [note for note in made.notes if note.code == "base-not-held"]
    assert (Word.ADMIT, older, actors.base) == (made.word, note.facts["base_sha"], note.facts["tip"])


def test_a_lane_that_measured_on_two_events_holds(decided):
    """Only one event's records can count, and the other one's attempts can never be accounted for."""
    made = decided(next(way.trick for way in WAYS if way.code == "event-mismatch"))
    assert (Word.HOLD, "event-mismatch") == (made.word, made.code)


def test_runs_that_are_not_read_are_disclosed(tmp_path):
    """``runs = "this"`` leaves close and reopen open."""
    one = lane("exact", runs="this")
    world = World((one,), (Run(1, (Attempt(0, (job(one),)),)),), (record(one),))
    assert "other-runs-not-read" in [note.code for note in decided_world(world, tmp_path).notes]


def test_an_attempt_that_was_lost_is_disclosed(tmp_path):
    """It is no member and still told."""
    one = lane("exact")
    attempts = (Attempt(0, (job(one, "lost", artifact=False),)), Attempt(10, (job(one),)))
    world = World((one,), (Run(1, attempts),), (record(one, attempt=2),))
    made = decided_world(world, tmp_path)
    assert (Word.ADMIT, ["lost", "present"]) == (made.word, [m.standing for m in made.lanes[0].members])
    assert {"run_id": 1, "attempt": 1} == next(n for n in made.notes if n.code == "attempt-lost").facts


def test_members_say_what_came_of_them(decided):
    """Carried by the newest ledger, said to have left nothing, present, missing."""
    standings = {
        name: [member.standing for member in decided(trick).lanes[0].members]
        for name, trick in (("again", run_again), ("none", left_nothing), ("gone", without_evidence))
    }
    assert {
        "again": ["carried", "present"],
        "none": ["left-none", "present"],
        "gone": ["missing"],
    } == standings


def test_a_world_without_attempts_says_which_job_never_began(tmp_path):
    """Waiting, skipped and absent are three things."""
    one = lane("exact")
    found = {}
    for state in ("waiting", "skipped", ""):
        jobs = (job(one, state),) if state else ()
        world = World((one,), (Run(1, (Attempt(0, jobs),)),))
        found[state] = decided_world(world, tmp_path).code
    assert {"waiting": "still-running", "skipped": "skipped-job", "": "never-started"} == found


def test_every_check_has_a_name_of_its_own():
    """A test can take each of them away."""
    assert len(CHECKS) == len({check.__name__ for check in CHECKS})


def test_a_lane_s_part_is_complete_by_itself(tmp_path):
    """A part that is there does not stand for one that is not."""
    one = lane("exact", parts=True)
    runs = (Run(1, (Attempt(0, (job(one, part="a"), job(one, part="b"))),)),)
    world = World((one,), runs, (record(one, part="a"),))
    made = decided_world(world, tmp_path)
    assert (Word.HOLD, "b") == (made.word, made.causes[0].facts["part"])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_few_worlds_of_every_family_get_their_word(family, tmp_path):
    """All of them are decided in tests/worlds; here every fortieth is."""
    some = [world for at, world in enumerate(FAMILIES[family]()) if at % 40 == 0]
    assert [oracle.word(world) for world in some] == [
        decided_world(world, tmp_path).word.value for world in some
    ]
