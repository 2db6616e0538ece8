# SPDX-License-Identifier: Apache-2.0
"""The tree of a working folder is the one that git itself would commit, and making it changes nothing."""

import hashlib
import os
import shutil
import subprocess

import pytest

from simulators.disk_git import DiskGit
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.forges.git import GitRepository
from truegreen.forges.working_copy import local_facts, working_copy

FILES = {
    "a.txt": b"one\n",
    "dir/b.txt": b"two\n",
    "run.sh": ("100755", b"#!/bin/sh\n"),
    "link": ("120000", b"a.txt"),
}


@pytest.fixture
def disk(tmp_path):
    """A clean working folder on the branch main."""
    return _made(tmp_path / "repo", FILES)


def _made(path, files, **options):
    disk = DiskGit(path, bare=False, **options)
    disk.commit(files, branch="main")
    disk.git("reset", "-q", "--hard")
    return disk


def _copy(disk, *, untracked=True, environment=None):
    with GitRepository(disk.path, environment or os.environ) as git:
        return working_copy(git, untracked=untracked)


def _committed(disk, tmp_path, *arguments):
    """The tree that plain git makes of a copy of the folder."""
    twin = DiskGit.__new__(DiskGit)
    twin.path = tmp_path / "twin"
    shutil.copytree(disk.path, twin.path, symlinks=True)
    twin.git(*arguments, "add", "-A")
    return twin.git("write-tree")


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_clean_folder_has_the_tree_of_its_commit(tmp_path, object_format):
    """Nothing to write, not dirty."""
    disk = _made(tmp_path / "repo", FILES, object_format=object_format)
    copy = _copy(disk)
    assert (False, copy.head_tree, disk.git("rev-parse", "HEAD")) == (copy.dirty, copy.tree, copy.head_sha)


def _edit(disk):
    (disk.path / "a.txt").write_bytes(b"changed\n")
    (disk.path / "dir/b.txt").unlink()
    (disk.path / "run.sh").chmod(0o644)
    (disk.path / "new ä\n.txt").write_bytes(b"new")
    (disk.path / "link").unlink()
    (disk.path / "link").mkdir()
    (disk.path / "link/file").write_bytes(b"a folder in a link's place")
    (disk.path / "other").symlink_to("a.txt")
    (disk.path / ".gitignore").write_bytes(b"*.log\n")
    (disk.path / "x.log").write_bytes(b"ignored")


def test_a_dirty_folder_has_the_tree_that_git_would_commit(disk, tmp_path):
    """Changed, deleted, mode, new, replaced by a folder, symlink; what is ignored stays out."""
    _edit(disk)
    copy = _copy(disk)
    assert (True, _committed(disk, tmp_path)) == (copy.dirty, copy.tree)


def test_a_staged_change_counts_as_it_lies_there(disk):
    """Staged and then edited again: the folder decides, not the index; staged new files are tracked."""
    (disk.path / "a.txt").write_bytes(b"staged\n")
    (disk.path / "n.txt").write_bytes(b"staged\n")
    (disk.path / "later.txt").write_bytes(b"later\n")
    disk.git("add", "a.txt", "n.txt")
    disk.git("add", "-N", "later.txt")
    (disk.path / "a.txt").write_bytes(b"edited\n")
    with GitRepository(disk.path, os.environ) as git:
        files = {
            entry.path: git.blob(entry.oid) for entry in git.entries(working_copy(git, untracked=False).tree)
        }
    assert (b"edited\n", b"staged\n", b"later\n") == (files["a.txt"], files["n.txt"], files["later.txt"])


def test_untracked_files_count_only_when_asked_for(disk):
    """A lane in CI tests what was checked out; a person tests what lies there."""
    (disk.path / "new.txt").write_bytes(b"new")
    assert (True, False) == (_copy(disk).dirty, _copy(disk, untracked=False).dirty)


