# SPDX-License-Identifier: Apache-2.0
"""One suite for everything that answers questions of git: the real adapter and the simulator."""

import os
import subprocess

import pytest

from simulators.disk_git import DiskGit
from simulators.git import SimulatedGit
from truegreen.core.digest import sha256_of
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.ports import MergedTree
from truegreen.forges.git import GitRepository

NOWHERE = "0123456789abcdef0123456789abcdef01234567"
BASE = {"a.txt": b"one\n", "b.txt": b"two\n", "dir/c.txt": b"three\n"}


@pytest.fixture(params=["simulated", "bare", "working", "sha256"])
def made(request, tmp_path):
    """A repository to fill, and the port that answers for it."""
    if request.param == "simulated":
        git = SimulatedGit()
        yield git, git
    else:
        disk = DiskGit(
            tmp_path / "repo",
            bare=request.param != "working",
            object_format="sha256" if request.param == "sha256" else "sha1",
        )
        with GitRepository(disk.path, os.environ) as port:
            yield disk, port


def _paths(port, tree):
    return [entry.path for entry in port.entries(tree)]


def test_a_branch_resolves_to_its_commit_and_another_name_to_none(made):
    """Short names, whole references and whole ids name a commit; what nobody made does not."""
    repo, port = made
    one = repo.commit(BASE, branch="main")
    assert [one, one, one, one] == [port.resolve(name) for name in ("main", "refs/heads/main", "HEAD", one)]
    assert [None, None, None] == [port.resolve(name) for name in ("other", "refs/heads/other", "main/x")]


def test_a_fetched_tip_is_a_branch_and_nothing_else(made):
    """No steps, no whole references, no ids, no patterns."""
    repo, port = made
    one = repo.commit(BASE, branch="main")
    assert one == port.fetched_tip("main")
    for name in (
        "other",
        "HEAD",
        one,
        "refs/heads/main",
        "ma*",
        "main~",
        "main^0",
        "",
        "-x",
        "main\n",
        "mai",
    ):
        assert None is port.fetched_tip(name)


def test_a_commit_names_its_tree_and_its_parents_in_order(made):
    """Tree and parents are read from the commit itself."""
    repo, port = made
    one = repo.commit(BASE, branch="main")
    two = repo.commit({**BASE, "d": b"x"}, parents=[one])
    merge = repo.commit(BASE, parents=[two, one])
    assert port.tree_of(one) == port.tree_of(merge) != port.tree_of(two)
    assert [(), (one,), (two, one)] == [port.parents(commit) for commit in (one, two, merge)]


def test_entries_come_with_mode_and_id_in_the_order_of_git(made):
    """Plain, executable, symlink and submodule; ``a-`` stands before ``a/``."""
    repo, port = made
    files = {
        "a/b": b"1",
        "a-": b"2",
        "run": ("100755", b"#!/bin/sh\n"),
        "link": ("120000", b"a/b"),
        "sub": ("160000", NOWHERE.encode() if port_width(port) == 40 else (NOWHERE + NOWHERE[:24]).encode()),
    }
    entries = port.entries(repo.add_tree(files))
    assert [
        ("a-", "100644"),
        ("a/b", "100644"),
        ("link", "120000"),
        ("run", "100755"),
        ("sub", "160000"),
    ] == [(entry.path, entry.mode) for entry in entries]
    assert b"a/b" == port.blob(entries[2].oid)
    assert files["sub"][1].decode() == entries[4].oid


def port_width(port) -> int:
    """Digits of an object id there."""
    return 64 if getattr(getattr(port, "process", None), "object_format", "") == "sha256" else 40


def test_blobs_come_whole_and_their_digests_are_of_the_content(made):
    """Empty, with newlines and NUL, and larger than a pipe."""
    repo, port = made
    contents = [b"", b"\n\n\0 x 5\n", b"missing\n", os.urandom(300_000)]
    tree = repo.add_tree({str(number): content for number, content in enumerate(contents)})
    oids = [entry.oid for entry in port.entries(tree)]
    assert contents == [port.blob(oid) for oid in oids]
    digests = port.blob_digests([*oids, *oids])
    assert {oid: sha256_of(content) for oid, content in zip(oids, contents, strict=True)} == digests
    assert {} == port.blob_digests([])


