# SPDX-License-Identifier: Apache-2.0
"""The clone of a rehearsal: written by plumbing, asked as the gate asks, closed when nobody asks any more."""

import os

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.wiring.rehearsal.clone import Git


@pytest.fixture
def git(tmp_path):
    """An empty clone."""
    return Git(tmp_path / "clone.git", {"PATH": os.environ["PATH"]}, "trunk")


def test_a_commit_holds_exactly_its_files(git):
    """Text and bytes, in folders, on a branch."""
    first = git.commit({"a/b": "x", "c": b"\xff"}, (), "trunk")
    second = git.commit({"c": b"\xff"}, (first,), "side")
    with git.asking() as port:
        found = {e.path: port.blob(e.oid) for e in port.entries(port.tree_of(first))}
        assert {"a/b": b"x", "c": b"\xff"} == found
        assert ["c"] == [e.path for e in port.entries(port.tree_of(second))]
        assert ((first,), first, second) == (
            port.parents(second),
            port.resolve("trunk"),
            port.resolve("side"),
        )


def test_a_moved_branch_is_seen_while_the_clone_is_open(git):
    """Answers about branches are forgotten when one is put elsewhere."""
    first = git.commit({"a": "1"}, (), "trunk")
    with git.asking() as port:
        assert first == port.resolve("trunk")
        second = git.commit({"a": "2"}, (first,), "trunk")
        with git.asking() as again:
            assert [second] * 2 == [port.resolve("trunk"), again.resolve("trunk")]


def test_what_git_refuses_is_told(git):
    """With its own words."""
    with pytest.raises(ReachProblem, match="git rev-parse ended with 128") as caught:
        git.run("rev-parse", "nothing^{tree}")
    assert "git-failed" == caught.value.code
