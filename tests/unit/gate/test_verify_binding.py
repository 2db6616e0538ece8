# SPDX-License-Identifier: Apache-2.0
"""What a record is about, claim by claim, and where exactly each line is drawn."""

from dataclasses import replace

import msgspec
import pytest

from truegreen.core.index import Attempt
from truegreen.gate.verify_binding import (
    FOREIGN_CHECKS,
    STALE_CHECKS,
    agrees_with_run,
    listed_workflow,
    not_before_its_job,
    own_head,
    own_pull_request,
    own_repository,
    run_counts,
)
from truegreen.wiring.rehearsal.events import at_home, queued

CLAIMS = {
    "own_repository": ({"repo": "example/elsewhere"}, "blocked", "foreign-repo"),
    "listed_workflow": ({"workflow": ".github/workflows/advice.yml"}, "blocked", "foreign-workflow"),
    "own_head_repository": ({"head_repo": "example/fork"}, "blocked", "foreign-head-repo"),
    "agrees_with_run": ({"head_sha": "c" * 40}, "blocked", "contradicts-run"),
    "not_local": ({"event": "local"}, "stale", "local-record"),
    "not_dirty": ({"dirty": True}, "stale", "dirty-tree"),
    "own_event": ({"event": "push"}, "stale", "event-mismatch"),
    "own_pull_request": ({"pull_request": 8}, "stale", "stale-pull-request"),
    "own_head": ({"head_sha": "c" * 40}, "stale", "stale-head"),
    "own_base_ref": ({"base_ref": "next"}, "stale", "stale-base-ref"),
    "run_known": ({"run_id": 4711}, "stale", "run-not-in-index"),
}
BY_NAME = {check.__name__: check for check in (*FOREIGN_CHECKS, *STALE_CHECKS)}


@pytest.mark.parametrize("name", BY_NAME)
def test_nothing_speaks_against_the_honest_record(name, candidate, ground):
    """Neither here nor at home nor in a queue."""
    assert BY_NAME[name](candidate(), ground()) is None


@pytest.mark.parametrize("name", CLAIMS)
def test_each_claim_has_its_check(name, candidate, ground):
    """Foreign blocks, stale satisfies nothing."""
    claim, standing, code = CLAIMS[name]
    found = BY_NAME[name](candidate(subject=claim), ground())
    assert (standing, code) == (found.standing, found.code)


@pytest.mark.parametrize("repo", ["Example/Rehearsal", "EXAMPLE/REHEARSAL"])
def test_names_of_repositories_have_no_case(repo, candidate, ground):
    """A forge answers in its own spelling."""
    spelled = candidate(subject={"repo": repo, "head_repo": repo})
    assert [None] * len(BY_NAME) == [check(spelled, ground()) for check in BY_NAME.values()]


@pytest.mark.parametrize(
    ("claim", "field"),
    [
        ({"head_repo": "example/fork"}, "head_repo"),
        ({"workflow": "other.yml"}, "workflow"),
        ({"event": "push"}, "event"),
        ({"run_attempt": 2}, "run_attempt"),
    ],
)
def test_what_the_forge_says_otherwise_is_named(claim, field, candidate, ground):
    """The first field that differs, with both values."""
    assert field == agrees_with_run(candidate(subject=claim), ground()).facts["field"]


def test_a_job_that_never_began_left_nothing(actors, candidate, ground):
    """A record of a skipped job is a story."""
    listed = actors.stage.index
    [run] = listed.runs
    [attempt] = run.attempts
    skipped = tuple(msgspec.structs.replace(job, conclusion="skipped") for job in attempt.jobs)
    runs = (msgspec.structs.replace(run, attempts=(msgspec.structs.replace(attempt, jobs=skipped),)),)
    stage = replace(actors.stage, index=msgspec.structs.replace(listed, runs=runs))
    assert ("job", "not started") == tuple(
        agrees_with_run(candidate(), ground(stage)).facts[name] for name in ("field", "index")
    )


def test_without_an_index_nothing_is_denied_and_nothing_is_known(actors, candidate, ground):
    """``run_known`` keeps such a record from counting."""
    unlisted = ground(replace(actors.stage, index=None))
    assert agrees_with_run(candidate(), unlisted) is None
    assert not_before_its_job(candidate(), unlisted) is None
    assert "run-not-in-index" == BY_NAME["run_known"](candidate(), unlisted).code
    assert "stale-head" == own_head(candidate(subject={"head_sha": "c" * 40}), unlisted).code


@pytest.mark.parametrize(
    ("issued_at", "is_early"),
    [("2026-01-01T11:00:00Z", False), ("2026-01-01T10:55:00Z", False), ("2026-01-01T10:54:59Z", True)],
)
def test_five_minutes_between_two_clocks_are_normal(issued_at, is_early, candidate, ground):
    """The job began at 11:00; a record from before that is older than its job."""
    found = not_before_its_job(candidate(issued_at=issued_at), ground())
    assert is_early == (found is not None and found.code == "before-its-job")


def test_an_attempt_that_the_index_lacks_began_at_no_time(candidate, ground):
    """What is not known cannot be compared; the contradiction is told by another check."""
    unknown = candidate(subject={"run_attempt": 9}, issued_at="2025-01-01T00:00:00Z")
    assert not_before_its_job(unknown, ground()) is None
    assert isinstance(ground().index.runs[0].attempts[0], Attempt)


def test_only_the_gate_s_own_run_counts_where_the_lane_says_so(candidate, ground):
    """``runs = "this"``."""
    other = candidate(subject={"run_id": 1002})
    narrow = msgspec.structs.replace(other, lane=msgspec.structs.replace(other.lane, runs="this"))
    assert run_counts(other, ground()) is None
    assert "stale-run" == run_counts(narrow, ground()).code


def test_a_queue_takes_records_of_its_pull_requests(actors, candidate, ground):
    """Their number, their head and their repository, which may be a fork's."""
    group = ground(queued(actors).stage)
    ours = candidate(subject={"head_repo": "example/fork"})
    assert own_pull_request(ours, group) is None
    assert own_head(ours, group) is None
    assert BY_NAME["own_head_repository"](ours, group) is None
    assert "stale-pull-request" == own_pull_request(candidate(subject={"pull_request": 9}), group).code


def test_a_queue_without_an_index_knows_no_pull_request(actors, candidate, ground):
    """Nobody says which ones are queued."""
    group = ground(replace(queued(actors).stage, index=None))
    assert "stale-pull-request" == own_pull_request(candidate(), group).code


def test_at_home_no_workflow_is_listed(actors, candidate, ground):
    """A working copy has none."""
    home = ground(at_home(actors).stage)
    assert listed_workflow(candidate(subject={"workflow": ""}), home) is None
    assert "local-record" == BY_NAME["not_local"](candidate(), home).code
    assert own_repository(candidate(subject={"repo": "local"}), home) is None
    dirty = candidate(subject={"event": "local", "dirty": True})
    assert BY_NAME["not_dirty"](dirty, home) is None
    assert not_before_its_job(candidate(issued_at="2025-01-01T00:00:00Z"), home) is None
