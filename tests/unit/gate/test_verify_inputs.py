# SPDX-License-Identifier: Apache-2.0
"""What a record was made from is recomputed, and where exactly each line is drawn."""

import msgspec
import pytest

from simulators.git import SimulatedGit
from truegreen.gate.ground import Ground
from truegreen.gate.verify_inputs import (
    INPUT_CHECKS,
    base_is_tip,
    base_on_branch,
    not_from_the_future,
    ruler_recomputed,
    subject_recomputed,
    tree_of_the_group,
    tree_recomputed,
)
from truegreen.wiring.rehearsal.events import at_home, queued

NOWHERE = "b" * 40
FORGED = "sha256:" + "0" * 64


def with_lane(found, **changes):
    """The record under a lane with other keys."""
    return msgspec.structs.replace(found, lane=msgspec.structs.replace(found.lane, **changes))


@pytest.mark.parametrize("check", INPUT_CHECKS, ids=lambda check: check.__name__)
def test_nothing_speaks_against_the_honest_record(check, candidate, ground):
    """Every input is what git says."""
    assert check(candidate(), ground()) is None


def test_a_base_is_on_the_branch(actors, candidate, ground):
    """An ancestor of the tip counts, a commit of the change does not, one that is not there is told."""
    with actors.stage.git.asking() as port:
        older = port.parents(actors.base)[0]
    codes = [
        base_on_branch(candidate(subject={"base_sha": base}), ground())
        for base in (older, actors.stage.facts.head_sha, NOWHERE)
    ]
    assert [None, "base-not-ancestor", "missing-object"] == [found and found.code for found in codes]


def test_the_newest_base_counts_alone_where_the_lane_says_so(actors, candidate, ground):
    """``base = "tip"``; in a queue that is the group's own."""
    with actors.stage.git.asking() as port:
        older = port.parents(actors.base)[0]
    behind = with_lane(candidate(subject={"base_sha": older}), base="tip")
    assert "base-moved" == base_is_tip(behind, ground()).code
    assert base_is_tip(with_lane(candidate(), base="tip"), ground()) is None
    assert base_is_tip(with_lane(candidate(), base="tip"), ground(queued(actors).stage)) is None


def test_a_group_s_base_is_the_group_s(actors, candidate, ground):
    """No ancestry is asked: the group before it is not on the branch yet."""
    group = ground(queued(actors).stage)
    own, other = (
        candidate(subject={"event": "merge_group", "base_sha": base}) for base in (actors.base, NOWHERE)
    )
    assert (None, "base-not-ancestor") == (base_on_branch(own, group), base_on_branch(other, group).code)


@pytest.mark.parametrize("name", ["head_tree", "tested_tree"])
def test_both_trees_are_recomputed(name, candidate, ground):
    """What was tested, and what was committed."""
    found = tree_recomputed(candidate(subject={name: "d" * 40}), ground())
    assert ("tree-mismatch", "d" * 40) == (found.code, found.facts["tested"])


def test_a_commit_that_is_not_there_has_no_tree(candidate, ground):
    """A shallow clone holds; it does not believe."""
    assert "missing-object" == tree_recomputed(candidate(subject={"head_sha": NOWHERE}), ground()).code


def test_a_working_copy_that_changed_is_told_so(actors, candidate, ground):
    """Somebody edited a file after sampling."""
    home = ground(at_home(actors).stage)
    assert "files-changed" == tree_recomputed(candidate(subject={"tested_tree": "d" * 40}), home).code


def test_a_queue_takes_evidence_of_its_own_tree_alone(actors, candidate, ground):
    """Whoever sampled it."""
    group = ground(queued(actors).stage)
    assert tree_of_the_group(candidate(), group) is None
    assert "tree-mismatch" == tree_of_the_group(candidate(subject={"tested_tree": "d" * 40}), group).code


@pytest.mark.parametrize(("check", "name"), [(ruler_recomputed, "ruler"), (subject_recomputed, "subject")])
def test_a_digest_counts_with_its_components(check, name, candidate, ground):
    """Either of them alone may be made up; what moved is named."""
    honest = candidate().body
    told = msgspec.to_builtins(getattr(honest, name))
    part = next(iter(told["components"]))
    digest = check(candidate(body={name: {**told, "digest": FORGED}}), ground())
    components = {**told["components"], part: FORGED}
    lied = check(candidate(body={name: {**told, "components": components}}), ground())
    assert ("blocked", "blocked") == (digest.standing, lied.standing)
    assert part == lied.facts["moved"]


@pytest.mark.parametrize("check", [ruler_recomputed, subject_recomputed])
def test_a_tree_that_gives_no_digest_is_told(check, actors, candidate):
    """The record is not forged for that: nobody can tell."""
    git = SimulatedGit()
    tree = git.add_tree({"README.md": b"1\n"})
    empty = Ground(
        facts=actors.stage.facts,
        policy=actors.policy,
        mode="enforce",
        tip=NOWHERE,
        head_tree=tree,
        index=None,
        git=git,
        now="2026-01-01T00:00:00Z",
    )
    found = check(candidate(subject={"tested_tree": tree}), empty)
    assert ("stale", "empty-lane") == (found.standing, found.code)


@pytest.mark.parametrize(
    ("issued_at", "is_early"),
    [("2026-01-01T12:00:00Z", False), ("2026-01-01T12:05:00Z", False), ("2026-01-01T12:05:01Z", True)],
)
def test_the_future_begins_five_minutes_from_now(issued_at, is_early, candidate, ground):
    """The gate's clock says 12:00."""
    found = not_from_the_future(candidate(issued_at=issued_at), ground())
    assert is_early == (found is not None and found.code == "from-the-future")
