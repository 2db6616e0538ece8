# SPDX-License-Identifier: Apache-2.0
"""Which policy, lane and files a sampling run stands on."""

import os

import pytest
from sample_kit import git

from truegreen.core.errors import TruegreenProblem, UsageProblem
from truegreen.forges.git import GitRepository
from truegreen.wiring.sample_ground import from_root, read_ground
from truegreen.wiring.sample_request import SampleRequest

TWO_LANES = """
    schema = "truegreen/policy/v1"
    [check]
    name = "truegreen"
    workflow = ".github/workflows/truegreen.yml"
    branches = ["main"]
    [lanes.one]
    tests = "tests/one"
    [lanes.two]
    tests = "tests/two"
"""
FILES = {"tests/one/test_a.py": "", "tests/two/test_b.py": "", "other/test_c.py": ""}


@pytest.fixture
def ground(repository):
    """Read the ground of a request in a repository."""

    def go(policy=TWO_LANES, **asked):
        root = repository(FILES, policy=policy) if not isinstance(policy, os.PathLike) else policy
        with GitRepository(root, os.environ) as repo:
            return read_ground(SampleRequest(cwd=root, **asked), repo, os.environ)

    return go


def test_a_lane_is_named_where_there_are_two(ground):
    """And none is guessed."""
    two = ground(lane="two")
    assert ("two", ("tests/two",), True) == (two.lane.name, two.paths, two.is_whole)
    for asked, code in (({}, "which-lane"), ({"lane": "three"}, "no-such-lane")):
        with pytest.raises(UsageProblem) as caught:
            ground(two.root, **asked)
        assert code == caught.value.code


def test_paths_are_a_part_of_a_lane_unless_they_are_the_lane(ground):
    """The lane's own folder is the lane."""
    whole = ground(lane="one", paths=("tests/one",))
    assert whole.is_whole
    assert not ground(whole.root, lane="one", paths=("tests/one/test_a.py",)).is_whole


def test_without_a_policy_paths_are_a_lane_with_every_default(ground):
    """The deepest folder that holds them all; the ledger is no evidence."""
    found = ground(lane="one")
    git(found.root, "rm", "--quiet", "truegreen.toml")
    own = ground(found.root, paths=("tests/one/test_a.py", "tests/two"))
    assert ("model-tests", "tests", False) == (own.lane.name, own.lane.tests, own.is_whole)
    assert ("tests/one/test_a.py", "tests/two") == own.paths
    one = ground(found.root, paths=("tests/one/test_a.py::test_b", "tests/one/test_a.py::test_c"))
    assert "tests/one/test_a.py" == one.lane.tests
    for paths, code in (((), "no-policy"), (("tests", "other"), "paths-apart")):
        with pytest.raises(UsageProblem) as caught:
            ground(found.root, paths=paths)
        assert code == caught.value.code


def test_paths_are_told_from_the_root(tmp_path):
    """From wherever the command was called."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert "a/b" == from_root("b", tmp_path / "a", tmp_path)
    assert "a" == from_root(".", tmp_path / "a", tmp_path)
    assert "a/b::test_c[d::e]" == from_root("b::test_c[d::e]", tmp_path / "a", tmp_path)
    for path in ("gone", "gone::test_c", "../..", "/", "::test_c"):
        with pytest.raises(UsageProblem) as caught:
            from_root(path, tmp_path / "a", tmp_path)
        assert "no-such-path" == caught.value.code


def test_digests_are_of_the_files_as_they_lie_there(ground):
    """A change that is not committed counts, and the subject says dirty."""
    clean = ground(lane="one")
    (clean.root / "app.py").write_text("changed")
    dirty = ground(clean.root, lane="one")
    assert (False, True) == (clean.subject.dirty, dirty.subject.dirty)
    assert clean.digests.ruler == dirty.digests.ruler
    assert clean.digests.subject.digest != dirty.digests.subject.digest
    (clean.root / "tests" / "one" / "test_a.py").write_text("changed")
    assert clean.digests.ruler.digest != ground(clean.root, lane="one").digests.ruler.digest


def test_a_folder_that_is_no_repository_is_an_error(tmp_path):
    """There is no tree that evidence could be about."""
    with pytest.raises(TruegreenProblem), GitRepository(tmp_path, os.environ):
        pass
