# SPDX-License-Identifier: Apache-2.0
"""The workflow of the drift lane: who holds what, and that there is one issue."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "workflows" / "model-drift.yml"
WORKFLOW = YAML(typ="safe", pure=True).load(FILE.read_text(encoding="utf-8"))
GH = """#!/bin/sh
echo "$*" >> "$GH_LOG"
case "$1 $2" in
"run download") echo "The model was asked again" > drift.md ;;
"issue list") [ ! -e "$GH_OPEN" ] || cat "$GH_OPEN" ;;
"issue create") echo 7 > "$GH_OPEN" ;;
esac
"""
TRUEGREEN = """#!/bin/sh
echo "$*" >> "$GH_LOG"
echo {} > drift.json; echo told > drift.md
exit "$CODE"
"""


def _step(job, name):
    return next(step for step in WORKFLOW["jobs"][job]["steps"] if step.get("name") == name)


@pytest.fixture
def shell(tmp_path):
    """Run a step with these programs in front of the others."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("gh", GH), ("truegreen", TRUEGREEN)):
        (tools / name).write_text(text)
        (tools / name).chmod(stat.S_IRWXU)

    def run(script, **environment):
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [shutil.which("bash"), "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=tmp_path,
            env={
                "PATH": f"{tools}:{os.environ['PATH']}", "GH_LOG": str(log), "GH_OPEN": str(tmp_path / "open"),
                "GITHUB_OUTPUT": str(tmp_path / "output"), "WHERE": "https://h/runs/1", "RUN": "1", **environment,
            },
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, log.read_text().splitlines()

    return run


def test_it_runs_on_a_schedule_and_blocks_nothing():
    """No event of a pull request starts it."""
    assert {"schedule", "workflow_dispatch"} == WORKFLOW["on"].keys()


def test_the_key_and_the_right_to_write_stand_apart():
    """The key in the job that may only read; issues are written by one that has neither key nor checkout."""
    assert {} == WORKFLOW["permissions"]
    ask, tell = WORKFLOW["jobs"]["ask"], WORKFLOW["jobs"]["tell"]
    assert ({"contents": "read"}, {"actions": "read", "issues": "write"}) == (
        ask["permissions"],
        tell["permissions"],
    )
    assert ("secrets." in str(ask), "secrets." in str(tell), "checkout" in str(tell)) == (True, False, False)


def test_every_action_is_pinned_by_its_commit():
    """A tag can be moved."""
    used = [step["uses"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert all(len(name.rpartition("@")[2]) == 40 for name in used)


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 0), (3, 0), (2, 2), (130, 130)])
def test_an_answer_is_no_failure_of_the_job(shell, tmp_path, code, expected):
    """No drift, drift and not known are answers; a wrong command line is a failure."""
    done, calls = shell(_step("ask", "Ask again")["run"], CODE=str(code), MODEL_BASE_URL="https://h/v1")
    assert (expected, f"code={code}\n") == (done, (tmp_path / "output").read_text())
    assert [
        "drift cassettes --upstream https://h/v1 --sample 10 --record drift.json --issue drift.md"
    ] == calls


def test_there_is_one_issue(shell, tmp_path):
    """It is opened once and brought up to date afterwards."""
    script = _step("tell", "Open the issue, or bring it up to date")["run"]
    first, second = shell(script), shell(script)
    assert [0, 0] == [first[0], second[0]]
    assert (True, False) == tuple(
        any(c.startswith("issue create") for c in calls) for _, calls in (first, second)
    )
    assert "issue edit 7 --body-file drift.md" == second[1][-1]
    assert "https://h/runs/1" in (tmp_path / "drift.md").read_text()
