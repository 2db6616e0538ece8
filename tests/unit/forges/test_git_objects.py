# SPDX-License-Identifier: Apache-2.0
"""The long conversation about objects: framing, pace and damage."""

import os
import zlib

import pytest

from simulators.disk_git import DiskGit
from truegreen.core.digest import sha256_of
from truegreen.core.errors import ReachProblem
from truegreen.forges import git_objects
from truegreen.forges.git import GitRepository
from truegreen.forges.git_objects import WINDOW


@pytest.fixture
def disk(tmp_path):
    """A bare repository."""
    return DiskGit(tmp_path / "repo")


def test_more_questions_than_a_window_are_answered_in_order(disk):
    """Several windows of small blobs and one large one among them."""
    files = {f"{number:05}": b"%d\n" % number for number in range(0, 3 * WINDOW, 7)}
    rows = b"".join(b"blob\ndata %d\n%s\n" % (len(content), content) for content in files.values())
    disk.git(
        "fast-import", "--quiet", "--force", feed=rows + b"blob\ndata 2000000\n" + b"y" * 2_000_000 + b"\n"
    )
    listed = disk.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").splitlines()
    asked = listed * 8
    assert len(asked) > 3 * WINDOW
    with GitRepository(disk.path, os.environ) as port:
        digests = port.blob_digests(asked)
        assert {oid: sha256_of(port.blob(oid)) for oid in listed} == digests
        assert sha256_of(b"y" * 2_000_000) in digests.values()


def test_a_damaged_object_is_no_answer(disk):
    """A file under the name of an object that has another content."""
    oid = disk.git("hash-object", "-w", "--stdin", feed=b"true")
    place = disk.path / "objects" / oid[:2] / oid[2:]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"blob 4\0fals"))
    with GitRepository(disk.path, os.environ) as port, pytest.raises(ReachProblem) as caught:
        port.blob(oid)
    assert "git-failed" == caught.value.code
    place.write_bytes(b"rubbish")
    with GitRepository(disk.path, os.environ) as port, pytest.raises(ReachProblem):
        port.blob_digests([oid])


def test_an_object_of_another_kind_is_not_the_one_asked_for(disk):
    """A tree is no blob, a commit is no tree."""
    one = disk.commit({"a": b"1"})
    with GitRepository(disk.path, os.environ) as port:
        for ask in (
            lambda: port.blob(port.tree_of(one)),
            lambda: port.entries(one),
            lambda: port.tree_of(port.tree_of(one)),
        ):
            with pytest.raises(ReachProblem) as caught:
                ask()
            assert "missing-object" == caught.value.code


def test_after_a_problem_the_next_question_gets_its_own_answer(disk):
    """Answers to questions that were still open are not taken for later ones."""
    oids = [disk.git("hash-object", "-w", "--stdin", feed=b"%d" % number) for number in range(5)]
    with GitRepository(disk.path, os.environ) as port:
        with pytest.raises(ReachProblem):
            port.blob_digests(["f" * 40, *oids])
        assert [b"3", b"4"] == [port.blob(oids[3]), port.blob(oids[4])]


def test_a_closed_reader_ends_its_process(disk):
    """Nothing is left running."""
    oid = disk.git("hash-object", "-w", "--stdin", feed=b"x")
    port = GitRepository(disk.path, os.environ)
    port.blob(oid)
    process = port._objects._process
    port.close()
    assert process.poll() is not None
    port.close()


def test_an_object_that_is_larger_than_any_file_of_a_forge_is_not_held(disk, monkeypatch):
    """Zeros pack well; its digest can still be taken, because that holds nothing."""
    oid = disk.git("hash-object", "-w", "--stdin", feed=bytes(5000))
    monkeypatch.setattr(git_objects, "MOST_READ", 4999)
    with GitRepository(disk.path, os.environ) as port:
        with pytest.raises(ReachProblem) as caught:
            port.blob(oid)
        assert "object-too-large" == caught.value.code
        assert {oid: sha256_of(bytes(5000))} == port.blob_digests([oid])
