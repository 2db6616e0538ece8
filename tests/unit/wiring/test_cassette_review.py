# SPDX-License-Identifier: Apache-2.0
"""A working copy beside the commit from which it parted."""

import os
import subprocess

import pytest

from factories.cassettes import CHAT, answered, asked, recorder
from truegreen.cli.main import run
from truegreen.core.errors import UsageProblem
from truegreen.wiring.cassette_review import reviewed


def _git(folder, *arguments):
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def _record(root, *seeds, text="4", now="2026-11-29T21:00:00Z"):
    store = recorder(root / "tests" / "cassettes", now=now, since=now)
    for seed in seeds:
        store.keep(asked(CHAT | {"seed": seed}), answered(text))


@pytest.fixture
def root(tmp_path):
    """A repository with two recordings on main, and a branch on which one of them was recorded anew."""
    _git(tmp_path, "init", "-q", "-b", "main")
    _record(tmp_path, 0, 1)
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-q", "-m", "one")
    _git(tmp_path, "switch", "-q", "-c", "change")
    _record(tmp_path, 0, text="5", now="2026-11-30T21:00:00Z")
    return tmp_path


def test_what_is_on_disk_counts_committed_or_not(root):
    """One changed answer, logged; then a new one beside it."""
    for committed in (False, True):
        if committed:
            _git(root, "add", "-A")
            _git(root, "commit", "-q", "-m", "two")
        found = reviewed(root / "tests" / "cassettes", "main", os.environ)
        assert (1, 0, False) == (found.count("answer-changed"), found.count("new"), found.is_wrong)
    _record(root, 7)
    assert 1 == reviewed(root / "tests" / "cassettes", "main", os.environ).count("new")


def test_what_the_other_branch_did_meanwhile_is_not_ours(root):
    """Base is where the two part."""
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "two")
    _git(root, "switch", "-q", "main")
    _record(root, 5, 6)
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "three")
    _git(root, "switch", "-q", "change")
    found = reviewed(root / "tests" / "cassettes", "main", os.environ)
    assert (1, 0, 0) == (found.count("answer-changed"), found.count("removed"), found.count("new"))


@pytest.mark.parametrize("revision", ["none", "--help", "HEAD:x", ""])
def test_a_revision_that_is_none_is_said(root, revision):
    """With what to do."""
    with pytest.raises(UsageProblem) as caught:
        reviewed(root / "tests" / "cassettes", revision, os.environ)
    assert "no-such-revision" == caught.value.code


def test_the_verb_says_it_in_one_line(root, capsys, monkeypatch):
    """Exit 0; 1 once the log is gone; 2 outside of a repository."""
    monkeypatch.chdir(root)
    assert 0 == run(["cassette", "review", "tests/cassettes", "--base", "main"])
    out = capsys.readouterr().out.splitlines()
    assert (
        "1 changed answer, 0 changed decision fields, schema 0/0, 0 new, 0 removed, 0 recorded again without a change"
        == out[0]
    )
    assert 0 == run(["cassette", "review", "tests/cassettes", "--base", "main", "--format", "json"])
    capsys.readouterr()
    (root / "tests" / "cassettes" / "replaced.jsonl").unlink()
    assert 1 == run(["cassette", "review", "tests/cassettes", "--base", "main"])
    assert "does not stand in replaced.jsonl" in capsys.readouterr().out


def test_outside_of_a_repository_there_is_no_base(tmp_path):
    """Exit 2 by its code."""
    with pytest.raises(UsageProblem) as caught:
        reviewed(tmp_path / "cassettes", "main", os.environ)
    assert "not-a-repository" == caught.value.code