def test_a_merge_takes_both_sides(made):
    """Each side's own changes, additions and removals stand in the merged tree, which can be read."""
    repo, port = made
    one = repo.commit(BASE, branch="main")
    base = repo.commit({"a.txt": b"ONE\n", "b.txt": b"two\n", "dir/c.txt": b"three\n"}, parents=[one])
    head = repo.commit({"a.txt": b"one\n", "dir/c.txt": b"three\n", "new": b"n"}, parents=[one])
    merged = port.merge_tree(head, base)
    assert () == merged.conflicts
    assert merged.tree == port.tree_of(repo.commit({"a.txt": b"ONE\n", "dir/c.txt": b"three\n", "new": b"n"}))
    assert ["a.txt", "dir/c.txt", "new"] == _paths(port, merged.tree)
    assert merged == port.merge_tree(base, head)


def test_a_conflict_names_its_paths_and_gives_no_tree(made):
    """One line changed in two ways, and a file changed here and removed there."""
    repo, port = made
    one = repo.commit(BASE, branch="main")
    base = repo.commit({**BASE, "a.txt": b"x\n", "b.txt": b"y\n"}, parents=[one])
    head = repo.commit({"a.txt": b"z\n", "dir/c.txt": b"three\n"}, parents=[one])
    assert MergedTree(tree=None, conflicts=("a.txt", "b.txt")) == port.merge_tree(head, base)


def test_histories_without_a_common_commit_conflict(made):
    """No forge merges them either."""
    repo, port = made
    one, other = repo.commit(BASE, branch="main"), repo.commit({"z": b"z"})
    assert MergedTree(tree=None) == port.merge_tree(other, one)
    assert None is port.merge_base(one, other)
    assert not port.is_ancestor(one, other)


def test_ancestors_and_the_best_common_one(made):
    """A commit is its own ancestor; of several equally good ancestors the answer is always the same one."""
    repo, port = made
    one = repo.commit(BASE, branch="main")
    left = repo.commit(BASE, parents=[one], message="left")
    right = repo.commit(BASE, parents=[one], message="right")
    cross = [repo.commit(BASE, parents=pair, message="cross") for pair in ([left, right], [right, left])]
    assert [True, True, False, False] == [
        port.is_ancestor(*pair) for pair in ((one, one), (one, cross[0]), (cross[0], one), (left, right))
    ]
    assert one == port.merge_base(left, right)
    assert min(left, right) == port.merge_base(*cross) == port.merge_base(*reversed(cross))


def test_commits_between_follow_first_parents_oldest_first(made):
    """A queue's entries, without the commits of the branches that they merge."""
    repo, port = made
    one = repo.commit(BASE, branch="main")
    side = repo.commit({**BASE, "s": b""}, parents=[one], message="side")
    first = repo.commit({**BASE, "s": b""}, parents=[one, side], message="first")
    second = repo.commit(BASE, parents=[first], message="second")
    assert (first, second) == port.commits_between(one, second)
    assert () == port.commits_between(second, one)
    assert (second,) == port.commits_between(first, second)


def test_changes_between_name_who_left_which_bytes(made):
    """Newest first, only below the folder, without what a merge alone did; a file that went has no blob."""
    repo, port = made
    old = {"d/a": b"1", "d/b": b"1", "dd/a": b"1"}
    one = repo.commit(old, branch="main")
    two = repo.commit({**old, "d/a": b"2", "dd/a": b"2"}, parents=[one], message="two", author="b@y.org")
    side = repo.commit({"d/a": b"1", "dd/a": b"1"}, parents=[one], message="side", author="c@z.org")
    both = repo.commit({"d/a": b"3", "dd/a": b"2"}, parents=[two, side], message="merge")
    found = port.changes_between(one, both, "d")
    assert {(two, "b@y.org", "d/a"), (side, "c@z.org", "d/b")} == {
        (c.commit, c.author, c.path) for c in found
    }
    assert [b"2", None] == [c.oid and port.blob(c.oid) for c in sorted(found, key=lambda c: c.path)]
    again = repo.commit({**old, "d/a": b"4"}, parents=[two], message="four")
    assert [again, two] == [
        change.commit for change in port.changes_between(one, again, "d") if change.path == "d/a"
    ]
    assert () == port.changes_between(again, one, "d")


