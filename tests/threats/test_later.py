# SPDX-License-Identifier: Apache-2.0
"""Attacks on parts that are not built: the real input goes through the door, and the right answer is asked for.

Each is a strict expected failure: it fails today because the verb, the kind or the key is not in this version, and
the day it passes, this mark must go.
"""

import json
import os
import subprocess
import sys

import pytest

PATH = {"PATH": os.environ["PATH"]}
NOT_BUILT = pytest.mark.xfail(strict=True, reason="the part is not in this version", raises=AssertionError)
POLICY = """
schema = "truegreen/policy/v1"
[lanes.model-tests]
tests = "tests/llm"
"""


def truegreen(folder, *arguments):
    """Run one command in a folder; its exit code and everything that it printed."""
    command = [sys.executable, "-I", "-m", "truegreen", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=PATH, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def written(folder, **files):
    """Files below a folder, ``__`` in a name for ``/``."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@NOT_BUILT
def test_a_bank_does_not_outlive_the_code(tmp_path):
    """A policy that keeps evidence for a day is read; what it keeps is keyed by the code as well."""
    written(tmp_path, truegreen_dot_toml=POLICY + 'fresh_for = "24h"\n')
    code, told = truegreen(tmp_path, "policy", "check", "truegreen.toml")
    assert (0, True) == (code, "fresh_for" in told)


@NOT_BUILT
def test_an_unsigned_record_does_not_satisfy_a_sealed_lane(tmp_path):
    """A lane that asks for a signature is understood, so that an unsigned record can hold it."""
    written(tmp_path, truegreen_dot_toml=POLICY + 'seal = "ed25519"\nkeys = ["k1"]\n')
    code, _ = truegreen(tmp_path, "policy", "check", "truegreen.toml")
    assert 0 == code


@NOT_BUILT
def test_a_verdict_that_says_stop_stops(tmp_path):
    """An accepted verdict with the action stop exits 1: a caller that re-runs on 0 does not re-run."""
    verdict = {
        "schema": "retry-verdict/v1",
        "action": "stop",
        "class": "product",
        "reason": "assertion in the change",
    }
    written(tmp_path, verdict_dot_json=json.dumps(verdict), manifest_dot_txt="")
    code, _ = truegreen(tmp_path, "rerun", "check", "verdict.json", "manifest.txt")
    assert 1 == code


@NOT_BUILT
def test_a_lost_rerun_log_is_no_budget(tmp_path):
    """Without its log nobody knows how often there was a re-run: it may not be tried again, exit 3."""
    code, _ = truegreen(tmp_path, "rerun", "check", "nowhere.json", "nowhere.txt")
    assert 3 == code


@NOT_BUILT
def test_a_planted_cache_is_unreadable_in_a_cold_run(tmp_path):
    """A file at a fixed temporary path is not there for an isolated run."""
    planted = written(tmp_path, cache__warm_dot_txt="warm") / "cache" / "warm.txt"
    code, told = truegreen(tmp_path, "cold", "run", "--isolated", "--", "cat", planted)
    assert (1, False) == (code, "\nwarm" in told)


@NOT_BUILT
def test_a_draft_that_touches_a_workflow_is_refused(tmp_path):
    """A pure rename into the workflows is a change of them: exit 1."""
    patch = (
        "diff --git a/notes.md b/.github/workflows/gate.yml\nsimilarity index 100%\n"
        "rename from notes.md\nrename to .github/workflows/gate.yml\n"
    )
    written(tmp_path, change_dot_diff=patch)
    code, _ = truegreen(tmp_path, "proposal", "check", "change.diff")
    assert 1 == code


@NOT_BUILT
def test_a_token_of_an_edited_workflow_is_refused(tmp_path):
    """Claims whose workflow comes from the pull request's own branch are foreign: exit 1."""
    claims = {
        "repository": "o/n",
        "job_workflow_ref": "o/n/.github/workflows/x.yml@refs/pull/1/merge",
        "jti": "1",
    }
    written(tmp_path, claims_dot_json=json.dumps(claims))
    code, _ = truegreen(tmp_path, "service", "verify-token", "claims.json")
    assert 1 == code
