# SPDX-License-Identifier: Apache-2.0
"""Recordings checked on disk, and the record of a replay."""

import json
import os
import shutil
import subprocess

import msgspec
import pytest

from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.outcome import Exit, Word
from truegreen.core.policy import Lane
from truegreen.core.record import read_record
from truegreen.core.replay_session import Missed, write_session
from truegreen.gate.decide import RULES
from truegreen.gate.replay_record import decode
from truegreen.wiring.cassette_check import CheckRequest, check, folder_files
from truegreen.wiring.gate import Request, decided, replayed
from truegreen.wiring.rehearsal import replays

ENVIRONMENT = {"PATH": os.environ["PATH"]}
POLICY = """
schema = "truegreen/policy/v1"
mode = "enforce"
[cassettes]
authors = ["ana@example.org"]
[lanes.replayed]
kind = "contract-check"
tests = "tests/replay"
guard = "audit"
"""


def asked(root, *, folder=None, sessions=(), record=None, lane=None):
    """A request from the root."""
    return CheckRequest(
        cwd=root, folder=folder, lane=lane, sessions=sessions, record=record, subject_from=None, base=None
    )


def written(root, files):
    """Files below a folder."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


def git(root, *arguments):
    """A git command in the repository."""
    who = {
        f"GIT_{one}_{what}": v
        for one in ("AUTHOR", "COMMITTER")
        for what, v in (("NAME", "A"), ("EMAIL", "ana@example.org"))
    }
    subprocess.run(
        ["git", "-C", root, *arguments], check=True, capture_output=True, env={**os.environ, **who}
    )


@pytest.fixture
def recordings(tmp_path):
    """A folder's files that keep their contract."""
    return replays.recordings(tmp_path / "scratch")


@pytest.fixture
def repository(tmp_path, recordings):
    """A repository whose lane is replayed, with a branch that adds nothing but code."""
    root = tmp_path / "repository"
    root.mkdir()
    written(root, {"truegreen.toml": POLICY, "tests/replay/test_a.py": "", "src/a.py": "A = 1\n"})
    written(root / "cassettes", recordings)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    git(root, "checkout", "-qb", "change")
    written(root, {"src/a.py": "A = 2\n"})
    git(root, "commit", "-qam", "two")
    return root


