# SPDX-License-Identifier: Apache-2.0
"""One suite for the forge's port: GitHub's REST API over a real socket, and the simulator."""

import msgspec
import pytest

from simulators.forge import SimJob, SimulatedForge, World
from simulators.forge_server import ForgeServer
from truegreen.core.canonical import write_json
from truegreen.core.errors import ReachProblem
from truegreen.core.index import Artifact, read_index
from truegreen.forges import github_listing
from truegreen.forges.github_api import GitHubForge
from truegreen.forges.github_http import GithubApi

NOW = "2026-11-29T12:00:00Z"
HEAD, OLD, OLDER = "a" * 40, "b" * 40, "c" * 40
STARTS = ["2026-11-29T10:00:00Z", "2026-11-29T11:00:00Z", "2026-11-29T11:30:00Z"]


class Sleeps(list):
    """Waits that were asked for and not slept."""

    def __call__(self, seconds):
        """Note it."""
        self.append(seconds)


@pytest.fixture
def world():
    """A repository with one pull request."""
    made = World()
    made.request()
    return made


@pytest.fixture(params=["simulated", "http"])
def ask(request, world):
    """The index of HEAD and pull request 42, by either implementation."""
    if request.param == "simulated":
        yield lambda **changes: _ask(SimulatedForge(world), **changes)
    else:
        with ForgeServer(world) as server:
            api = GithubApi(server.url, "t0ken", sleep=Sleeps())
            yield lambda **changes: _ask(GitHubForge(api), **changes)
            api.close()


def _ask(forge, repo="harbour/pilot", head_sha=HEAD, pull_requests=(42,)):
    index = forge.run_index(repo=repo, head_sha=head_sha, pull_requests=pull_requests, now=NOW)
    assert index == read_index(write_json(msgspec.to_builtins(index)))
    return index


def test_a_head_without_runs_has_an_empty_and_complete_index(ask):
    """Nothing ran: the index says so, and names whom it was asked about."""
    index = ask()
    assert ((), (), True) == (index.runs, index.earlier_heads, index.complete)
    assert ("github", "harbour/pilot", NOW, HEAD, (42,)) == (
        index.forge,
        index.repo,
        index.fetched_at,
        index.head_sha,
        index.pull_requests,
    )


def test_every_run_of_the_head_is_there_whatever_its_event_or_workflow(ask, world):
    """Oldest first, with the workflow's path."""
    world.run(HEAD, event="push", created_at="2026-11-29T10:03:00Z").attempt(STARTS[0], [])
    world.run(HEAD, workflow=".github/workflows/other.yml", created_at="2026-11-29T10:01:00Z").attempt(
        STARTS[0], []
    )
    world.run(OLD, event="push", branch="main").attempt(STARTS[0], [])
    index = ask()
    assert [("pull_request", ".github/workflows/other.yml"), ("push", ".github/workflows/truegreen.yml")] == [
        (run.event, run.workflow) for run in index.runs
    ]
    assert index.complete


def test_earlier_heads_are_those_of_the_pull_request_s_runs(ask, world):
    """A head that was forced away is there; other branches, repositories, events and times are not."""
    for head, when, facts in (
        (OLDER, "2026-11-28T10:00:00Z", {}),
        (HEAD, "2026-11-29T10:00:00Z", {}),
        (OLD, "2026-11-29T11:00:00Z", {}),
        (OLDER, "2026-11-29T11:30:00Z", {}),
        ("1" * 40, "2026-11-28T08:59:59Z", {}),
        ("2" * 40, "2026-11-28T10:00:00Z", {"branch": "other"}),
        ("3" * 40, "2026-11-28T10:00:00Z", {"head_repo": "visitor/pilot"}),
        ("4" * 40, "2026-11-28T10:00:00Z", {"event": "push"}),
    ):
        world.run(head, created_at=when, **facts).attempt(when, [])
    index = ask()
    assert (OLDER, OLD) == index.earlier_heads
    assert [OLDER, HEAD, OLD, OLDER] == [run.head_sha for run in index.runs]


