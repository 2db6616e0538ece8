# SPDX-License-Identifier: Apache-2.0
"""GitHub's rows, read as jobs and artifacts of attempts."""

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.forges.github_runs import ArtifactRow, JobRow, RunRow, job, moment, shelves, workflow_path

STARTS = ["2026-11-29T10:00:00Z", "2026-11-29T11:00:00Z", "2026-11-29T12:00:00Z"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-29T10:00:00Z", "2026-11-29T10:00:00Z"),
        ("2026-11-29T03:00:00-07:00", "2026-11-29T10:00:00Z"),
        ("2026-11-29T10:00:00.987Z", "2026-11-29T10:00:00Z"),
    ],
)
def test_a_time_is_utc_in_whole_seconds(text, expected):
    """Zones and fractions are taken away."""
    assert expected == moment(text)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-11-29T10:00:00", "2026-13-01T00:00:00Z", "1795950000"]
)
def test_what_is_no_time_with_a_zone_is_a_problem(text):
    """A local time could be any time."""
    with pytest.raises(ReachProblem) as caught:
        moment(text)
    assert "forge-unreachable" == caught.value.code


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".github/workflows/a.yml", ".github/workflows/a.yml"),
        (".github/workflows/a.yml@main", ".github/workflows/a.yml"),
        ("Harbour/pilot/.github/workflows/a.yml@refs/heads/x@y", ".github/workflows/a.yml"),
        ("harbour/rules/.github/workflows/a.yml@main", "harbour/rules/.github/workflows/a.yml"),
    ],
)
def test_a_workflow_is_known_by_its_path(path, expected):
    """Without reference; with its repository only if that is another one."""
    row = RunRow(
        id=1, event="push", status=None, conclusion=None, head_sha="a", path=path, created_at=STARTS[0]
    )
    assert expected == workflow_path(row, "harbour/pilot")


def _job(**facts):
    row = {
        "id": 1,
        "name": "evals",
        "status": "completed",
        "conclusion": "success",
        "started_at": "2026-11-29T11:05:00Z",
    }
    return JobRow(**{**row, "runner_id": 17, **facts})


@pytest.mark.parametrize(
    ("facts", "began"),
    [
        ({}, True),
        ({"conclusion": "failure", "runner_id": None}, True),
        ({"conclusion": "timed_out", "runner_id": 0}, True),
        ({"conclusion": "cancelled"}, True),
        ({"conclusion": "cancelled", "runner_id": 0, "runner_name": "host"}, True),
        ({"conclusion": "cancelled", "runner_id": None, "steps": [{}]}, True),
        ({"conclusion": "cancelled", "runner_id": 0, "runner_name": ""}, False),
        ({"conclusion": "skipped"}, False),
        ({"status": "queued", "conclusion": None, "runner_id": None}, False),
        ({"status": "waiting", "conclusion": None, "runner_id": None}, False),
        ({"status": "in_progress", "conclusion": None, "runner_id": None}, True),
        ({"status": "something-new", "conclusion": None, "runner_id": None}, True),
        ({"started_at": None}, False),
    ],
)
def test_a_job_began_unless_it_shows_that_it_did_not(facts, began):
    """When in doubt it began, and its record is expected."""
    assert began == job(_job(**facts), 1, STARTS[0]).started


@pytest.mark.parametrize(
    ("attempt", "facts", "carried"),
    [
        (1, {"started_at": "2026-11-29T09:00:00Z"}, False),
        (2, {"started_at": "2026-11-29T10:59:59Z"}, True),
        (2, {"started_at": STARTS[1]}, False),
        (2, {"run_attempt": 2}, False),
        (2, {"run_attempt": 1}, True),
        (2, {"conclusion": "skipped", "started_at": "2026-11-29T10:10:00Z"}, False),
    ],
)
def test_a_copy_of_an_earlier_attempt_s_job_is_told_by_its_start_or_its_attempt(attempt, facts, carried):
    """In a first attempt nothing is carried over."""
    assert carried == job(_job(**facts), attempt, STARTS[attempt - 1]).carried_over


def _shelves(rows, *, complete=True, starts=STARTS):
    made = [
        ArtifactRow(id=number, name=name, size_in_bytes=1, expired=False, created_at=at)
        for number, (name, at) in enumerate(rows)
    ]
    return [
        ([artifact.name for artifact in shelf.artifacts], shelf.complete)
        for shelf in shelves(made, starts, complete=complete)
    ]


def test_artifacts_lie_with_the_attempt_that_made_them():
    """By name and time alike; the first attempt also has what was made before it began."""
    assert [
        (["early", "truegreen.m.all.1"], True),
        (["logs"], True),
        (["truegreen.m.all.3"], True),
    ] == _shelves(
        [
            ("truegreen.m.all.3", "2026-11-29T12:30:00Z"),
            ("logs", STARTS[1]),
            ("truegreen.m.all.1", "2026-11-29T10:59:59Z"),
            ("early", "2026-11-29T09:00:00Z"),
        ]
    )


@pytest.mark.parametrize("name", ["truegreen.m.all.2", "truegreen.m.all.9"])
def test_a_name_that_contradicts_the_time_hides_nothing(name):
    """A first attempt that names its artifact after a later one has still left something."""
    first, second, third = _shelves([(name, "2026-11-29T10:10:00Z")])
    assert ([name], False) == first
    assert (([name], False) if name.endswith("2") else ([], True)) == second
    assert ([], True) == third


def test_an_artifact_without_a_time_is_known_by_its_name_or_not_at_all():
    """Where nothing tells, every attempt's list is in doubt."""
    assert [([], True), (["truegreen.m.all.2"], True), ([], True)] == _shelves([("truegreen.m.all.2", None)])
    assert [([], False)] * 3 == _shelves([("logs", None)])


def test_a_list_that_was_not_read_whole_leaves_every_attempt_in_doubt():
    """What is missing could belong to any of them."""
    assert [([], False)] * 3 == _shelves([], complete=False)
    assert [([], True)] == _shelves([], starts=STARTS[:1])
