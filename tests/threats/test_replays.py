# SPDX-License-Identifier: Apache-2.0
"""Replays in place of samples, and secrets in recordings: the real input goes through the door."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import msgspec
import pytest

from truegreen.core.outcome import Word
from truegreen.core.policy_read import read_policy
from truegreen.gate.decide import RULES
from truegreen.gate.kinds import KINDS
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.setting import SMALL, setting

ENVIRONMENT = {"PATH": os.environ["PATH"]}
PATH = on.evidence_path("model-tests", "all", 1)


def truegreen(folder, *arguments):
    """Run one command in a folder; its exit code and everything that it printed."""
    command = [sys.executable, "-I", "-m", "truegreen", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(params=["", 'no_secrets = "replay"\n'], ids=["samples-only", "replay-without-key"])
def actors(request, tmp_path):
    """An honest pull request under a policy whose lane is sampled, with and without leave to replay."""
    policy = read_policy((SMALL + request.param).encode(), kinds=RULES.facts())
    made = honest_under(setting(policy, "main", "a test"), tmp_path / "stage", ENVIRONMENT)
    with made.stage.git.asking():
        yield made


def test_a_replay_is_no_sample(actors, tmp_path):
    """Twenty replays of one recording are one answer: where a key is, no replay satisfies a lane that is sampled."""
    lane = msgspec.structs.replace(actors.lane, no_secrets="replay")
    record = actors.replay(lane)
    hits = record.body["session"]["hits"]
    many = {**record.body["session"], "hits": [{**hit, "count": 20} for hit in hits]}
    told = msgspec.structs.replace(record, body={**record.body, "session": many})
    made = decide_stage(actors.stage.with_evidence(PATH, told), tmp_path / "evidence")
    assert (Word.HOLD, "wrong-kind") == (made.word, made.code)


def test_a_lane_without_leave_to_replay_holds_for_forks(actors, tmp_path):
    """A fork has no key: without leave in the policy a replay changes nothing, and neither does a ledger with it."""
    facts = msgspec.structs.replace(actors.stage.facts, head_repo="somebody/fork")
    runs = tuple(msgspec.structs.replace(run, head_repo=facts.head_repo) for run in actors.stage.index.runs)
    index = msgspec.structs.replace(actors.stage.index, runs=runs)
    fork = replace(actors, stage=replace(actors.stage, facts=facts, index=index)).with_honest_evidence()
    may_replay = actors.lane.no_secrets == "replay"
    ledger = decide_stage(fork.stage, tmp_path / "ledger")
    assert (Word.HOLD if may_replay else Word.ADMIT) is ledger.word
    lane = msgspec.structs.replace(actors.lane, no_secrets="replay")
    replayed = decide_stage(fork.stage.with_evidence(PATH, fork.replay(lane)), tmp_path / "replay")
    assert may_replay is (replayed.code != "wrong-kind")


def test_the_kind_of_a_replay_goes_on_from_nothing():
    """Its attempts are exact: no pool, no samples that a later ledger could embed."""
    kind = KINDS["contract-check"]
    assert ("exact", False, None) == (kind.attempt, kind.model_backed, kind.own_samples(None))


def test_a_recording_holds_no_secret(tmp_path):
    """A recording with a key in a header is named and refused, exit 1, and the key is not shown."""
    recording = json.dumps({"request": {"headers": {"authorization": "Bearer sk-made-up-0123456789"}}})
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "cassettes" / "one.json").write_text(recording, encoding="utf-8")
    code, told = truegreen(tmp_path, "cassette", "check", "cassettes")
    assert (1, True, False) == (code, "recording-secret one.json" in told, "sk-made-up" in told)
