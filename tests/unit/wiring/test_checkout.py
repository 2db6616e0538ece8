# SPDX-License-Identifier: Apache-2.0
"""Which repository is meant where none is named."""

import os
import subprocess
from pathlib import Path

import pytest

from truegreen.wiring.checkout import checkout_of, repository_of, working_copies_of


@pytest.fixture
def work(tmp_path):
    """A working copy with a folder, and a bare clone in it."""
    for command in (["init", "-q", "work"], ["init", "-q", "--bare", "work/clone.git"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env={"PATH": os.environ["PATH"]})
    (tmp_path / "work" / "a" / "b").mkdir(parents=True)
    return tmp_path / "work"


def test_whoever_stands_in_a_folder_of_a_working_copy_means_that(work):
    """Also at its root, whose name then stays as short as it was."""
    assert [work, work] == [checkout_of(work / "a" / "b"), repository_of(None, work / "a" / "b")]
    assert work == repository_of(None, work)


def test_a_bare_clone_is_meant_before_the_working_copy_around_it(work):
    """It is the folder that one stands in."""
    assert work / "clone.git" == repository_of(None, work / "clone.git")


def test_outside_of_any_repository_the_folder_itself_is_named(tmp_path):
    """The verb then says what it is not."""
    assert (None, tmp_path) == (checkout_of(tmp_path), repository_of(None, tmp_path))


def test_what_is_named_is_meant(work):
    """Even if it is none."""
    assert Path("nowhere") == repository_of(Path("nowhere"), work)


def test_a_linked_working_copy_counts_by_its_file(tmp_path):
    """``.git`` may be a file."""
    (tmp_path / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    (tmp_path / "a").mkdir()
    assert tmp_path == checkout_of(tmp_path / "a")


def test_a_bare_clone_has_no_working_copy_whatever_lies_around_it(work, tmp_path):
    """A gate on a clone that a checkout happens to hold loads nothing of the change."""
    outside = tmp_path / "outside"
    assert () == working_copies_of(outside, work / "clone.git")
    assert (work,) == working_copies_of(work / "a", work / "clone.git")
    assert (work,) == working_copies_of(outside, work / "a" / "b")
    assert (work,) == working_copies_of(work, work)
