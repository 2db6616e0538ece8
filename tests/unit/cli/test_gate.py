# SPDX-License-Identifier: Apache-2.0
"""The verb ``gate`` as a process: what a step of CI sees."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import truegreen
from factories.github_event import github_event
from truegreen.wiring.rehearsal import tricks
from truegreen.wiring.rehearsal.honest import honest

PATH = {"PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request."""
    return honest(tmp_path_factory.mktemp("stage"), PATH)


@pytest.fixture
def gate(tmp_path):
    """Runs the gate on a stage; returns the finished process."""

    def ran(stage, *arguments, **environment):
        index = tmp_path / "run-index.json"
        index.write_bytes(stage.index_bytes())
        evidence = stage.write(tmp_path / "evidence")
        command = [sys.executable, "-I", "-m", "truegreen", "gate", "--evidence", evidence]
        command += ["--repo", stage.git.folder, "--run-index", index, *arguments]
        variables = PATH | github_event(stage.facts, tmp_path) | environment
        return subprocess.run(
            command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return ran


def test_an_honest_pull_request_exits_0(actors, gate):
    """The first line is the decision."""
    done = gate(actors.stage)
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("ADMIT 2 of 2 cases pass (each better than half the time) · 12 calls")


def test_a_broken_case_exits_1(actors, gate):
    """K of n, the owner and what to do stand in the line."""
    done = gate(tricks.every_case(actors, "ffff", "never-passed"))
    assert 1 == done.returncode
    assert done.stdout.startswith(
        "BLOCK labels never passed here: 0 of 2 (and 1 more) · owner @owner · fix it"
    )


def test_an_undecided_case_exits_3(actors, gate):
    """Unknown is neither green nor red."""
    done = gate(tricks.every_case(actors, "p", "inconclusive"))
    assert 3 == done.returncode
    assert done.stdout.startswith("HOLD ")


@pytest.mark.parametrize("form", ["text", "json", "markdown", "github"])
def test_every_form_tells_the_same_word(actors, gate, form):
    """Forms differ in dress, not in content."""
    done = gate(actors.stage, "--format", form)
    assert 0 == done.returncode
    assert "ADMIT" in done.stdout


def test_json_is_the_record(actors, gate, tmp_path):
    """What is printed is what is stored."""
    done = gate(actors.stage, "--format", "json", "--decision", tmp_path / "decision.json")
    assert json.loads(done.stdout) == json.loads((tmp_path / "decision.json").read_text(encoding="utf-8"))


def test_github_gets_outputs_and_a_summary(actors, gate, tmp_path):
    """The runner's files are appended to, not replaced."""
    summary, outputs = tmp_path / "summary.md", tmp_path / "outputs"
    summary.write_text("before\n", encoding="utf-8")
    done = gate(
        actors.stage, "--format", "github", GITHUB_STEP_SUMMARY=str(summary), GITHUB_OUTPUT=str(outputs)
    )
    assert 0 == done.returncode
    assert summary.read_text(encoding="utf-8").startswith("before\n### ADMIT")
    assert "ADMIT" in outputs.read_text(encoding="utf-8")


def test_a_summary_that_cannot_be_written_is_no_green(actors, gate, tmp_path):
    """A decision that did not arrive where it was asked for exits 3."""
    done = gate(actors.stage, "--format", "github", GITHUB_STEP_SUMMARY=str(tmp_path / "no" / "where"))
    assert 3 == done.returncode
    assert "[file-unwritable]" in done.stderr


def test_a_bundle_is_replayed_without_clone_and_evidence(actors, gate, tmp_path):
    """The same line and the same exit code come out of one file."""
    made = gate(actors.stage, "--bundle", tmp_path / "bundle.json")
    command = [sys.executable, "-I", "-m", "truegreen", "gate", "--replay", tmp_path / "bundle.json"]
    again = subprocess.run(command, env=PATH, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stdout) == (again.returncode, again.stdout)


def test_a_bundle_can_be_replayed_inside_of_the_repository_that_holds_truegreen(actors, gate, tmp_path):
    """Where a decision would be refused because the code in use is tracked there, a replay judges nothing there."""
    gate(actors.stage, "--bundle", tmp_path / "bundle.json")
    command = [sys.executable, "-I", "-m", "truegreen", "gate"]
    source = Path(truegreen.__file__).parents[2]
    told = [
        subprocess.run(
            [*command, *more], env=PATH, cwd=source, capture_output=True, text=True, check=False
        ).returncode
        for more in (["--replay", tmp_path / "bundle.json"], ["--subject-from", "git"])
    ]
    assert [0, 1] == told


def test_a_policy_that_cannot_be_read_is_a_configuration_error(actors, gate):
    """Exit 2, one line, no decision word."""
    git = actors.stage.git
    git.commit(
        {**actors.files, "truegreen.toml": 'schema = "truegreen/policy/v1"\nmode = "lenient"\n'}, (), "main"
    )
    try:
        done = gate(actors.stage)
    finally:
        git.run("update-ref", "refs/heads/main", actors.base)
    assert (2, "") == (done.returncode, done.stdout)
    assert "main:truegreen.toml" in done.stderr


def test_the_self_test_tries_every_way(tmp_path):
    """A row each, all of them fine."""
    command = [sys.executable, "-I", "-m", "truegreen", "gate", "self-test"]
    done = subprocess.run(command, env=PATH, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr)
    rows = done.stdout.splitlines()
    assert all(row.startswith("ok  ") for row in rows)
    assert len(rows) >= 50


def test_options_of_git_and_github_are_not_mixed(actors, gate):
    """A base cannot be chosen where the payload names one."""
    done = gate(actors.stage, "--base", "weak")
    assert 2 == done.returncode
    assert "[base-with-github]" in done.stderr


@pytest.mark.parametrize(
    ("given", "option", "beside"),
    [
        (("--replay", "b.json", "--evidence", "x"), "--evidence", "--replay"),
        (("--replay", "b.json", "--policy-from", "base"), "--policy-from", "--replay"),
        (("--replay", "b.json", "--decision", "d.json"), "--decision", "--replay"),
        (("--evidence", "x", "self-test"), "--evidence", "self-test"),
        (("--format", "json", "self-test"), "--format", "self-test"),
    ],
)
def test_an_option_that_would_do_nothing_is_an_error(tmp_path, given, option, beside):
    """Whoever asks for something gets it or hears that it is not had."""
    command = [sys.executable, "-I", "-m", "truegreen", "gate", *given]
    done = subprocess.run(command, env=PATH, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (2, "") == (done.returncode, done.stdout)
    assert f"{option} does nothing beside {beside} [bad-command-line]" in done.stderr