def test_a_fork_s_branch_may_be_called_like_the_base_s(ask, world):
    """Only runs of the fork's repository count as heads of its pull request."""
    world.request(43, branch="main", head_repo="visitor/pilot")
    world.run(OLD, branch="main", head_repo="visitor/pilot").attempt(STARTS[0], [])
    world.run(OLDER, branch="main").attempt(STARTS[0], [])
    index = ask(pull_requests=(43,))
    assert ((OLD,), ["visitor/pilot"]) == (index.earlier_heads, [run.head_repo for run in index.runs])


def test_a_queue_asks_for_its_pull_requests_heads(ask, world):
    """The group's own run and the runs of what it merges."""
    world.request(43, branch="second")
    world.run(HEAD, event="merge_group", branch="gh-readonly-queue/main/pr-43-x").attempt(STARTS[0], [])
    world.run(OLD).attempt(STARTS[0], [])
    world.run(OLDER, branch="second").attempt(STARTS[0], [])
    index = ask(pull_requests=(42, 43))
    assert ((OLD, OLDER), 3) == (index.earlier_heads, len(index.runs))


def test_a_deleted_fork_makes_the_index_incomplete(ask, world):
    """Its branch cannot be searched any more."""
    world.request(44, branch="gone", head_repo=None)
    world.run(HEAD, branch="gone", head_repo=None).attempt(STARTS[0], [])
    index = ask(pull_requests=(44,))
    assert (False, ["(deleted)"]) == (index.complete, [run.head_repo for run in index.runs])


def test_every_attempt_is_there_with_its_own_jobs(ask, world):
    """A partial re-run lists copies of what it did not repeat; these did not start in it."""
    run = world.run(HEAD)
    run.attempt(
        STARTS[0],
        [SimJob("lint"), SimJob("evals", conclusion="failure", began="2026-11-29T10:02:00Z")],
        conclusion="failure",
    )
    run.rerun(STARTS[1], [SimJob("evals", began="2026-11-29T11:01:00Z")])
    attempts = ask().runs[0].attempts
    assert [(1, STARTS[0], "failure"), (2, STARTS[1], "success")] == [
        (attempt.attempt, attempt.started_at, attempt.conclusion) for attempt in attempts
    ]
    assert [[("evals", True), ("lint", True)], [("evals", True), ("lint", False)]] == [
        [(job.name, job.started) for job in attempt.jobs] for attempt in attempts
    ]


def test_a_job_that_never_began_has_no_start(ask, world):
    """Skipped, cancelled before it began, still waiting; cancelled while it ran has one."""
    began = "2026-11-29T10:05:00Z"
    world.run(HEAD).attempt(
        STARTS[0],
        [
            SimJob("a-skipped", conclusion="skipped", began=None),
            SimJob("b-cancelled-early", conclusion="cancelled", began=None),
            SimJob("c-cancelled-late", conclusion="cancelled", began=began),
            SimJob("d-queued", status="queued", conclusion=None, began=None),
            SimJob("e-waiting", status="waiting", conclusion=None, began=None),
            SimJob("f-running", status="in_progress", conclusion=None, began=began),
            SimJob("g-timed-out", conclusion="timed_out", began=began),
        ],
        status="in_progress",
        conclusion=None,
    )
    (run,) = ask().runs
    assert [None, None, began, None, None, began, began] == [job.started_at for job in run.attempts[0].jobs]
    assert [False, False, True, False, False, True, True] == [job.started for job in run.attempts[0].jobs]


def test_artifacts_share_one_list_and_belong_to_their_attempt(ask, world):
    """Ours by name and time, others by time."""
    run = world.run(HEAD)
    run.attempt(STARTS[0], [SimJob("evals")])
    run.leave("truegreen.m.all.1", "2026-11-29T10:30:00Z", digest="sha256:" + "0" * 64)
    run.leave("logs", "2026-11-29T10:31:00Z", size=7)
    run.rerun(STARTS[1], [])
    run.rerun(STARTS[2], [SimJob("evals", began=STARTS[2])])
    run.leave("truegreen.m.all.3", "2026-11-29T11:31:00Z", expired=True)
    run.leave("logs-again", "2026-11-29T11:31:00Z")
    index = ask()
    assert [["logs", "truegreen.m.all.1"], [], ["logs-again", "truegreen.m.all.3"]] == [
        [artifact.name for artifact in attempt.artifacts] for attempt in index.runs[0].attempts
    ]
    assert (
        Artifact(name="truegreen.m.all.3", size_bytes=100, expired=True)
        in index.runs[0].attempts[2].artifacts
    )
    assert index.complete


