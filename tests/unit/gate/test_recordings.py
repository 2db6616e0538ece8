# SPDX-License-Identifier: Apache-2.0
"""Which objects of the clone the gate reads for recordings, and whose word counts."""

import os

import msgspec
import pytest

from truegreen.core.policy import CassetteTrust
from truegreen.core.policy_read import read_policy
from truegreen.core.ports import FileChange
from truegreen.gate.bind import Asked, bind
from truegreen.gate.decide import RULES
from truegreen.gate.ground import Unreachable
from truegreen.gate.recordings import provenance_of, recordings_at
from truegreen.wiring.gate import check_recordings
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.setting import SMALL, setting

POLICY = SMALL + '\n[lanes.replayed]\nkind = "contract-check"\ntests = "tests/replay"\n'


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """An honest pull request with a lane that is replayed."""
    policy = read_policy(POLICY.encode(), kinds=RULES.facts())
    folder = tmp_path_factory.mktemp("stage")
    made = honest_under(setting(policy, "main", "a test"), folder, {"PATH": os.environ["PATH"]})
    with made.stage.git.asking():
        yield made


@pytest.fixture
def ground(actors):
    """The gate's own knowledge, with other facts or another index."""

    def about(facts=None, index="", **more):
        with actors.stage.git.asking() as git:
            stored = actors.stage.index_bytes() if index == "" else index
            given = {"check_recordings": check_recordings, **more}
            asked = Asked(
                facts=facts or actors.stage.facts,
                git=git,
                index=stored,
                now=actors.stage.now,
                in_ci=True,
                version="1",
                **given,
            )
            return bind(asked, RULES.kinds, RULES.facts()).ground

    return about


def test_recordings_are_read_once(actors, ground):
    """The same tree is not read again."""
    reads = []
    found = ground(check_recordings=lambda files: reads.append(files) or check_recordings(files))
    tree = actors.tree_of(actors.base)
    assert recordings_at(found, tree, "cassettes") is recordings_at(found, tree, "cassettes")
    assert (1, 1) == (len(reads), len(recordings_at(found, tree, "cassettes").recordings))


def test_without_a_reader_nothing_is_known(actors, ground):
    """It is an answer of its own, not an empty folder."""
    with pytest.raises(Unreachable) as caught:
        recordings_at(ground(check_recordings=None), actors.tree_of(actors.base), "cassettes")
    assert "recordings-unread" == caught.value.code


def provenance(actors, found, **trust):
    """Who vouches, under other trust."""
    policy = msgspec.structs.replace(found.policy, cassettes=CassetteTrust(**trust))
    other = msgspec.structs.replace(found, policy=policy)
    lane = policy.lane("replayed")
    head, base = actors.stage.facts.head_sha, actors.base
    return provenance_of(other, lane, head=head, base=base, tree=actors.tree_of(head))


def test_a_queue_with_a_fork_asks_no_author(actors, ground):
    """One head of the group lives elsewhere, so no address of the group is believed."""
    facts = msgspec.structs.replace(actors.stage.facts, event="merge_group", group_base=actors.base)
    runs = tuple(msgspec.structs.replace(run, head_repo="fork/n") for run in actors.stage.index.runs)
    fork = msgspec.structs.replace(actors.stage.index, runs=runs)
    from truegreen.core.canonical import write_json

    stored = write_json(msgspec.to_builtins(fork))
    assert [True, False, False] == [
        provenance(actors, ground(facts, index)).is_of_fork
        for index in (stored, actors.stage.index_bytes(), None)
    ]


def test_a_clone_that_cannot_be_asked_is_said(actors, ground):
    """A missing object is an answer, never an empty list of changes."""
    found = ground()
    with pytest.raises(Unreachable) as caught:
        found.changes("1" * 40, actors.stage.facts.head_sha, "cassettes")
    assert "missing-object" == caught.value.code
    with pytest.raises(Unreachable):
        found.tree_of("1" * 40)
    with pytest.raises(Unreachable):
        found.blob_digests(["1" * 40])


def test_only_what_changed_is_asked(actors, ground):
    """A head that is the base has no changes to ask for."""
    found = ground()
    lane = found.policy.lane("replayed")
    tree = actors.tree_of(actors.base)
    same = provenance_of(found, lane, head=actors.base, base=actors.base, tree=tree)
    assert ((), ()) == (same.unvouched, same.forged)
    assert FileChange.__struct_fields__ == ("commit", "author", "path", "oid")
