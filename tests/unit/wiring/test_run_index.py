# SPDX-License-Identifier: Apache-2.0
"""Whose index is fetched, and what becomes of it."""

from pathlib import Path

import pytest

from simulators.forge import SimJob, World
from simulators.forge_server import ForgeServer
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.index import read_index
from truegreen.wiring.run_index import Asked, asked, fetched, store

FIXTURES = Path(__file__).parents[2] / "fixtures" / "github"
HEAD = "4f1d6c0b7a2e9385c1d40e6f8b9a27350c1e4d6f"
RUNNER = {
    "GITHUB_EVENT_NAME": "pull_request",
    "GITHUB_EVENT_PATH": str(FIXTURES / "pull_request.json"),
    "GITHUB_REPOSITORY": "harbour/pilot",
    "GITHUB_REF": "refs/pull/42/merge",
    "GITHUB_BASE_REF": "main",
    "GITHUB_HEAD_REF": "tone-of-replies",
    "GITHUB_RUN_ID": "6001",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_WORKFLOW_REF": "harbour/pilot/.github/workflows/truegreen.yml@refs/pull/42/merge",
}
EVENT = Asked(repo="harbour/pilot", head_sha=HEAD, pull_requests=(42,))


def test_without_words_the_event_is_asked_about():
    """Head and pull request of the payload."""
    assert EVENT == asked(None, None, (), RUNNER)


def test_with_words_no_event_is_needed():
    """Outside of a workflow; a number that is given twice counts once."""
    assert EVENT == asked("harbour/pilot", HEAD, (42, 42), {})
    assert () == asked("harbour/pilot", HEAD, (), {}).pull_requests


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("harbour/pilot", None, ()), "half-a-subject"),
        ((None, HEAD, ()), "half-a-subject"),
        ((None, None, (42,)), "half-a-subject"),
        (("pilot", HEAD, ()), "bad-subject"),
        (("../pilot/x", HEAD, ()), "bad-subject"),
        (("harbour/pilot", HEAD[:12], ()), "bad-subject"),
        (("harbour/pilot", "main", ()), "bad-subject"),
    ],
)
def test_half_a_subject_is_refused(words, code):
    """Mixing words and event would ask about something that nobody means."""
    with pytest.raises(UsageProblem) as caught:
        asked(*words, RUNNER)
    assert code == caught.value.code


def test_an_event_that_cannot_be_read_is_a_problem(tmp_path):
    """Not in a workflow, a lost payload, a payload of another run."""
    with pytest.raises(UsageProblem) as caught:
        asked(None, None, (), {})
    assert "not-in-github" == caught.value.code
    with pytest.raises(ReachProblem) as caught:
        asked(None, None, (), {**RUNNER, "GITHUB_EVENT_PATH": str(tmp_path / "absent")})
    assert "file-unreadable" == caught.value.code
    with pytest.raises(EvidenceProblem) as caught:
        asked(None, None, (), {**RUNNER, "GITHUB_HEAD_REF": "other"})
    assert "event-mismatch" == caught.value.code


@pytest.mark.parametrize("token", ["t0ken", ""])
def test_what_the_forge_says_is_stored_for_the_gate(tmp_path, token):
    """Through a real server, with the token if there is one, into a file that the gate reads."""
    world = World()
    world.request()
    world.run(HEAD).attempt("2026-11-29T10:00:00Z", [SimJob("evals")])
    world.run("b" * 40, workflow=".github/workflows/other.yml").attempt("2026-11-29T10:00:00Z", [])
    with ForgeServer(world) as server:
        environment = {"GITHUB_API_URL": server.url, "GITHUB_TOKEN": token}
        index = fetched(EVENT, (".github/workflows/truegreen.yml",), environment)
    store(index, tmp_path / "index.json")
    assert index == read_index((tmp_path / "index.json").read_bytes())
    assert (1, ("b" * 40,), True) == (len(index.runs), index.earlier_heads, index.complete)
    assert {f"Bearer {token}" if token else None} == {sent for _, sent in server.asked}


def test_a_forge_elsewhere_is_not_shown_the_token():
    """Plain http to another host is refused before anything is sent."""
    with pytest.raises(UsageProblem) as caught:
        fetched(EVENT, (), {"GITHUB_API_URL": "http://forge.example.invalid", "GITHUB_TOKEN": "t0ken"})
    assert "bad-api-url" == caught.value.code