def test_what_a_test_run_leaves_behind_changes_no_tree(disk):
    """Caches and records are no part of what was tested."""
    for name in (
        "__pycache__/a.pyc",
        "dir/__pycache__/b.pyc",
        ".pytest_cache/x",
        "out/m.all.1.truegreen.json",
        ".truegreen/x",
    ):
        (disk.path / name).parent.mkdir(parents=True, exist_ok=True)
        (disk.path / name).write_bytes(b"x")
    assert not _copy(disk).dirty


def test_two_calls_give_the_same_tree_and_the_clone_stays_as_it_was(disk):
    """Index, objects and configuration are not touched."""
    _edit(disk)
    before = _contents(disk)
    with GitRepository(disk.path, os.environ) as git:
        one = working_copy(git, untracked=True)
        assert one == working_copy(git, untracked=True)
        assert "new ä\n.txt" in [entry.path for entry in git.entries(one.tree)]
    assert before == _contents(disk)


def _contents(disk):
    return {path: path.read_bytes() for path in (disk.path / ".git").rglob("*") if path.is_file()}


def test_a_change_of_the_same_size_in_the_same_moment_is_seen(disk):
    """The copied index keeps its time, so that git still looks at files as young as the index."""
    moment = (disk.path / ".git/index").stat().st_mtime_ns
    (disk.path / "a.txt").write_bytes(b"ONE\n")
    os.utime(disk.path / "a.txt", ns=(moment, moment))
    os.utime(disk.path / ".git/index", ns=(moment, moment))
    assert _copy(disk).dirty


