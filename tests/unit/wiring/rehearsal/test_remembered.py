# SPDX-License-Identifier: Apache-2.0
"""Answers about objects are kept, answers about branches until one moves, and all are the clone's own."""

from collections import Counter

import pytest

from simulators.git import SimulatedGit
from truegreen.core.errors import ReachProblem
from truegreen.wiring.rehearsal.remembered import Remembered, forget_branches


class Counted:
    """A port that counts what it is asked."""

    def __init__(self, port):
        self.port = port
        self.asked = Counter()

    def __getattr__(self, name):
        def ask(*arguments):
            self.asked[name] += 1
            return getattr(self.port, name)(*arguments)

        return ask


@pytest.fixture
def clone():
    """A repository of two commits, and the counter in front of it."""
    git = SimulatedGit()
    first = git.commit({"a": b"1"}, branch="main")
    second = git.commit({"a": b"2", "b": b"1"}, parents=(first,), branch="change")
    return git, first, second, Counted(git)


def questions(git, first, second):
    """Every question of the port."""
    tree = git.tree_of(second)
    return {
        "resolve": ("main",),
        "fetched_tip": ("main",),
        "tree_of": (second,),
        "parents": (second,),
        "entries": (tree,),
        "blob": (git.entries(tree)[0].oid,),
        "blob_digests": ([entry.oid for entry in git.entries(tree)],),
        "merge_tree": (second, first),
        "is_ancestor": (first, second),
        "merge_base": (first, second),
        "commits_between": (first, second),
        "changes_between": (first, second, "tests"),
    }


def test_every_answer_is_the_clone_s_own_and_asked_for_once(clone):
    """A second question costs nothing."""
    git, first, second, counted = clone
    asked = questions(git, first, second)
    port = Remembered(counted, {})
    for name, arguments in asked.items():
        expected = getattr(git, name)(*arguments)
        assert [expected] * 2 == [getattr(port, name)(*arguments) for _ in range(2)]
    assert Counter(dict.fromkeys(asked, 1) | {"blob_digests": 2}) == counted.asked


def test_a_branch_that_moved_is_asked_for_again(clone):
    """Everything else stands."""
    git, first, second, counted = clone
    kept = {}
    port = Remembered(counted, kept)
    before = (port.resolve("main"), port.fetched_tip("main"), port.tree_of(first))
    git.branches["main"] = second
    assert before == (port.resolve("main"), port.fetched_tip("main"), port.tree_of(first))
    forget_branches(kept)
    assert (second, second, 1) == (port.resolve("main"), port.fetched_tip("main"), counted.asked["tree_of"])


def test_a_problem_is_no_answer(clone):
    """What is missing now may be there later."""
    port = Remembered(clone[3], {})
    for _ in range(2):
        with pytest.raises(ReachProblem):
            port.tree_of("0" * 40)
    assert 2 == clone[3].asked["tree_of"]