def test_more_rows_than_a_page_are_all_read(ask, world):
    """Runs, jobs and artifacts beyond one hundred; exactly one hundred and one more."""
    for number in range(101):
        world.run(
            OLD if number % 2 else HEAD, created_at=f"2026-11-29T10:{number // 60:02}:{number % 60:02}Z"
        ).attempt(STARTS[0], [])
    run = world.run(HEAD, created_at="2026-11-29T10:59:00Z")
    run.attempt(STARTS[0], [SimJob(f"job {number:03}") for number in range(100)])
    for number in range(201):
        run.leave(f"logs-{number:03}", "2026-11-29T10:59:30Z")
    index = ask()
    assert (102, 100, 201, True) == (
        len(index.runs),
        len(index.runs[-1].attempts[0].jobs),
        len(index.runs[-1].attempts[0].artifacts),
        index.complete,
    )


def test_what_is_not_there_is_refused(ask):
    """Another repository, another pull request."""
    for changes in ({"repo": "harbour/other"}, {"pull_requests": (41,)}):
        with pytest.raises(ReachProblem) as caught:
            ask(**changes)
        assert "forge-refused" == caught.value.code


def test_the_case_of_the_repository_s_name_does_not_matter(ask, world):
    """As GitHub has it."""
    world.run(HEAD).attempt(STARTS[0], [])
    assert 1 == len(ask(repo="Harbour/PILOT").runs)


# What only the adapter meets.


@pytest.fixture
def server(world):
    """The API of a world with a run of two attempts, three artifacts and some pages."""
    world.run(HEAD, workflow=".github/workflows/lint.yml", created_at="2026-11-29T09:00:00Z").attempt(
        STARTS[0], []
    )
    run = world.run(HEAD)
    run.attempt(STARTS[0], [SimJob(f"job {number:03}") for number in range(130)], conclusion="failure")
    run.leave("truegreen.m.all.1", "2026-11-29T10:30:00Z")
    run.rerun(STARTS[1], [SimJob("job 000", began=STARTS[1])])
    run.leave("truegreen.m.all.2", "2026-11-29T11:10:00Z")
    with ForgeServer(world) as made:
        yield made


@pytest.fixture
def sleeps():
    """Waits that were asked for."""
    return Sleeps()


@pytest.fixture
def index_of(server, sleeps):
    """Asks the server."""
    api = GithubApi(server.url, "t0ken", sleep=sleeps, timeout_s=5)
    yield lambda **options: _ask(GitHubForge(api, **options))
    api.close()


RUNS, JOBS, ARTIFACTS = "/actions/runs", "/6001/attempts/1/jobs", "/6001/artifacts"


@pytest.mark.parametrize("kind", ["count+1", "count-1", "short", "twice"])
@pytest.mark.parametrize(("path", "page"), [(RUNS, 1), (JOBS, 1), (JOBS, 2), (ARTIFACTS, 1)])
def test_a_list_that_does_not_add_up_is_incomplete(server, index_of, kind, path, page):
    """A wrong count, a missing row, a row seen twice: on any page of any list."""
    server.fault(path, kind, page=page)
    index = index_of()
    assert not index.complete
    if path is JOBS:
        assert [False, True] == [attempt.jobs_complete for attempt in index.runs[1].attempts]
    if path is ARTIFACTS:
        assert [False, False] == [attempt.artifacts_complete for attempt in index.runs[1].attempts]


def test_a_list_that_moved_once_is_read_again(server, index_of):
    """A job that appeared between two pages does not spoil the index for good."""
    server.fault(JOBS, "short", times=1)
    assert index_of().complete