@pytest.mark.parametrize("autocrlf", ["input", "true", "false"])
def test_line_ends_are_converted_as_git_would(disk, tmp_path, autocrlf):
    """The user's setting and .gitattributes both count."""
    disk.git("config", "core.autocrlf", autocrlf)
    (disk.path / ".gitattributes").write_bytes(b"*.win text eol=crlf\n")
    (disk.path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    (disk.path / "a.win").write_bytes(b"one\r\ntwo\r\n")
    assert _committed(disk, tmp_path, "-c", "core.safecrlf=false") == _copy(disk).tree


def test_the_user_s_own_ignore_file_counts(disk, tmp_path, monkeypatch):
    """At its usual place, where the configuration names it, and in the clone's own list."""
    for name in (".idea", "mine.tmp", "clone.tmp"):
        (disk.path / name).write_bytes(b"x")
    assert 3 == _new_files(disk, os.environ)
    (disk.path / ".git/info").mkdir(exist_ok=True)
    (disk.path / ".git/info/exclude").write_text("clone.tmp\n")
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text(".idea\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    assert 1 == _new_files(disk, environment)
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    (home / "mine").write_text("mine.tmp\n.idea\n")
    assert 0 == _new_files(disk, environment)


def _new_files(disk, environment):
    with GitRepository(disk.path, environment) as git:
        return len(git.entries(working_copy(git, untracked=True).tree)) - len(FILES)


def test_a_nested_repository_is_not_part_of_the_tree(disk):
    """Unless it is a submodule, which counts by its commit; its configuration is not even read."""
    inner = _made(disk.path / "inner", {"x": b"x"})
    assert not _copy(disk).dirty
    one = inner.git("rev-parse", "HEAD")
    disk.git("update-index", "--add", "--cacheinfo", f"160000,{one},inner")
    two = inner.commit({"x": b"y"}, parents=[one])
    inner.git("reset", "-q", "--hard", two)
    canary = disk.path.parent / "RAN"
    inner.git("config", "core.fsmonitor", f"touch {canary}; true")
    with GitRepository(disk.path, os.environ) as git:
        entries = git.entries(working_copy(git, untracked=True).tree)
    assert [("160000", two)] == [(entry.mode, entry.oid) for entry in entries if entry.path == "inner"]
    assert not canary.exists()


def test_nothing_of_a_hostile_working_folder_runs(disk, tmp_path):
    """Filters, hooks, monitors and drivers of the clone's configuration, on changed and new files."""
    canary = tmp_path / "canary.sh"
    canary.write_text(f"#!/bin/sh\ntouch {tmp_path}/RAN\ncat\n")
    canary.chmod(0o755)
    (disk.path / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    for name in (
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.process",
        "filter.evil.smudge",
        "core.pager",
    ):
        disk.git("config", name, str(canary))
    disk.git("config", "filter.evil.required", "true")
    disk.git("config", "core.untrackedCache", "true")
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(canary, disk.path / ".git/hooks" / hook)
    (disk.path / "a.txt").write_bytes(b"changed\n")
    (disk.path / "new.txt").write_bytes(b"new\n")
    with GitRepository(disk.path, os.environ) as git:
        files = {
            entry.path: git.blob(entry.oid) for entry in git.entries(working_copy(git, untracked=True).tree)
        }
    assert (b"changed\n", b"new\n") == (files["a.txt"], files["new.txt"])
    assert not (tmp_path / "RAN").exists()


def test_a_file_that_a_filter_wrote_is_unchanged_while_the_index_knows_it(disk):
    """The filter is not asked; git's own record of the file is believed."""
    disk.git("config", "filter.big.smudge", "sed s/pointer/larger-content/")
    disk.commit({".gitattributes": b"*.big filter=big\n", "x.big": b"pointer\n"}, branch="main")
    disk.git("reset", "-q", "--hard")
    assert b"larger-content\n" == (disk.path / "x.big").read_bytes()
    later = (disk.path / ".git/index").stat().st_mtime_ns + 2_000_000_000
    os.utime(disk.path / ".git/index", ns=(later, later))  # else git looks again at files of the same moment
    assert not _copy(disk).dirty


def test_the_content_of_a_large_file_counts_as_its_pointer(disk):
    """Whatever its time says; an edit, another size and a link are changes."""
    content = b"c" * 5000
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(content).hexdigest()}\nsize 5000\n"
    place = disk.path / "[x]*.big"
    disk.commit({"[x]*.big": pointer.encode(), "other.big": b"o"}, branch="main")
    disk.git("reset", "-q", "--hard")
    place.write_bytes(content)
    assert not _copy(disk).dirty
    for edited in (b"d" + content[1:], content + b"c", b""):
        place.write_bytes(edited)
        assert _copy(disk).dirty
    place.unlink()
    (disk.path.parent / "outside").write_bytes(content)
    place.symlink_to("../outside")
    assert _copy(disk).dirty
    place.unlink()
    assert _copy(disk).dirty


def test_an_index_in_two_parts_and_one_without_a_file_are_read(disk):
    """A split index is taken whole; a missing one means that nothing is tracked yet."""
    disk.git("update-index", "--split-index")
    (disk.path / "a.txt").write_bytes(b"changed\n")
    disk.git("update-index", "a.txt")
    assert (True, False) == (_copy(disk).dirty, _copy(disk).tree == _copy(disk).head_tree)
    for part in (disk.path / ".git").glob("*index*"):
        part.unlink()
    with GitRepository(disk.path, os.environ) as git:
        assert sorted(FILES) == [entry.path for entry in git.entries(working_copy(git, untracked=True).tree)]


def test_an_unfinished_merge_is_a_dirty_folder(disk):
    """Paths in conflict count as they lie there."""
    one = disk.git("rev-parse", "HEAD")
    disk.commit({**FILES, "a.txt": b"theirs\n"}, parents=[one], branch="other")
    disk.commit({**FILES, "a.txt": b"ours\n"}, parents=[one], branch="main")
    disk.git("reset", "-q", "--hard")
    subprocess.run(["git", "-C", disk.path, "merge", "-q", "other"], check=False, capture_output=True)
    with GitRepository(disk.path, os.environ) as git:
        copy = working_copy(git, untracked=True)
        files = {entry.path: git.blob(entry.oid) for entry in git.entries(copy.tree)}
    assert (True, True) == (copy.dirty, files["a.txt"].startswith(b"<<<<<<<"))


def test_a_linked_worktree_has_its_own_index(disk, tmp_path):
    """Its folder, its head, its changes."""
    disk.git("worktree", "add", "-q", "-b", "side", tmp_path / "side")
    (tmp_path / "side/a.txt").write_bytes(b"side\n")
    with GitRepository(tmp_path / "side", os.environ) as git:
        assert working_copy(git, untracked=True).dirty
    assert not _copy(disk).dirty


def test_a_bare_clone_and_one_without_a_commit_have_no_working_copy(tmp_path):
    """Each says what is missing."""
    bare, empty = DiskGit(tmp_path / "bare"), DiskGit(tmp_path / "empty", bare=False)
    for disk, code in ((bare, "no-working-folder"), (empty, "no-commit")):
        with GitRepository(disk.path, os.environ) as git, pytest.raises(UsageProblem) as caught:
            working_copy(git, untracked=True)
        assert code == caught.value.code


def test_a_setting_that_git_cannot_read_is_a_problem(disk):
    """Not a guess."""
    disk.git("config", "core.autocrlf", "banana")
    with pytest.raises(ReachProblem):
        _copy(disk)


# The facts of a working copy.


def _facts(disk, base=None):
    with GitRepository(disk.path, os.environ) as git:
        return local_facts(git, working_copy(git, untracked=True), base)


def _branches(disk):
    """Main moved on since feature left it; feature is checked out."""
    one = disk.git("rev-parse", "HEAD")
    two = disk.commit({**FILES, "m": b""}, parents=[one], branch="main")
    feature = disk.commit({**FILES, "f": b""}, parents=[one], branch="feature")
    disk.git("checkout", "-q", "-f", "feature")
    return one, two, feature


def test_the_base_is_where_the_branch_left_the_default_branch(disk):
    """Head, base and branch of a clean feature branch."""
    one, _, feature = _branches(disk)
    facts = _facts(disk)
    assert (feature, "main", one, "main") == (
        facts.head_sha,
        facts.base_ref,
        facts.base_sha,
        facts.default_branch,
    )
    assert ("local", "local", True, False, None, 0, 1) == (
        facts.event,
        facts.repo,
        facts.local,
        facts.dirty,
        facts.head_tree,
        facts.run_id,
        facts.run_attempt,
    )


def test_a_dirty_folder_says_so_and_names_its_tree(disk):
    """The gate judges the files as they lie there."""
    _branches(disk)
    (disk.path / "a.txt").write_bytes(b"changed\n")
    facts = _facts(disk)
    assert (True, _copy(disk).tree) == (facts.dirty, facts.head_tree)


@pytest.mark.parametrize(
    ("base", "short"), [("release", "release"), ("origin/trunk", "trunk"), ("refs/heads/main", "main")]
)
def test_another_base_can_be_named(disk, base, short):
    """A branch, a remote's branch or a whole reference."""
    one, _, _ = _branches(disk)
    disk.git("update-ref", "refs/heads/release", one)
    disk.git("update-ref", "refs/remotes/origin/trunk", one)
    facts = _facts(disk, base)
    assert (short, one, "main") == (facts.base_ref, facts.base_sha, facts.default_branch)


def test_the_remote_says_which_branch_is_its_default(disk):
    """origin/HEAD before any usual name."""
    one, _, _ = _branches(disk)
    disk.git("update-ref", "refs/remotes/origin/trunk", one)
    disk.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    facts = _facts(disk)
    assert ("trunk", "trunk", one) == (facts.base_ref, facts.default_branch, facts.base_sha)


def test_a_repository_of_one_branch_goes_into_that_branch(disk):
    """The first day, whatever the branch is called."""
    disk.git("branch", "-m", "trunk")
    facts = _facts(disk)
    assert ("trunk", facts.head_sha) == (facts.base_ref, facts.base_sha)


def test_without_a_base_the_problem_says_how_to_name_one(disk):
    """No such branch, another history, and a detached head without any branch."""
    _branches(disk)
    disk.git("update-ref", "refs/heads/alien", disk.commit({"z": b""}))
    for base in ("nobody", "alien"):
        with pytest.raises(UsageProblem) as caught:
            _facts(disk, base)
        assert "no-base-branch" == caught.value.code
    disk.git("checkout", "-q", "--detach")
    disk.git("branch", "-q", "-D", "main", "feature", "alien")
    with pytest.raises(UsageProblem) as caught:
        _facts(disk)
    assert ("no-base-branch", True) == (caught.value.code, "--base" in caught.value.hint)