def head_of(root):
    """The commit that is checked out."""
    told = subprocess.run(
        ["git", "-C", root, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    return told.stdout.strip()


@pytest.fixture
def session(tmp_path, recordings):
    """A file of what a replay of the repository's head left, with other claims."""

    def made(name="session.json", **changes):
        if (tmp_path / "repository" / ".git").exists():
            changes = {"commit": head_of(tmp_path / "repository")} | changes
        lane = msgspec.defstruct("Lane", [("cassettes", str)])(cassettes="cassettes")
        path = tmp_path / name
        path.write_bytes(write_session(replays.replay(lane, recordings, **changes)))
        return path

    return made


def test_a_folder_is_checked_without_policy_or_repository(tmp_path, recordings):
    """Nothing else is needed to read what lies there; links are not followed."""
    written(tmp_path / "cassettes", recordings)
    assert Exit.DONE == check(asked(tmp_path), ENVIRONMENT).code
    (tmp_path / "cassettes" / "zz.json").symlink_to(tmp_path / "truegreen.toml")
    (tmp_path / "cassettes" / "deep").mkdir()
    (tmp_path / "cassettes" / "deep" / "x.txt").write_text("x")
    assert {"zz.json": None, "deep/x.txt": b"x"}.items() <= folder_files(tmp_path / "cassettes").items()
    assert Exit.HOLD == check(asked(tmp_path), ENVIRONMENT).code


def test_a_folder_that_is_not_there_is_no_empty_folder(tmp_path):
    """Exit 3, with the name."""
    with pytest.raises(ReachProblem) as caught:
        check(asked(tmp_path, folder=tmp_path / "nowhere"), ENVIRONMENT)
    assert "file-unreadable" == caught.value.code


def test_a_replay_becomes_a_record_that_the_gate_admits(repository, session):
    """The gate reads policy, recordings and record, and says what it is worth."""
    found = check(asked(repository, sessions=(session(),)), ENVIRONMENT)
    assert (Exit.DONE, repository / "artifacts" / "replayed.all.1.truegreen.json") == (
        found.code,
        found.record,
    )
    envelope, _ = read_record(found.record.read_bytes())
    assert ("truegreen/contract-check/v1", "cassette check") == (envelope.schema, envelope.producer.verb)
    assert 1 == len(decode(envelope.body).recordings)
    decision, _ = decided(_gate(repository), ENVIRONMENT, "1")
    assert (Word.ADMIT, True) == (decision.word, "replayed, not sampled" in decision.line)


def test_the_decision_on_a_replay_is_made_again_from_its_bundle(repository, session, tmp_path):
    """Recordings, authors and seals are read from what git answered then; the clone is not asked."""
    check(asked(repository, sessions=(session(),)), ENVIRONMENT)
    bundle = tmp_path / "bundle.json"
    first, record = decided(_gate(repository, bundle), ENVIRONMENT, "1")
    shutil.rmtree(repository)
    again, made = replayed(bundle, "1")
    assert (Word.ADMIT, first.line, record) == (again.word, again.line, made)


def _gate(repository, bundle=None):
    return Request(
        evidence=(repository / "artifacts",),
        repository=repository,
        run_index=None,
        subject_from="git",
        policy_from="base",
        only_lane=None,
        base=None,
        bundle=bundle,
        decision=None,
    )


def test_a_miss_fails_here_and_blocks_there(repository, session):
    """The same fault, the same code."""
    miss = Missed(code="cassette-missing", key=None, count=1, nearest="a.json", differs_at="body.model")
    found = check(asked(repository, sessions=(session(misses=(miss,)),)), ENVIRONMENT)
    assert (Exit.BLOCK, "recording-missing") == (found.code, found.findings[0].code)
    assert "differs at body.model" in found.findings[0].problem
    decision, _ = decided(_gate(repository), ENVIRONMENT, "1")
    assert (Word.BLOCK, "recording-missing") == (decision.word, decision.code)


@pytest.mark.parametrize(
    ("changes", "code", "expected"),
    [
        ({"complete": False, "incomplete_because": "-k"}, "replay-incomplete", Exit.HOLD),
        ({"command_exit": None}, "replay-incomplete", Exit.HOLD),
        ({"command_exit": 1}, "replay-failed", Exit.BLOCK),
        ({"guard_stops": 1}, "replay-reached-out", Exit.BLOCK),
        ({"after": "h1:" + "A" * 43 + "="}, "recordings-changed", Exit.BLOCK),
        ({"before": None, "after": None}, "recordings-changed", Exit.BLOCK),
        ({"guard": "none"}, "guard-too-weak", Exit.HOLD),
    ],
)
def test_faults_of_a_replay_are_told_at_once(repository, session, changes, code, expected):
    """With the gate's words, before the gate is asked."""
    found = check(asked(repository, sessions=(session(**changes),)), ENVIRONMENT)
    assert (expected, [code]) == (found.code, [one.code for one in found.findings])


def test_a_replay_that_played_nothing_is_unknown(repository, session, recordings):
    """Nothing answered, and every recording is unused."""
    (name,) = [one for one in recordings if "/" not in one and one.endswith(".json")]
    found = check(asked(repository, sessions=(session(hits=(), unused=(name,)),)), ENVIRONMENT)
    assert (Exit.HOLD, {"nothing-replayed", "recordings-unused"}) == (
        found.code,
        {one.code for one in found.findings},
    )


def test_workers_of_one_run_are_one_record(repository, session):
    """Several files are read as one replay."""
    sessions = (session("one.json"), session("two.json", guard="audit"))
    found = check(asked(repository, sessions=sessions), ENVIRONMENT)
    assert (2, "audit") == (found.session.hits[0].count, found.session.guard)


def test_a_record_without_a_replay_says_so(repository, tmp_path):
    """It is written where it is asked, and the gate holds."""
    path = repository / "artifacts" / "only.truegreen.json"
    found = check(asked(repository, record=path), ENVIRONMENT)
    assert (path, None) == (found.record, decode(read_record(path.read_bytes())[0].body).session)
    decision, _ = decided(_gate(repository), ENVIRONMENT, "1")
    assert (Word.HOLD, "nothing-replayed") == (decision.word, decision.code)


def test_another_folder_than_the_lanes_is_refused(repository, session, tmp_path):
    """A record is about the lane's own recordings."""
    with pytest.raises(UsageProblem) as caught:
        check(asked(repository, folder=tmp_path, sessions=(session(),)), ENVIRONMENT)
    assert "other-folder" == caught.value.code
    same = check(asked(repository, folder=repository / "cassettes", sessions=(session(),)), ENVIRONMENT)
    assert Exit.DONE == same.code


def test_a_lane_that_does_not_replay_has_no_record(repository, session):
    """It is named with those that do."""
    with pytest.raises(UsageProblem) as caught:
        check(asked(repository, sessions=(session(),), lane="other"), ENVIRONMENT)
    assert ("no-such-lane", True) == (caught.value.code, "replayed" in caught.value.message)


def test_a_session_that_was_cut_writes_nothing(repository, session):
    """Half a session is no replay."""
    path = session()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(Exception, match="json"):
        check(asked(repository, sessions=(path,)), ENVIRONMENT)
    assert not (repository / "artifacts").exists()


def test_no_lane_of_the_kind_is_built_in():
    """The policy alone says which lanes replay."""
    assert {"contract-check", "sample-ledger"} <= set(RULES.kinds)
    assert "cassettes" in Lane.__struct_fields__
    assert json.dumps(replays.LABELS)


@pytest.mark.parametrize("commit", ["1" * 40, ""])
def test_a_replay_of_another_commit_or_of_none_writes_no_record(repository, session, commit):
    """Nobody knows which code it was: the account says nothing about this one. That of this commit counts."""
    head = head_of(repository)
    with pytest.raises(EvidenceProblem) as caught:
        check(asked(repository, sessions=(session(commit=commit),)), ENVIRONMENT)
    assert ("replay-of-other-commit", []) == (caught.value.code, [*repository.glob("artifacts/*")])
    assert Exit.DONE == check(asked(repository, sessions=(session(commit=head),)), ENVIRONMENT).code


def test_a_session_that_is_given_twice_is_refused(repository, session):
    """It would play every recording twice."""
    with pytest.raises(EvidenceProblem) as caught:
        check(asked(repository, sessions=(session(), session())), ENVIRONMENT)
    assert "session-twice" == caught.value.code
