# SPDX-License-Identifier: Apache-2.0
"""What the gate recomputes: trees, files, digests and bases; what has no answer is told and never guessed."""

from dataclasses import replace

import msgspec
import pytest

from simulators.git import SimulatedGit
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.policy_read import read_policy
from truegreen.gate.decide import RULES
from truegreen.gate.ground import Ground, Unreachable, unreachable
from truegreen.wiring.rehearsal.events import at_home, pushed, queued
from truegreen.wiring.rehearsal.setting import SMALL

NOWHERE = "b" * 40
FILES = {"tests/llm/a.yaml": b"id: a\n", "src/app.py": b"1\n"}


@pytest.fixture
def git():
    """A repository with a base and two heads that both changed the same file, and one that added one."""
    git = SimulatedGit()
    git.base = git.commit(FILES, branch="main")
    git.newer = git.commit({**FILES, "src/app.py": b"2\n"}, parents=(git.base,), branch="main")
    git.head = git.commit({**FILES, "src/more.py": b"9\n"}, parents=(git.base,))
    git.clash = git.commit({**FILES, "src/app.py": b"3\n"}, parents=(git.base,))
    return git


def ground_of(actors, git, text=SMALL, *, head=None, **facts):
    """The gate's own knowledge over a simulated repository."""
    told = msgspec.structs.replace(actors.stage.facts, head_sha=head or git.head, **facts)
    return Ground(
        facts=told,
        policy=read_policy(text.encode(), kinds=RULES.facts()),
        mode="enforce",
        tip=git.newer,
        head_tree=git.tree_of(told.head_sha) if told.head_sha in git.commits else NOWHERE,
        index=None,
        git=git,
        now="2026-01-01T00:00:00Z",
    )


def lane_of(ground):
    """Its one lane."""
    return ground.policy.lanes[0]


def code_of(ask, *arguments):
    """The code with which a question has no answer."""
    with pytest.raises(Unreachable) as caught:
        ask(*arguments)
    return caught.value.code


def test_the_tested_tree_is_the_merge_or_the_head(actors, git):
    """As the lane's policy has it."""
    merge, head = ground_of(actors, git), ground_of(actors, git, SMALL + 'tree = "head"\n')
    merged = merge.tested_tree(lane_of(merge), git.head, git.newer)
    assert git.merge_tree(git.head, git.newer).tree == merged
    assert git.tree_of(git.head) == head.tested_tree(lane_of(head), git.head, git.newer)


def test_a_conflict_and_a_missing_commit_are_answers_of_their_own(actors, git):
    """Neither is a tree."""
    ground = ground_of(actors, git)
    lane = lane_of(ground)
    assert "merge-conflict" == code_of(ground.tested_tree, lane, git.clash, git.newer)
    assert "missing-object" == code_of(ground.tested_tree, lane, NOWHERE, git.newer)
    assert "missing-object" == code_of(ground.tree_of_head, NOWHERE)
    assert "missing-object" == code_of(ground.entries, NOWHERE)
    assert "missing-object" == code_of(ground.baseline_of_base, NOWHERE)


def test_a_git_that_fails_is_not_called_a_missing_object():
    """Nobody is sent to fetch what is there."""
    codes = [
        unreachable(ReachProblem(code, "git says no")).code for code in ("missing-object", "git-too-old")
    ]
    assert ["missing-object", "git-failed"] == codes


def test_a_working_copy_is_tested_as_it_lies_there(actors, git):
    """Its own tree, dirty or not; head's committed tree is still known."""
    ground = ground_of(actors, git, local=True, head_tree="d" * 40)
    ground = msgspec.structs.replace(ground, head_tree="d" * 40)
    assert "d" * 40 == ground.tested_tree(lane_of(ground), git.head, git.newer)
    assert git.tree_of(git.head) == ground.tree_of_head(git.head)


def test_only_regular_files_are_read(actors, git):
    """A link in a file's place has no content."""
    tree = git.add_tree({"a": b"1", "link": ("120000", b"a"), "module": ("160000", b"e" * 40)})
    ground = ground_of(actors, git)
    assert [b"1", None, None, None] == [ground.file_at(tree, p) for p in ("a", "link", "module", "none")]


def test_a_baseline_that_cannot_be_read_is_no_baseline_that_is_missing(actors, git):
    """Absence is None, damage is told."""
    ground = ground_of(actors, git)
    assert ground.baseline_at(git.tree_of(git.head)) is None
    broken = git.add_tree({**FILES, "truegreen.baseline.json": b"{"})
    assert "baseline-unreadable" == code_of(ground.baseline_at, broken)


