# SPDX-License-Identifier: Apache-2.0
"""Finding the policy that is meant."""

import os
import subprocess

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.core.toml import MAX_BYTES
from truegreen.wiring.policy import file_bytes, known_kinds, problems_of, shown_policy

TEXT = 'schema = "truegreen/policy/v1"\n\n[lanes.a]\ntests = "{}"\n'


def _git(folder, *arguments):
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """Main holds a policy, the branch ``head`` is checked out and holds another, the working copy a third."""
    _git(tmp_path, "init", "-q", "-b", "main")
    for branch, tests in (("main", "of/main"), ("head", "of/head")):
        if branch != "main":
            _git(tmp_path, "switch", "-q", "-c", branch)
        (tmp_path / "truegreen.toml").write_text(TEXT.format(tests), encoding="utf-8")
        _git(tmp_path, "add", "-A")
        _git(tmp_path, "commit", "-q", "-m", branch)
    (tmp_path / "truegreen.toml").write_text(TEXT.format("of/worktree"), encoding="utf-8")
    return tmp_path


def _tests(repository, source, base=None):
    policy, origin = shown_policy(source, repository, base)
    return policy.lanes[0].tests, policy.sources["lanes.a.tests"], origin.partition(" at ")[0]


def test_the_working_copy_is_read_as_it_is(repository):
    """Committed or not."""
    assert ("of/worktree", "truegreen.toml:4", "the working copy (truegreen.toml)") == _tests(
        repository, "worktree"
    )


def test_base_is_the_default_branch(repository):
    """What the gate would read here, whatever is checked out."""
    assert ("of/main", "main:truegreen.toml:4", "main") == _tests(repository, "base")


def test_another_base_can_be_named(repository):
    """Its committed file."""
    assert ("of/head", "head:truegreen.toml:4", "head") == _tests(repository, "base", "head")


def test_a_file_can_be_named(repository):
    """Anywhere."""
    other = repository / "other.toml"
    other.write_text(TEXT.format("of/file"), encoding="utf-8")
    assert ("of/file", "other.toml:4", str(other)) == _tests(repository, str(other))


@pytest.mark.parametrize(
    ("source", "base", "code"),
    [
        ("nowhere.toml", None, "no-policy"),
        ("base", "nope", "no-base-branch"),
        ("base", "empty", "no-policy"),
        ("base", "link", "no-policy"),
    ],
)
def test_what_is_not_there_is_said(repository, source, base, code):
    """No file, no branch, no policy on it, or something there that is no file."""
    _git(repository, "stash", "-q")
    _git(repository, "switch", "-q", "-c", "empty")
    _git(repository, "rm", "-q", "truegreen.toml")
    _git(repository, "commit", "-q", "-m", "none")
    _git(repository, "switch", "-q", "-c", "link")
    (repository / "truegreen.toml").symlink_to("other.toml")
    _git(repository, "add", "-A")
    _git(repository, "commit", "-q", "-m", "link")
    with pytest.raises(UsageProblem) as caught:
        shown_policy(source, repository, base)
    assert (code, 2) == (caught.value.code, caught.value.exit_code)


def test_a_repository_without_a_known_default_branch_asks_for_it(tmp_path):
    """Nothing is guessed."""
    _git(tmp_path, "init", "-q", "-b", "trunk-of-mine")
    with pytest.raises(UsageProblem) as caught:
        shown_policy("base", tmp_path, None)
    assert "no-base-branch" == caught.value.code


def test_a_pipe_is_no_policy(tmp_path):
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / "truegreen.toml")
    with pytest.raises(UsageProblem, match="no-policy"):
        file_bytes(tmp_path / "truegreen.toml")


def test_a_file_is_read_no_further_than_a_reader_looks(tmp_path):
    """A huge one is refused without being held in memory."""
    path = tmp_path / "x.toml"
    path.write_bytes(b"#" * (MAX_BYTES + 100))
    assert MAX_BYTES + 1 == len(file_bytes(path))
    assert "bad-toml" == problems_of(path)[0].code


def test_every_kind_of_the_design_is_known():
    """Built ones may be required unless a model judges in them."""
    kinds = known_kinds()
    assert {"contract-check", "sample-ledger"} == {name for name, facts in kinds.items() if facts.built}
    assert {"label-votes", "retry-verdict", "review-verdict"} <= {
        name for name, facts in kinds.items() if facts.model_backed
    }