QUESTIONS = {
    "resolve": lambda port, oid, _known: port.resolve(oid),
    "tree_of": lambda port, oid, _known: port.tree_of(oid),
    "parents": lambda port, oid, _known: port.parents(oid),
    "entries": lambda port, oid, _known: port.entries(oid),
    "blob": lambda port, oid, _known: port.blob(oid),
    "blob_digests": lambda port, oid, _known: port.blob_digests([oid]),
    "merge_tree": lambda port, oid, known: port.merge_tree(known, oid),
    "merge_tree of head": lambda port, oid, known: port.merge_tree(oid, known),
    "is_ancestor": lambda port, oid, known: port.is_ancestor(oid, known),
    "is_ancestor of": lambda port, oid, known: port.is_ancestor(known, oid),
    "merge_base": lambda port, oid, known: port.merge_base(oid, known),
    "commits_between": lambda port, oid, known: port.commits_between(known, oid),
    "changes_between": lambda port, oid, known: port.changes_between(known, oid, "d"),
    "changes_between of": lambda port, oid, known: port.changes_between(oid, known, "d"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_absent_object_is_a_problem_and_never_an_answer(made, question):
    """Whatever is asked about an id that the clone lacks; and the port still answers afterwards."""
    repo, port = made
    known = repo.commit(BASE, branch="main")
    with pytest.raises(ReachProblem) as caught:
        QUESTIONS[question](port, NOWHERE, known)
    assert "missing-object" == caught.value.code
    assert known == port.resolve("main")
    assert () == port.parents(known)


# What only the adapter has.


@pytest.fixture
def disk(tmp_path):
    """A bare repository."""
    return DiskGit(tmp_path / "repo")


def test_only_a_clone_is_opened(tmp_path):
    """An empty folder, a file and a broken link file are usage errors."""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.git").write_text("nothing")
    (tmp_path / "file").write_text("x")
    for name in ("linked", "file", "absent", "."):
        with pytest.raises(UsageProblem) as caught:
            GitRepository(tmp_path / name, os.environ)
        assert "not-a-repository" == caught.value.code


def test_a_short_name_is_a_branch_and_never_a_tag(disk):
    """Whoever may push tags could otherwise say what ``main`` is."""
    one = disk.commit(BASE, branch="main")
    evil = disk.commit({"evil": b""})
    for tag in ("main", "refs/heads/main", "heads/main", "only-a-tag"):
        disk.git("update-ref", f"refs/tags/{tag}", evil)
    with GitRepository(disk.path, os.environ) as port:
        assert [one, one] == [port.resolve("main"), port.resolve("refs/heads/main")]
        assert None is port.resolve("only-a-tag")


def test_an_annotated_tag_named_in_full_gives_its_commit(disk):
    """``refs/tags/v1`` is a revision; the tag object is not a commit."""
    one = disk.commit(BASE, branch="main")
    disk.git("tag", "-a", "-m", "x", "v1", one)
    with GitRepository(disk.path, os.environ) as port:
        assert one == port.resolve("refs/tags/v1")
        assert one != disk.git("rev-parse", "refs/tags/v1")
    (disk.path / "objects" / one[:2] / one[2:]).unlink()
    with GitRepository(disk.path, os.environ) as port, pytest.raises(ReachProblem) as caught:
        port.resolve("refs/tags/v1")
    assert "missing-object" == caught.value.code


def test_steps_walk_back_from_a_revision(disk):
    """``~N`` and ``^N`` as git has them; a step that leads nowhere is no name."""
    one = disk.commit(BASE)
    two = disk.commit(BASE, parents=[one])
    side = disk.commit({"s": b""})
    three = disk.commit(BASE, parents=[two, side], branch="main")
    with GitRepository(disk.path, os.environ) as port:
        assert [two, one, side, three] == [port.resolve(f"main{steps}") for steps in ("~", "~2", "^2", "^0")]
        assert None is port.resolve("HEAD~9")


@pytest.mark.parametrize(
    "name", ["", "-x", "--all", "ma*", "main..x", "a b", "main\n", "main:a.txt", "@{0}", "^main", "9fceb02"]
)
def test_what_is_no_branch_name_is_no_name(disk, name):
    """Options, patterns, ranges and abbreviated ids reach no command of git."""
    disk.commit(BASE, branch="main")
    with GitRepository(disk.path, os.environ) as port:
        assert None is port.resolve(name)


def test_a_working_copy_prefers_the_remote_branch_and_a_bare_clone_its_own(tmp_path):
    """A local branch lags behind; a bare clone's branch is the fetched tip."""
    for bare in (True, False):
        disk = DiskGit(tmp_path / f"bare-{bare}", bare=bare)
        own = disk.commit(BASE, branch="main")
        remote = disk.commit({"r": b""})
        disk.git("update-ref", "refs/remotes/origin/main", remote)
        disk.git("update-ref", "refs/remotes/origin/only-there", remote)
        with GitRepository(disk.path, os.environ) as port:
            assert (own if bare else remote) == port.resolve("main")
            assert [remote, remote] == [port.resolve("only-there"), port.resolve("origin/main")]


@pytest.mark.parametrize("bare", [True, False])
def test_what_was_fetched_stands_before_the_clone_s_own(tmp_path, bare):
    """Bare or not; a branch of that name elsewhere, or a tag, is not asked."""
    disk = DiskGit(tmp_path / "repo", bare=bare)
    own, remote = disk.commit(BASE, branch="main"), disk.commit({"r": b""})
    for name in ("remotes/origin/main", "remotes/fork/other", "tags/other", "remotes/origin/other/deeper"):
        disk.git("update-ref", f"refs/{name}", remote)
    with GitRepository(disk.path, os.environ) as port:
        assert [remote, None] == [port.fetched_tip("main"), port.fetched_tip("other")]
    disk.git("update-ref", "-d", "refs/remotes/origin/main")
    with GitRepository(disk.path, os.environ) as port:
        assert own == port.fetched_tip("main")


def test_a_tag_leads_to_a_commit_or_to_nothing(disk):
    """Through tags of tags; a tag of a tree or a file is no commit."""
    one = disk.commit(BASE, branch="main")
    disk.git("tag", "-a", "-m", "x", "v1", one)
    disk.git("tag", "-a", "-m", "x", "v2", disk.git("rev-parse", "refs/tags/v1"))
    disk.git("tag", "-a", "-m", "x", "tree", f"{one}^{{tree}}")
    with GitRepository(disk.path, os.environ) as port:
        assert one == port.resolve("refs/tags/v2")
        for name in ("refs/tags/tree", port.tree_of(one), port.entries(port.tree_of(one))[0].oid):
            with pytest.raises(ReachProblem) as caught:
                port.resolve(name)
            assert "missing-object" == caught.value.code


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"tree \n\n",
        b"\n\ntree {tree}\n",
        b"{tree}\n\n",
        b"parent {tree}\n\n",
        b"tree {tree}x\n\n",
        b"tree {tree}\nparent x\n\n",
        b"tree \xff\n\n",
    ],
)
def test_a_malformed_commit_is_a_problem(disk, content):
    """It names no tree, or no parent."""
    tree = disk.add_tree(BASE).encode()
    oid = disk.git(
        "hash-object", "-t", "commit", "-w", "--stdin", "--literally", feed=content.replace(b"{tree}", tree)
    )
    with GitRepository(disk.path, os.environ) as port:
        for ask in (port.tree_of, port.parents, port.resolve):
            with pytest.raises(ReachProblem) as caught:
                ask(oid)
            assert caught.value.code in {"git-failed", "missing-object"}


