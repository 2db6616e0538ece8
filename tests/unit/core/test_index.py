# SPDX-License-Identifier: Apache-2.0
"""The run index: its shape, and what it says of jobs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.core.index import Job, read_index

SHA = "0123456789abcdef0123456789abcdef01234567"


def _job(**changed):
    return {
        "name": "model tests",
        "status": "completed",
        "conclusion": "success",
        "started_at": "2026-11-29T17:00:00Z",
    } | changed


def _attempt(number, *jobs):
    return {
        "attempt": number,
        "started_at": "2026-11-29T17:00:00Z",
        "status": "completed",
        "conclusion": "success",
        "jobs": list(jobs),
        "artifacts": [{"name": "truegreen.model-tests.all.1", "size_bytes": 9}],
        "jobs_complete": True,
        "artifacts_complete": True,
    }


def _run(run_id, *attempts):
    return {
        "run_id": run_id,
        "workflow": ".github/workflows/truegreen.yml",
        "event": "pull_request",
        "head_sha": SHA,
        "head_repo": "acme/app",
        "attempts": list(attempts),
    }


def _index(*runs, **changed):
    whole = {
        "schema": "truegreen/run-index/v1",
        "forge": "github",
        "repo": "acme/app",
        "fetched_at": "2026-11-29T17:00:00Z",
        "head_sha": SHA,
        "pull_requests": [7],
        "earlier_heads": [],
        "complete": True,
        "runs": list(runs),
    }
    return json.dumps(whole | changed).encode()


def test_runs_are_found_by_id_and_jobs_by_name():
    """And what is not listed is not there."""
    index = read_index(_index(_run(11, _attempt(1, _job(), _job(name="lint"))), _run(12, _attempt(1))))
    assert [11, 12, None] == [run and run.run_id for run in (index.run(11), index.run(12), index.run(13))]
    [attempt] = index.run(11).attempts
    assert ("lint", None) == (attempt.job("lint").name, attempt.job("deploy"))


def test_two_jobs_of_one_name_contradict_each_other():
    """A lane needs to know which of them was its own: nobody can tell."""
    index = read_index(_index(_run(11, _attempt(1, _job(), _job(conclusion="failure")))))
    with pytest.raises(EvidenceProblem) as caught:
        index.run(11).attempts[0].job("model tests")
    assert ("two-jobs-one-name", True) == (caught.value.code, caught.value.contradictory)


@pytest.mark.parametrize(
    ("changed", "started", "running"),
    [
        ({}, True, False),
        ({"conclusion": "cancelled"}, True, False),
        ({"started_at": None, "conclusion": "cancelled"}, False, False),
        ({"conclusion": "skipped"}, False, False),
        ({"carried_over": True}, False, False),
        ({"status": "in_progress", "conclusion": None}, True, True),
        ({"status": "queued", "conclusion": None, "started_at": None}, False, True),
        ({"status": "waiting", "conclusion": None, "started_at": None}, False, True),
    ],
)
def test_a_job_started_only_where_it_ran(changed, started, running):
    """Skipped, carried over and cancelled before it began: none of them started; any unknown status may yet run."""
    job = Job(**_job(**changed))
    assert (started, running) == (job.started, job.running)


@pytest.mark.parametrize(
    "data",
    [
        _index(schema="truegreen/run-index/v2"),
        _index(schema=1),
        _index(extra=1),
        _index(complete="yes"),
        _index(_run(11, _attempt(1)), _run(11, _attempt(1))),
        _index(_run(11)),
        _index(_run(11, _attempt(2))),
        _index(_run(11, _attempt(0))),
        _index(_run(11, _attempt(1), _attempt(1))),
        _index(_run(11, _attempt(1), _attempt(3))),
        _index(_run(11, _attempt(2), _attempt(1))),
        _index(_run(11, _attempt(1, {"name": "x"}))),
    ],
)
def test_an_index_with_a_hole_or_a_second_reading_is_refused(data):
    """Another schema, unknown or missing keys, a run without attempts or twice, attempts that do not count from 1."""
    with pytest.raises(EvidenceProblem) as caught:
        read_index(data)
    assert "bad-run-index" == caught.value.code


@given(st.binary(max_size=100))
def test_whatever_the_bytes_the_answer_is_an_index_or_a_problem(data):
    """No other exception leaves the reader."""
    with pytest.raises(EvidenceProblem):
        read_index(data)
