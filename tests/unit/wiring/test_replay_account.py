# SPDX-License-Identifier: Apache-2.0
"""What the account of a replay holds: hits, misses, leftovers, and no secret."""

import base64
import json
import os
import subprocess

import pytest

from truegreen.cassettes.folder import Folder
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.core.recording import Answered, Asked, Chunk, Miss
from truegreen.core.replay_session import read_session, write_session
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.replay_account import MOST_BYTES, Ending, ReplayAccount, commit_at, digest_of, storable

RULES = KeyRules(host="models")
NOW = "2026-11-29T17:00:00Z"


class Frozen:
    """A clock that stands."""

    def now(self):
        """An instant."""
        return NOW


def _asked(text, **more):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    return Asked(method="POST", path="/v1/chat/completions", body=body, **more)


@pytest.fixture
def folder(tmp_path):
    """Two recordings on disk."""
    store = Store(Folder(tmp_path / "c", write_atomic), RULES, Recorder(now=lambda: NOW, since=NOW))
    for text in ("one", "two"):
        answered = Answered(
            status=200,
            headers=(("content-type", "application/json"),),
            chunks=(Chunk(after_s=0.0, data=b"{}"),),
        )
        store.keep(_asked(text), answered)
    return tmp_path / "c"


def _account(folder):
    store = Store(Folder(folder, write_atomic), RULES)
    return store, ReplayAccount(folder, name="cassettes", rules=RULES, store=store, clock=Frozen())


def test_played_missed_and_unused_are_told_apart(folder):
    """The account is a file that its own reader takes."""
    store, account = _account(folder)
    store.play(_asked("one"))
    missed = tuple((asked, store.play(asked)) for asked in (_asked("three"), _asked("three"), _asked("one")))
    session = account.ended(missed, Ending(command_exit=1, guard="audit"))
    assert session == read_session(write_session(session))
    assert [1] == [hit.count for hit in session.hits]
    assert {"cassette-missing": 2, "cassette-exhausted": 1} == {one.code: one.count for one in session.misses}
    unused = {path.name for path in folder.glob("*.json")} - {hit.file for hit in session.hits}
    assert unused == set(session.unused)
    assert (True, "", 1, "audit") == (
        session.complete,
        session.incomplete_because,
        session.command_exit,
        session.guard,
    )
    assert session.before == session.after == digest_of(folder)


def test_a_recording_that_changes_during_its_replay_is_seen(folder):
    """Evidence comes from committed bytes."""
    _, account = _account(folder)
    next(folder.glob("*.json")).write_text("{}")
    session = account.ended((), Ending(incomplete_because="a part"))
    assert session.before != session.after
    assert (False, "a part") == (session.complete, session.incomplete_because)


def test_an_empty_or_missing_folder_has_no_digest(tmp_path):
    """There is nothing to digest."""
    assert [None, None] == [digest_of(tmp_path), digest_of(tmp_path / "none")]


def test_a_request_without_a_key_stands_under_its_bytes(folder):
    """Two that differ are two."""
    _, account = _account(folder)
    miss = Miss(code="duplicate-key", message="a name stands twice", key="")
    missed = ((_asked("x"), miss), (_asked("y"), miss))
    assert 2 == len({one.key for one in account.ended(missed, Ending()).misses})


def test_a_missed_request_is_there_to_be_recorded():
    """Headers that are keyed stay, credentials and the rest go."""
    headers = (
        ("Authorization", "Bearer sk-hush-0123456789abcdef"),
        ("anthropic-version", "2023-06-01"),
        ("user-agent", "x"),
    )
    kept = storable(_asked("hello", headers=headers), RULES)
    assert _asked("hello").body == base64.b64decode(kept.body_base64)
    assert [("anthropic-version", "2023-06-01")] == [(one.name, one.value) for one in kept.headers]


@pytest.mark.parametrize(
    "asked",
    [
        _asked(
            "Bearer sk-hush-0123456789abcdef", headers=(("Authorization", "Bearer sk-hush-0123456789abcdef"),)
        ),
        _asked("x", query="api_key=sk-hush-0123456789abcdef"),
        _asked("x" * MOST_BYTES),
        Asked(
            method="POST",
            path="/v1/chat/completions",
            headers=(("content-type", "application/json"),),
            body=b'{"a":1,"a":2}',
        ),
    ],
)
def test_what_cannot_be_stored_as_it_was_sent_is_left_out(asked):
    """A secret, a credential in the query, a body that is too long or refused."""
    assert storable(asked, RULES) is None


def test_the_account_names_the_commit_that_is_checked_out(tmp_path):
    """Below a checkout its commit; outside of one, before the first commit or without git, none."""
    environment = {"PATH": os.environ["PATH"]}
    folder = tmp_path / "repository" / "cassettes"
    folder.mkdir(parents=True)
    git = ["git", "-C", str(folder.parent), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    assert "" == commit_at(folder, environment)
    subprocess.run([*git, "init", "-q"], check=True)
    assert "" == commit_at(folder, environment)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    assert (head, "") == (commit_at(folder, environment), commit_at(folder, {"PATH": ""}))