def test_a_search_of_more_rows_than_the_forge_gives_is_incomplete(server, index_of, world):
    """The count says fifteen hundred, the rows end."""
    server.fault(RUNS, "many")
    assert not index_of().complete


def test_a_search_that_reaches_the_forge_s_limit_is_incomplete(server, index_of, world, monkeypatch):
    """Even if as many rows came as were counted."""
    monkeypatch.setattr(github_listing, "SEARCH_LIMIT", 0)
    assert not index_of().complete


@pytest.mark.parametrize("path", [JOBS, ARTIFACTS, "/6001/attempts/1"])
def test_a_part_that_is_gone_makes_the_index_incomplete(server, index_of, path):
    """Deleted between two questions; the attempts still count from 1."""
    server.fault(path, "status", value=404)
    index = index_of()
    assert (False, [1, 2]) == (index.complete, [attempt.attempt for attempt in index.runs[1].attempts])


def test_a_whole_list_that_is_gone_makes_the_index_incomplete(server, index_of):
    """No runs listed is not the same as no runs."""
    server.fault(RUNS, "status", value=404)
    assert (False, ()) == ((index := index_of()).complete, index.runs)


@pytest.mark.parametrize("kind", ["truncated", "not-json", "cut"])
@pytest.mark.parametrize("path", ["/repos/harbour/pilot", RUNS, "/pulls/42", JOBS, ARTIFACTS])
def test_a_broken_answer_is_asked_for_again_and_then_a_problem(server, index_of, sleeps, kind, path):
    """Twice broken is mended by the third try, thrice is unreachable."""
    server.fault(path, kind, times=2)
    assert index_of().complete
    assert [1.0, 2.0] == sleeps
    server.fault(path, kind, times=3)
    with pytest.raises(ReachProblem) as caught:
        index_of()
    assert "forge-unreachable" == caught.value.code


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failing_server_is_asked_again_and_then_a_problem(server, index_of, sleeps, status):
    """As with broken answers."""
    server.fault(JOBS, "status", times=2, value=status)
    assert index_of().complete
    server.fault(JOBS, "status", value=status)
    with pytest.raises(ReachProblem) as caught:
        index_of()
    assert ("forge-unreachable", True) == (caught.value.code, str(status) in caught.value.message)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((401, {}), "token is not accepted"),
        ((403, {}), "403"),
        ((403, {"X-RateLimit-Remaining": "0"}), "rate limit"),
        ((403, {"Retry-After": "61"}), "rate limit"),
        ((429, {}), "rate limit"),
        ((429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), "rate limit"),
        ((422, {}), "422"),
        ((204, {}), "204"),
    ],
)
def test_a_refusal_is_final(server, index_of, sleeps, value, words):
    """No permission, no rate left, or a question that the forge does not understand."""
    server.fault(JOBS, "status", value=value)
    with pytest.raises(ReachProblem) as caught:
        index_of()
    assert ("forge-refused", True, []) == (caught.value.code, words in caught.value.message, sleeps)


def test_a_short_rate_limit_is_waited_for_once(server, index_of, sleeps):
    """What the forge asks for, and no more than once an answer."""
    server.fault(JOBS, "status", times=1, value=(429, {"Retry-After": "7"}))
    assert (True, [7.0]) == (index_of().complete, sleeps)
    server.fault(JOBS, "status", times=2, value=(403, {"Retry-After": "7"}))
    with pytest.raises(ReachProblem) as caught:
        index_of()
    assert "forge-refused" == caught.value.code