def test_only_the_head_of_a_commit_names_its_parents(disk):
    """Not its message, and not a signed tag that it carries."""
    one = disk.commit(BASE)
    tree = disk.git("rev-parse", f"{one}^{{tree}}")
    who = "a <a@example.org> 1700000000 +0000"
    content = f"""\
tree {tree}
parent {one}
author {who}
committer {who}
mergetag object {one}
 tree {"1" * 40}
 parent {"2" * 40}
parent {"3" * 40}

parent {"4" * 40}
"""
    oid = disk.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", feed=content.encode())
    with GitRepository(disk.path, os.environ) as port:
        assert (tree, (one,)) == (port.tree_of(oid), port.parents(oid))


@pytest.mark.parametrize("cut", [["--depth=1"], ["--filter=blob:none"], ["--filter=tree:0"]])
def test_a_clone_that_was_cut_lacks_objects_and_says_so(tmp_path, cut):
    """Shallow and partial clones answer ``missing-object`` and fetch nothing."""
    origin = DiskGit(tmp_path / "origin")
    one = origin.commit(BASE)
    two = origin.commit({**BASE, "a.txt": b"1\n2\n"}, parents=[one], branch="main")
    three = origin.commit({**BASE, "a.txt": b"2\n"}, parents=[one])
    origin.git("update-ref", "refs/heads/other", three)
    origin.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", "--bare", "--no-single-branch", *cut, f"file://{origin.path}", clone],
        check=True,
    )
    before = sorted(path.name for path in clone.rglob("*"))
    with GitRepository(clone, os.environ) as port:
        with pytest.raises(ReachProblem) as caught:
            port.merge_tree(two, three)
        assert ("missing-object", True) == (caught.value.code, "fetch-depth: 0" in caught.value.hint)
        with pytest.raises(ReachProblem) as caught:
            _everything(port, two, one)
        assert "missing-object" == caught.value.code
        assert (one,) == port.parents(two)
    assert before == sorted(path.name for path in clone.rglob("*"))


