# SPDX-License-Identifier: Apache-2.0
"""What a lane says that it tested, from what it has checked out."""

import pytest

from simulators.git import SimulatedGit
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.event import EventFacts
from truegreen.forges.lane_subject import lane_subject
from truegreen.forges.working_copy import WorkingCopy


@pytest.fixture
def git():
    """A base that moved, a head, and the forge's merge of the two."""
    made = SimulatedGit()
    made.one = made.commit({"a": b"1"})
    made.base = made.commit({"a": b"1", "b": b"1"}, parents=[made.one], branch="main")
    made.moved = made.commit({"a": b"1", "b": b"2"}, parents=[made.base])
    made.head = made.commit({"a": b"2"}, parents=[made.one])
    made.merge = made.commit({"a": b"2", "b": b"2"}, parents=[made.moved, made.head])
    return made


def _facts(git, **changes):
    facts = {
        "event": "pull_request",
        "repo": "acme/app",
        "head_repo": "fork/app",
        "pull_request": 5,
        "head_sha": git.head,
        "base_ref": "main",
        "base_sha": git.base,
        "group_base": None,
        "default_branch": "main",
        "run_id": 7,
        "run_attempt": 2,
        "workflow": ".github/workflows/truegreen.yml",
    }
    return EventFacts(**{**facts, **changes})


def _copy(git, commit, tree=None):
    own = git.tree_of(commit)
    return WorkingCopy(head_sha=commit, head_tree=own, tree=tree or own)


def test_on_the_forge_s_merge_the_base_is_the_commit_that_was_merged(git):
    """Newer than the payload says, if the base moved in between."""
    subject = lane_subject(_facts(git), _copy(git, git.merge), git)
    assert (git.moved, git.tree_of(git.merge), git.tree_of(git.head), git.head, False) == (
        subject.base_sha,
        subject.tested_tree,
        subject.head_tree,
        subject.head_sha,
        subject.dirty,
    )
    assert ("acme/app", "fork/app", 5, "main", 7, 2, ".github/workflows/truegreen.yml", "pull_request") == (
        subject.repo,
        subject.head_repo,
        subject.pull_request,
        subject.base_ref,
        subject.run_id,
        subject.run_attempt,
        subject.workflow,
        subject.event,
    )


def test_a_merge_made_the_other_way_round_is_one_too(git):
    """The base merged into the head by the job itself."""
    other = git.commit({"a": b"2", "b": b"2"}, parents=[git.head, git.moved])
    assert git.moved == lane_subject(_facts(git), _copy(git, other), git).base_sha


def test_on_the_head_itself_the_base_is_the_payload_s(git):
    """The tested tree is the head's."""
    subject = lane_subject(_facts(git), _copy(git, git.head), git)
    assert (git.base, git.tree_of(git.head)) == (subject.base_sha, subject.tested_tree)


def test_a_changed_folder_is_dirty_and_its_own_tree(git):
    """A build step that edits a tracked file is not hidden."""
    subject = lane_subject(_facts(git), _copy(git, git.head, tree="e" * 40), git)
    assert ("e" * 40, True) == (subject.tested_tree, subject.dirty)


def test_a_group_and_a_push_test_their_own_commit(git):
    """The group's base is what it is built on, a push's is itself."""
    group = _facts(git, event="merge_group", head_sha=git.merge, group_base=git.moved, pull_request=None)
    push = _facts(git, event="push", head_sha=git.moved, base_sha=git.moved, pull_request=None)
    assert git.moved == lane_subject(group, _copy(git, git.merge), git).base_sha
    assert git.moved == lane_subject(push, _copy(git, git.moved), git).base_sha


@pytest.mark.parametrize("event", ["pull_request", "merge_group", "push"])
def test_another_checkout_is_refused(git, event):
    """The base, a merge of something else, a merge of three; and on other events even a merge of the head."""
    three = git.commit({"a": b"3"}, parents=[git.moved, git.head, git.one])
    alien = git.commit({"a": b"3"}, parents=[git.moved, git.base])
    wrong = [git.moved, three, alien] + ([] if event == "pull_request" else [git.merge])
    for commit in wrong:
        with pytest.raises(UsageProblem) as caught:
            lane_subject(_facts(git, event=event), _copy(git, commit), git)
        assert "other-checkout" == caught.value.code


def test_a_checkout_of_depth_one_lacks_the_head(git):
    """The merge is there, the head is not: a missing object, with what to do."""
    facts = _facts(git)
    copy = _copy(git, git.merge)
    del git.commits[git.head]
    with pytest.raises(ReachProblem) as caught:
        lane_subject(facts, copy, git)
    assert "missing-object" == caught.value.code
