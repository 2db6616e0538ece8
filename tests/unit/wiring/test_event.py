# SPDX-License-Identifier: Apache-2.0
"""Where the event comes from, and what counts as CI."""

import os
import subprocess

import pytest

from factories.github_event import github_event
from truegreen.core.errors import TruegreenProblem, UsageProblem
from truegreen.forges.git import GitRepository
from truegreen.wiring.event import MARKS_OF_CI, event_facts, is_ci
from truegreen.wiring.rehearsal.honest import honest

PATH = {"PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """A bare clone with a pull request."""
    return honest(tmp_path_factory.mktemp("stage"), PATH).stage


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, False),
        ("", False),
        ("0", False),
        ("False", False),
        ("no", False),
        ("true", True),
        ("1", True),
        ("ci", True),
    ],
)
def test_ci_is_what_the_runners_set(value, found):
    """Nothing and no are no; everything else is CI."""
    assert found == is_ci({} if value is None else {"CI": value})


@pytest.mark.parametrize("name", MARKS_OF_CI)
def test_a_job_that_says_it_is_no_ci_is_one(name):
    """Other tools want CI to be false; the runner's own variable stays."""
    assert [True, False] == [is_ci({"CI": "false", name: value}) for value in ("true", "false")]


@pytest.mark.parametrize("source", [None, "github"])
def test_in_github_the_payload_says_what_happened(stage, tmp_path, source):
    """The runner's own file, found by the variable that the runner sets."""
    environment = PATH | github_event(stage.facts, tmp_path)
    with GitRepository(stage.git.folder, environment) as git:
        assert stage.facts == event_facts(source, None, git, environment)


def test_at_home_the_working_copy_says_it(stage, tmp_path):
    """Head and base come from git; the facts say local."""
    work = tmp_path / "work"
    subprocess.run(
        ["git", "clone", "-q", "-b", "change", str(stage.git.folder), str(work)], check=True, env=PATH
    )
    with GitRepository(work, PATH) as git:
        facts = event_facts(None, "main", git, PATH)
    assert (True, "main", stage.facts.head_sha) == (facts.local, facts.base_ref, facts.head_sha)


@pytest.mark.parametrize(
    ("path", "code"),
    [("", "not-in-github"), ("/nowhere/event.json", "file-unreadable"), ("/dev/zero", "file-unreadable")],
)
def test_a_payload_that_is_not_there_is_named(stage, path, code):
    """One line, and what to do instead; a device is never waited for."""
    environment = PATH | {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": path}
    with GitRepository(stage.git.folder, environment) as git, pytest.raises(TruegreenProblem) as caught:
        event_facts(None, None, git, environment)
    assert code == caught.value.code


def test_a_base_cannot_be_chosen_in_github(stage, tmp_path):
    """The payload names the base; an option beside it would be a way around."""
    environment = PATH | github_event(stage.facts, tmp_path)
    with GitRepository(stage.git.folder, environment) as git, pytest.raises(UsageProblem) as caught:
        event_facts("github", "main", git, environment)
    assert "base-with-github" == caught.value.code
