# SPDX-License-Identifier: Apache-2.0
"""Beyond the bound: larger worlds that nobody thought of."""

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from worlds.oracle import expected, word
from worlds.terrain import decided
from worlds.world import BEHIND, FOREIGN, REFUSED, STALE, TWICE, Attempt, Job, Lane, Record, Run, Said, World

STATES = ("done",) * 16 + ("failed", "lost", "lost", "skipped", "carried", "carried", "waiting", "running")
WRONGS = ("",) * 150 + (BEHIND, BEHIND, BEHIND, *STALE, *FOREIGN, *REFUSED, TWICE)
OUTCOMES = ("holds",) * 12 + ("flaky", "flaky", "unknown", "fails")


@st.composite
def lanes(draw):
    """One to three lanes, the first of them required."""
    found = []
    for at, name in enumerate(("one", "two", "three")[: draw(st.integers(1, 3))]):
        rule = draw(st.sampled_from(("pool", "exact", "carry")))
        parts = draw(st.sampled_from(("", "-parts")))
        roles = ("required",) if at == 0 else ("required", "consulted", "advisory")
        found.append(
            Lane(
                name,
                f"probe-{rule}{parts}",
                draw(st.sampled_from(roles)),
                draw(st.sampled_from(("same-tree", "same-tree", "this"))),
                draw(st.sampled_from(("ancestor", "ancestor", "tip"))),
            )
        )
    return tuple(found)


@st.composite
def attempts(draw, of, starts):
    """One to three attempts in which every lane's jobs ran, or did something else."""
    made = []
    for _ in range(draw(st.integers(1, 3))):
        jobs = []
        for lane in of:
            for part in lane.parts:
                state = draw(st.sampled_from(STATES))
                artifact = state in ("done", "failed", "lost") and draw(
                    st.sampled_from((True,) * 9 + (False,))
                )
                jobs.append(Job(lane.name, part, state, artifact))
        ended = draw(st.sampled_from((True,) * 9 + (False,)))
        made.append(
            Attempt(starts.pop(), tuple(jobs), ended, draw(st.sampled_from((True, True, True, False))))
        )
    return tuple(sorted(made, key=lambda one: one.at))


@st.composite
def chains(draw, earlier, record):
    """What a record says of the attempts before it: mostly the truth."""
    said = []
    for run, attempt, there in earlier:
        outcome = there.outcome if there is not None else "holds"
        standing = "samples" if there is not None else "left-none"
        match draw(
            st.sampled_from(("truth",) * 25 + ("omit", "left-none", "other-key", "rewritten", "digest"))
        ):
            case "truth":
                said.append(Said(run, attempt, standing, outcome if standing == "samples" else None))
            case "omit":
                pass
            case "rewritten":
                said.append(Said(run, attempt, "samples", "holds"))
            case "digest":
                said.append(Said(run, attempt, "samples", outcome, is_its_record=False))
            case other:
                said.append(Said(run, attempt, other))
    return tuple(said)


@st.composite
def worlds(draw):
    """Lanes, runs in any order of start, and records that mostly fit."""
    of = draw(lanes())
    event_name = draw(
        st.sampled_from(("pull_request", "pull_request", "pull_request", "merge_group", "push"))
    )
    starts = draw(st.permutations(range(0, 90, 10)))
    heads = {
        "pull_request": ("head", "head", "same", "other", "stranger"),
        "merge_group": ("head", "pr", "pr", "pr-behind", "lost"),
        "push": ("head",),
    }[event_name]
    runs = [Run(1, draw(attempts(of, starts)))]
    for number in range(2, draw(st.integers(1, 3)) + 1):
        head = draw(st.sampled_from(heads))
        workflow = draw(st.sampled_from(("lanes", "lanes", "lanes", "else")))
        came_from = draw(st.sampled_from(("here",) * 18 + ("fork", "push")))
        is_push = came_from == "push" and (event_name, head) == ("pull_request", "head")
        runs.append(Run(number, draw(attempts(of, starts)), head, workflow, came_from == "fork", is_push))
    records = draw(evidence(of, runs))
    index = draw(st.sampled_from(("whole",) * 30 + ("none", "short", "jobs-short", "other-head", "old")))
    quarantine = draw(st.sampled_from(("live",) * 12 + ("none", "none", "dropped", "expired")))
    return World(of, tuple(runs), records, index, event_name, quarantine)


@st.composite
def evidence(draw, of, runs):
    """A record of most jobs that ran, oldest first, some of them wrong."""
    found = []
    for lane in of:
        for part in lane.parts:
            earlier = []
            ran = [
                (attempt.at, run.id, number, job)
                for run in runs
                for number, attempt in enumerate(run.attempts, start=1)
                for job in attempt.jobs
                if (job.lane, job.part) == (lane.name, part)
            ]
            for _, run, number, job in sorted(ran, key=lambda one: one[0]):
                began = job.state in ("done", "failed", "lost", "running")
                record = None
                if draw(st.integers(0, 29)) < (29 if began else 1):
                    chain = draw(chains(earlier, None)) if lane.rule == "pool" else ()
                    outcome, wrong = draw(st.sampled_from(OUTCOMES)), draw(st.sampled_from(WRONGS))
                    record = Record(lane.name, part, run, number, outcome, wrong, chain)
                    found.append(record)
                if began:
                    earlier.append((run, number, record if record and record.is_readable else None))
    if found and draw(st.integers(0, 19)) == 19:
        twin = draw(st.sampled_from(found))
        found.append(
            Record(twin.lane, twin.part, twin.run, twin.attempt, draw(st.sampled_from(OUTCOMES)), copy=1)
        )
    return tuple(found)


def agrees(world, folder, counted):
    """The gate says the word that the rules give, and no member may go."""
    said = decided(world, folder).word.value
    counted("random", said)
    event(said)
    assert word(world) == said
    for record in expected(world):
        assert "admit" != word(world.without(record))
        assert "admit" != decided(world.without(record), folder).word.value if said == "admit" else True


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(world=worlds())
def test_larger_worlds_get_their_word(world, folder, counted):
    """Up to three lanes, three runs of three attempts, every event."""
    agrees(world, folder, counted)


@pytest.mark.slow
@settings(max_examples=10_000, suppress_health_check=[HealthCheck.too_slow])
@given(world=worlds())
def test_many_larger_worlds_get_their_word(world, folder, counted):
    """The same for as long as the slow lane allows."""
    agrees(world, folder, counted)
