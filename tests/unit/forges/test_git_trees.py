# SPDX-License-Identifier: Apache-2.0
"""Trees read as bytes give the files that git itself lists."""

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulators.disk_git import DiskGit
from truegreen.core.errors import ReachProblem
from truegreen.core.file_names import file_name_text
from truegreen.forges import git_trees
from truegreen.forges.git import GitRepository
from truegreen.forges.git_trees import rows_of

MODES = ("100644", "100755", "100664", "100600", "120000", "40000", "040000", "160000", "1", "644", "7777777")


@pytest.fixture
def disk(tmp_path):
    """A bare repository."""
    return DiskGit(tmp_path / "repo")


def _tree(disk, rows):
    """A tree object of (mode, name, id) as they are, sorted or not."""
    content = b"".join(b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(oid)) for mode, name, oid in rows)
    ran = subprocess.run(
        ["git", "-C", disk.path, "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        input=content,
        capture_output=True,
        check=True,
    )
    return ran.stdout.decode().strip()


def _listed(disk, tree):
    """What git lists: (path, mode, id)."""
    ran = subprocess.run(
        ["git", "-C", disk.path, "ls-tree", "-r", "-z", "--full-tree", tree], capture_output=True, check=True
    )
    rows = (row.partition(b"\t") for row in ran.stdout.split(b"\0")[:-1])
    return [
        (file_name_text(name), facts.decode()[:6], facts.decode().split(" ")[2]) for facts, _, name in rows
    ]


def _read(port, tree):
    return [(entry.path, entry.mode, entry.oid) for entry in port.entries(tree)]


def test_a_deep_tree_reads_as_git_lists_it(disk):
    """Folders beside files of like names, shared folders, an empty one, bytes that are no UTF-8, odd modes."""
    blob = disk.git("hash-object", "-w", "--stdin", feed=b"x")
    empty = _tree(disk, [])
    odd = _tree(disk, [(mode, b"m%d" % at, blob) for at, mode in enumerate(MODES) if "40000" not in mode])
    inner = _tree(disk, [("100644", b"\xff%FF", blob), ("40000", b"empty", empty), ("040000", b"odd", odd)])
    tree = _tree(
        disk,
        [
            ("100644", b"a-", blob),
            ("40000", b"a", inner),
            ("100755", b"a0", blob),
            ("40000", b"b", inner),
            ("160000", b"sub", "1" * 40),
            ("100644", b"unsorted", blob),
            ("100644", b"n\n\\", blob),
        ],
    )
    with GitRepository(disk.path, os.environ) as port:
        for asked in (inner, tree, tree, odd, empty):
            assert _listed(disk, asked) == _read(port, asked)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([mode for mode in MODES if "40000" not in mode]),
            st.binary(min_size=1, max_size=6).filter(lambda name: b"\0" not in name and b"/" not in name),
            st.binary(min_size=20, max_size=20).map(bytes.hex),
        ),
        max_size=5,
    )
)
def test_any_rows_read_as_git_lists_them(tmp_path_factory, rows):
    """Whatever bytes names and ids are made of."""
    disk = DiskGit(tmp_path_factory.mktemp("trees") / "repo")
    tree = _tree(disk, rows)
    with GitRepository(disk.path, os.environ) as port:
        assert _listed(disk, tree) == _read(port, tree)


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        b"100644",
        b"100644 a",
        b"100644 a\0",
        b"100644 a\0" + b"\1" * 19,
        b"100644 a\0" + b"\1" * 21,
        b"100644 \0" + b"\1" * 20,
        b" a\0" + b"\1" * 20,
        b"10o644 a\0" + b"\1" * 20,
        b"-00644 a\0" + b"\1" * 20,
        b"100644\0a b\0" + b"\1" * 20,
    ],
)
def test_what_is_no_tree_is_refused(content):
    """Cut off, without a name, with another mode than octal digits: never half a list."""
    with pytest.raises(ReachProblem) as caught:
        rows_of("f" * 40, content)
    assert "git-failed" == caught.value.code


def test_a_folder_that_is_missing_is_a_problem_each_time(disk):
    """The folders around it that are there are no answer, now or later."""
    blob = disk.git("hash-object", "-w", "--stdin", feed=b"x")
    lost, other = _tree(disk, [("100644", b"lost", blob)]), _tree(disk, [("100644", b"kept", blob)])
    inner = _tree(disk, [("40000", b"lost", lost)])
    tree = _tree(disk, [("40000", b"a", inner), ("40000", b"b", other)])
    (disk.path / "objects" / lost[:2] / lost[2:]).unlink()
    with GitRepository(disk.path, os.environ) as port:
        for asked in (tree, inner, tree):
            with pytest.raises(ReachProblem) as caught:
                port.entries(asked)
            assert ("missing-object", True) == (caught.value.code, lost in caught.value.message)
        assert [("kept", "100644", blob)] == _read(port, other)


def test_a_blob_in_a_folder_s_place_is_a_problem(disk):
    """A folder is a tree."""
    blob = disk.git("hash-object", "-w", "--stdin", feed=b"x")
    tree = _tree(disk, [("40000", b"a", blob)])
    with GitRepository(disk.path, os.environ) as port, pytest.raises(ReachProblem) as caught:
        port.entries(tree)
    assert "missing-object" == caught.value.code


@pytest.mark.parametrize("leaf", ["file", "folder"])
def test_a_tree_that_unfolds_without_end_is_refused(disk, monkeypatch, leaf):
    """Ten folders that are one, sixty levels deep, are 10^60 files in six kilobytes."""
    blob = disk.git("hash-object", "-w", "--stdin", feed=b"x")
    tree = _tree(disk, [("100644", b"f", blob)] if leaf == "file" else [])
    for _ in range(60):
        tree = _tree(disk, [("40000", b"%d" % at, tree) for at in range(10)])
    monkeypatch.setattr(git_trees, "MOST_ENTRIES", 2000)
    with GitRepository(disk.path, os.environ) as port, pytest.raises(ReachProblem) as caught:
        port.entries(tree)
    assert ("object-too-large", True) == (caught.value.code, "2000" in caught.value.message)