def test_digests_that_cannot_be_made_are_told(actors, git):
    """A lane without files, a name that is no name everywhere, a blob that is not there."""
    ground = ground_of(actors, git)
    lane = lane_of(ground)
    assert "empty-lane" == code_of(ground.digests, lane, git.add_tree({"src/app.py": b"1\n"}))
    assert "digests-unknown" == code_of(ground.digests, lane, git.add_tree({**FILES, "a\\b": b"1"}))
    tree = git.tree_of(git.head)
    lost = next(entry.oid for entry in git.entries(tree) if entry.path == "src/more.py")
    del git.blobs[lost]
    assert "missing-object" == code_of(ground.digests, lane, tree)


def test_a_blob_that_is_gone_when_it_is_read_is_told(actors, git):
    """Between its digest and its content."""
    ground = ground_of(actors, git)
    tree = git.tree_of(git.head)
    [entry] = [e for e in git.entries(tree) if e.path == "tests/llm/a.yaml"]
    ground.digests(lane_of(ground), tree)
    del git.blobs[entry.oid]
    assert "missing-object" == code_of(ground.file_at, tree, "tests/llm/a.yaml")


CONTRADICTING = (
    SMALL
    + 'irrelevant = ["*.yaml"]\n[lanes.advice]\ntests = "tests/llm"\nrole = "advisory"\nirrelevant = ["*.yaml"]\n'
)


def test_a_policy_that_contradicts_the_tree_is_a_configuration_error(actors, git):
    """For a lane that counts; advice changes nothing, so there it is only told."""
    ground = ground_of(actors, git, CONTRADICTING)
    tree = git.tree_of(git.head)
    with pytest.raises(UsageProblem) as caught:
        ground.digests(ground.policy.lanes[0], tree)
    assert "irrelevant-hides-ruler" == caught.value.code
    assert "digests-unknown" == code_of(ground.digests, ground.policy.lanes[1], tree)


def test_a_file_that_the_change_alone_adds_is_no_configuration_error(actors, git):
    """The base branch does not contradict its policy, so the change holds."""
    ground = ground_of(actors, git, SMALL + 'irrelevant = ["*.md"]\n')
    tree = git.tree_of(git.commit({**FILES, "tests/llm/notes.md": b"x"}, parents=(git.base,)))
    assert "digests-unknown" == code_of(ground.digests, lane_of(ground), tree)


def test_a_base_that_nobody_can_read_contradicts_nothing(actors, git):
    """What is wrong there is told elsewhere; the change holds."""
    ground = ground_of(actors, git, SMALL + 'irrelevant = ["*.md"]\n')
    ground.tip = git.commit({"README.md": b"no tests"}, branch="main")
    tree = git.tree_of(git.commit({**FILES, "tests/llm/notes.md": b"x"}, parents=(git.base,)))
    assert "digests-unknown" == code_of(ground.digests, lane_of(ground), tree)


def test_digests_are_made_once(actors, git):
    """However many records name them."""
    ground = ground_of(actors, git)
    tree = git.tree_of(git.head)
    first = ground.digests(lane_of(ground), tree)
    git.blobs.clear()
    assert first is ground.digests(lane_of(ground), tree)


def test_what_base_had_is_read_where_the_tested_tree_stands(actors, git):
    """A record cannot go back behind what the head holds; what it merged in is newer and stands."""
    merged = git.commit(FILES, parents=(git.head, git.newer))
    for head, said, expected in (
        (git.head, git.base, git.base),
        (git.head, git.newer, git.newer),
        (merged, git.base, git.newer),
    ):
        ground = ground_of(actors, git, head=head)
        assert expected == ground.base_of(lane_of(ground), said)


def test_a_lane_that_tests_the_head_is_compared_with_what_the_head_holds(actors, git):
    """Cases that the branch gained since were never in the tested tree."""
    ground = ground_of(actors, git, SMALL + 'tree = "head"\n')
    assert git.base == ground.base_of(lane_of(ground), git.newer)


def test_a_queue_and_a_push_have_their_base(actors, git):
    """The group's own, and the pushed commit."""
    group = ground_of(actors, git, event="merge_group", group_base=git.newer)
    push = ground_of(actors, git, event="push")
    assert (git.newer, git.head) == (
        group.base_of(lane_of(group), git.base),
        push.base_of(lane_of(push), git.base),
    )


def test_a_base_that_cannot_be_told_is_told(actors, git):
    """Without the commit nobody knows where the head stands; without a common one the record's own word is all."""
    lost = ground_of(actors, git, head=NOWHERE)
    assert "missing-object" == code_of(lost.base_of, lane_of(lost), git.base)
    stranger = git.commit(FILES)
    alone = ground_of(actors, git, head=stranger)
    assert git.base == alone.base_of(lane_of(alone), git.base)


@pytest.mark.parametrize("event", [queued, pushed, at_home])
def test_other_events_have_a_ground_too(actors, ground, event):
    """Queue, push and working copy."""
    try:
        made = ground(replace(event(actors).stage))
        assert actors.tree_of(actors.stage.facts.head_sha) == made.head_tree
    finally:
        actors.stage.git.branch("main", actors.base)