def _everything(port, head, base):
    port.blob_digests([entry.oid for entry in port.entries(port.tree_of(head))])
    port.merge_base(head, base)
    port.is_ancestor(base, head)


def test_a_linked_worktree_and_borrowed_objects_are_read(tmp_path):
    """A worktree's objects lie in its main clone; a clone may itself borrow; odd folder names need quoting."""
    origin = DiskGit(tmp_path / 'ori "g\\in:ä', bare=False)
    one = origin.commit(BASE, branch="main")
    origin.git("worktree", "add", "-q", "--detach", tmp_path / "tree", one)
    subprocess.run(
        ["git", "clone", "-q", "--bare", "--shared", origin.path, tmp_path / "borrower"], check=True
    )
    for path in ("tree", "borrower"):
        with GitRepository(tmp_path / path, os.environ) as port:
            assert b"one\n" == port.blob(port.entries(port.tree_of(port.resolve("HEAD")))[0].oid)


def test_names_that_are_not_utf8_become_text(disk):
    """Each such byte is written %XX, and a literal look-alike stays apart."""
    tree = disk.add_tree({b"\xff.txt": b"", "%FF.txt": b"", "ä\n": b"", "x" * 200 + "/" + "y" * 200: b""})
    with GitRepository(disk.path, os.environ) as port:
        assert {"%FF.txt", "%25FF.txt", "ä\n", "x" * 200 + "/" + "y" * 200} == {*_paths(port, tree)}


def test_a_submodule_moved_on_both_sides_conflicts_without_a_look_at_the_disk(disk, tmp_path, monkeypatch):
    """The submodule's own history is not asked, even where a folder of its name lies in the working folder."""
    ids = [digit * 40 for digit in "abc"]
    one, base, head = (
        {"sub": ("160000", oid.encode()), ".gitmodules": b'[submodule "sub"]\n\tpath = sub\n\turl = x\n'}
        for oid in ids
    )
    first = disk.commit(one)
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q", "sub"], check=True)
    with GitRepository(disk.path, os.environ) as port:
        merged = port.merge_tree(disk.commit(head, parents=[first]), disk.commit(base, parents=[first]))
    assert MergedTree(tree=None, conflicts=("sub",)) == merged


def test_the_clone_is_never_written(disk):
    """A merge's objects live in the private directory, which goes away."""
    one = disk.commit(BASE, branch="main")
    base = disk.commit({**BASE, "x": b"1"}, parents=[one])
    head = disk.commit({**BASE, "y": b"2"}, parents=[one])
    before = sorted(str(path) for path in disk.path.rglob("*"))
    with GitRepository(disk.path, os.environ) as port:
        assert 5 == len(port.entries(port.merge_tree(head, base).tree))
        private = port.process.private
    assert before == sorted(str(path) for path in disk.path.rglob("*"))
    assert not private.exists()


def test_the_branch_of_head_is_named_or_detached(tmp_path):
    """What a working copy has checked out."""
    disk = DiskGit(tmp_path / "repo", bare=False)
    one = disk.commit(BASE, branch="main")
    with GitRepository(disk.path, os.environ) as port:
        assert "main" == port.branch_of_head()
        disk.git("update-ref", "--no-deref", "HEAD", one)
        disk.git("checkout", "-q", "--detach", "--force", one)
        assert None is port.branch_of_head()