@pytest.mark.parametrize(
    ("path", "spoil"),
    [
        (RUNS, lambda value: {**value, "workflow_runs": None}),
        (RUNS, lambda value: {**value, "total_count": "1"}),
        (RUNS, lambda value: [value]),
        (
            RUNS,
            lambda value: {
                **value,
                "workflow_runs": [{**row, "id": "6000"} for row in value["workflow_runs"]],
            },
        ),
        (
            RUNS,
            lambda value: {
                **value,
                "workflow_runs": [{**row, "created_at": "today"} for row in value["workflow_runs"]],
            },
        ),
        (
            RUNS,
            lambda value: {
                **value,
                "workflow_runs": [
                    {**row, "created_at": "2026-11-29T10:00:00"} for row in value["workflow_runs"]
                ],
            },
        ),
        (JOBS, lambda value: {**value, "jobs": [7]}),
        ("/pulls/42", lambda value: {**value, "head": {}}),
        ("/6001/attempts/1", lambda value: {**value, "head_sha": None}),
    ],
)
def test_an_answer_of_another_shape_is_a_problem(server, index_of, path, spoil):
    """A list that is none, a number as text, a time without zone."""
    server.fault(path, "spoil", value=spoil)
    with pytest.raises(ReachProblem) as caught:
        index_of()
    assert "forge-unreachable" == caught.value.code


@pytest.mark.parametrize("attempts", [None, 0, 5000])
def test_a_run_without_a_believable_count_of_attempts_is_incomplete(server, index_of, attempts, monkeypatch):
    """None, none at all, more than are read."""
    monkeypatch.setattr("truegreen.forges.github_api.MOST_ATTEMPTS", 2)
    server.fault(
        RUNS,
        "spoil",
        value=lambda value: {
            **value,
            "workflow_runs": [{**row, "run_attempt": attempts} for row in value["workflow_runs"]],
        },
    )
    assert not index_of().complete


def test_only_the_named_workflows_are_read_when_some_are_named(server, index_of, world):
    """Fewer questions to the forge; the heads are known all the same."""
    world.run(OLD, workflow=".github/workflows/other.yml").attempt(STARTS[0], [])
    index = index_of(workflows=[".github/workflows/truegreen.yml"])
    assert ([HEAD], (OLD,)) == ([run.head_sha for run in index.runs], index.earlier_heads)
    assert not [path for path, _ in server.asked if "/6002/" in path]


def test_the_token_goes_to_the_api_alone_and_into_no_message(server, index_of, world):
    """A redirect within the API is followed, one to another host is refused before anything is sent there."""
    server.fault("/pulls/42", "redirect", times=1, value=f"{server.url}/repos/harbour/pilot/pulls/42?again=1")
    assert index_of().complete
    assert {"Bearer t0ken"} == {token for _, token in server.asked}
    with ForgeServer(world) as other:
        server.fault("/pulls/42", "redirect", value=f"{other.url}/repos/harbour/pilot/pulls/42")
        with pytest.raises(ReachProblem) as caught:
            index_of()
        assert ("forge-refused", []) == (caught.value.code, other.asked)
        assert "t0ken" not in str(caught.value) + caught.value.hint


def test_redirects_that_go_on_are_refused(server, index_of):
    """A circle ends."""
    server.fault("/pulls/42", "redirect", value="/repos/harbour/pilot/pulls/42")
    with pytest.raises(ReachProblem) as caught:
        index_of()
    assert "forge-refused" == caught.value.code


def test_an_answer_without_end_is_not_read(server, index_of):
    """Sixteen mebibytes are more than any page has."""
    server.fault(JOBS, "huge")
    with pytest.raises(ReachProblem) as caught:
        index_of()
    assert "forge-refused" == caught.value.code


def test_a_forge_below_a_path_and_without_a_token_is_asked(world):
    """An enterprise server's API has a prefix; a public repository needs no token."""
    world.run(HEAD).attempt(STARTS[0], [])
    with ForgeServer(world, prefix="/api/v3") as server:
        api = GithubApi(server.url + "/", None)
        assert _ask(GitHubForge(api)).complete
        api.close()
        assert {None} == {token for _, token in server.asked}


def test_a_forge_that_is_not_there_is_unreachable(sleeps):
    """A closed port, three times."""
    with ForgeServer(World()) as server:
        url = server.url
    api = GithubApi(url, "t0ken", sleep=sleeps)
    with pytest.raises(ReachProblem) as caught:
        _ask(GitHubForge(api))
    api.close()
    assert ("forge-unreachable", [1.0, 2.0]) == (caught.value.code, sleeps)
