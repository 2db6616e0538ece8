# SPDX-License-Identifier: Apache-2.0
"""A hostile clone: its configuration, hooks, attributes and environment run nothing and change no answer."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from simulators.disk_git import DiskGit
from truegreen.core.errors import ReachProblem
from truegreen.forges import git_process
from truegreen.forges.git import GitRepository

COMMANDS = (
    "core.fsmonitor",
    "core.editor",
    "core.pager",
    "core.askPass",
    "core.sshCommand",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "merge.evil.driver",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "pager.log",
    "pager.for-each-ref",
    "pager.config",
    "interactive.diffFilter",
    "sequence.editor",
    "credential.helper",
    "gpg.program",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "uploadpack.packObjectsHook",
)
SETTINGS = {
    "alias.rev-parse": "!{canary}",
    "alias.merge-tree": "!{canary}",
    "alias.for-each-ref": "!{canary}",
    "core.hooksPath": "{hooks}",
    "core.attributesFile": "{attributes}",
    "core.useReplaceRefs": "true",
    "core.untrackedCache": "true",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.url": "ext::{canary}",
    "remote.origin.vcs": "evil",
    "url.ext::{canary}.insteadOf": "https://",
    "protocol.allow": "always",
    "merge.conflictStyle": "zdiff3",
    "merge.default": "evil",
    "merge.renames": "false",
    "merge.directoryRenames": "true",
    "merge.renormalize": "true",
    "diff.renames": "false",
    "core.autocrlf": "true",
    "core.quotePath": "true",
    "core.bigFileThreshold": "1",
    "log.showSignature": "true",
    "trace2.eventTarget": "{trace}",
    "attr.tree": "HEAD",
}
HOOKS = (
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "post-merge",
    "pre-commit",
)
OLD = {
    "src/a.py": b"1\n2\n3\n4\n5\n6\n7\n8\n9\n",
    "src/b.txt": b"x\n",
    "old/deep.py": b"a\nb\nc\nd\ne\nf\ng\nh\n",
    ".gitattributes": b"*.py merge=evil diff=evil filter=evil\n*.txt text eol=crlf\nu.md merge=union\n",
    "u.md": b"base\n",
}
BASE_SIDE = {**OLD, "src/a.py": OLD["src/a.py"].replace(b"1\n", b"one\n"), "u.md": b"base\nours\n"}
HEAD_SIDE = {
    **{name: content for name, content in OLD.items() if not name.startswith("old/")},
    "src/a.py": OLD["src/a.py"].replace(b"9\n", b"nine\n"),
    "new/deep.py": OLD["old/deep.py"],
    "link": ("120000", b"../../outside"),
    "sub": ("160000", b"a" * 40),
}
UNION_SIDE = {**OLD, "u.md": b"base\ntheirs\n"}


def _fill(disk):
    """Commits of the same ids in every repository."""
    old = disk.commit(OLD)
    base = disk.commit(BASE_SIDE, parents=[old], branch="main")
    head = disk.commit(HEAD_SIDE, parents=[old], branch="feature")
    union = disk.commit(UNION_SIDE, parents=[old], branch="union")
    return old, base, head, union


def _plant(disk, git_dir, folder, old, base):
    """Everything that a clone can hold to make git run or believe something else."""
    canary, hooks = folder / "canary.sh", folder / "hooks"
    canary.write_text(f"#!/bin/sh\necho ran >>{folder}/RAN\ncat\n")
    canary.chmod(0o755)
    for place in (hooks, git_dir / "hooks"):
        place.mkdir(exist_ok=True)
        for name in HOOKS:
            shutil.copy(canary, place / name)
    (folder / "attributes").write_text("* merge=evil diff=evil filter=evil -text\n")
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info/attributes").write_text("*.py merge=evil\n* -merge\n")
    (git_dir / "info/grafts").write_text(f"{base}\n")
    disk.git("replace", base, old)
    disk.git("replace", disk.git("rev-parse", f"{base}:src/a.py"), disk.git("rev-parse", f"{base}:src/b.txt"))
    included = folder / "included"
    places = {
        "canary": canary,
        "hooks": hooks,
        "attributes": folder / "attributes",
        "trace": folder / "trace",
    }
    for name in COMMANDS:
        disk.git("config", "--file", included, name, str(canary))
    for name, value in SETTINGS.items():
        disk.git("config", "--file", included, name.format(**places), value.format(**places))
    disk.git("config", "core.repositoryFormatVersion", "1")
    disk.git("config", "include.path", str(included))
    (folder / "RAN").unlink(missing_ok=True)  # planting itself runs hooks


def _answers(port, old, base, head, union):
    """Everything that the port can say about these commits."""
    merged = port.merge_tree(head, base)
    entries = port.entries(merged.tree)
    blobs = [entry.oid for entry in entries if entry.mode != "160000"]
    return {
        "branches": [
            port.resolve(name) for name in ("main", "feature", "HEAD", "refs/heads/union", base, "main~")
        ],
        "trees": [port.tree_of(commit) for commit in (old, base, head)],
        "parents": [port.parents(commit) for commit in (old, base, head)],
        "merged": merged,
        "entries": entries,
        "digests": port.blob_digests(blobs),
        "contents": [port.blob(oid) for oid in blobs],
        "union": port.merge_tree(union, base),
        "bases": [port.merge_base(base, head), port.is_ancestor(old, base), port.commits_between(old, head)],
        "branch": port.branch_of_head(),
    }


@pytest.mark.parametrize("bare", [True, False])
def test_a_hostile_clone_runs_nothing_and_answers_like_a_clean_one(tmp_path, monkeypatch, bare):
    """Drivers, hooks, monitors, aliases, filters, helpers, grafts, replacements and includes are all without effect."""
    clean, hostile = (DiskGit(tmp_path / name, bare=bare) for name in ("clean", "hostile"))
    commits = _fill(clean)
    assert commits == _fill(hostile)
    with GitRepository(clean.path, os.environ) as port:
        expected = _answers(port, *commits)
    _plant(hostile, hostile.path if bare else hostile.path / ".git", tmp_path, *commits[:2])
    for name in (
        "GIT_EXTERNAL_DIFF",
        "GIT_PAGER",
        "GIT_EDITOR",
        "GIT_ASKPASS",
        "GIT_SSH_COMMAND",
        "GIT_PROXY_COMMAND",
    ):
        monkeypatch.setenv(name, str(tmp_path / "canary.sh"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "included"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=" + str(tmp_path / "canary.sh") + "'")
    with GitRepository(hostile.path, os.environ) as port:
        assert expected == _answers(port, *commits)
    assert not (tmp_path / "RAN").exists()
    assert not (tmp_path / "trace").exists()


def test_the_planted_commands_do_run_where_git_is_called_plainly(tmp_path):
    """The bait is real: plain git runs the merge driver and believes replacement and graft."""
    disk = DiskGit(tmp_path / "repo", bare=False)
    old, base, head, _ = _fill(disk)
    _plant(disk, disk.path / ".git", tmp_path, old, base)
    (disk.path / ".gitattributes").write_bytes(OLD[".gitattributes"])
    assert "x" == disk.git("show", "--no-textconv", "--no-ext-diff", f"{base}:src/a.py")
    other = disk.commit({**OLD, "src/a.py": b"zero\n" + OLD["src/a.py"]}, parents=[old])
    (tmp_path / "RAN").unlink(missing_ok=True)
    subprocess.run(
        ["git", "-C", disk.path, "merge-tree", "--write-tree", head, other], check=False, capture_output=True
    )
    assert (tmp_path / "RAN").exists()


def test_the_merge_is_git_s_own_with_its_defaults(tmp_path):
    """Lines of both sides are taken, a rename is followed, union is not honoured."""
    disk = DiskGit(tmp_path / "repo")
    old, base, head, union = _fill(disk)
    with GitRepository(disk.path, os.environ) as port:
        merged = {entry.path: entry.oid for entry in port.entries(port.merge_tree(head, base).tree)}
        assert b"one\n2\n3\n4\n5\n6\n7\n8\nnine\n" == port.blob(merged["src/a.py"])
        assert {"new/deep.py", "link", "sub", "src/b.txt", "u.md", ".gitattributes", "src/a.py"} == {*merged}
        assert ("u.md",) == port.merge_tree(union, base).conflicts
        assert old == port.merge_base(head, base)


def test_a_git_beside_the_change_is_not_run(tmp_path, monkeypatch):
    """A program called git in the working folder is not found through an empty or relative part of PATH."""
    disk = DiskGit(tmp_path / "repo")
    one = disk.commit(OLD, branch="main")
    (tmp_path / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/RAN\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with GitRepository(disk.path, {"PATH": f":.:{os.environ['PATH']}"}) as port:
        assert one == port.resolve("main")
    assert not (tmp_path / "RAN").exists()


def test_without_git_the_problem_says_so(tmp_path):
    """An empty PATH is no traceback."""
    disk = DiskGit(tmp_path / "repo")
    with pytest.raises(ReachProblem) as caught:
        GitRepository(disk.path, {"PATH": str(tmp_path)})
    assert "git-missing" == caught.value.code


def _impostor(tmp_path, body):
    """A PATH whose git runs ``body`` for some words and the real git for the others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "git"
    program.write_text(f'#!/bin/sh\ncase "$*" in\n{body}\nesac\nexec {shutil.which("git")} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("*merge-tree*) echo usage >&2; exit 129;;", "git-too-old"),
        ("*merge-tree*) echo 'fatal: strange' >&2; exit 128;;", "git-failed"),
        ("*merge-tree*) exit 7;;", "git-failed"),
        ("*merge-tree*) echo 'error: Could not read 123' >&2; exit 1;;", "missing-object"),
        ("*merge-tree*) kill -9 $$;;", "git-failed"),
        ("*merge-tree*) exec sleep 60;;", "git-failed"),
        ("*cat-file*) exec sleep 60;;", "git-failed"),
        ("*cat-file*) exit 0;;", "git-failed"),
        ('*cat-file*) read line; echo "$line commit 900"; exit 0;;', "git-failed"),
        ("*cat-file*) read line; echo nonsense; exec sleep 60;;", "git-failed"),
        ('*cat-file*) read line; echo "$line commit many"; exec sleep 60;;', "git-failed"),
        ("*cat-file*) read line; echo \"$line commit 3\"; printf 'abc\\n'; exec sleep 60;;", "git-failed"),
        ("*cat-file*) echo 'fatal: strange' >&2; exit 128;;", "git-failed"),
    ],
)
def test_a_git_that_fails_is_a_problem_of_one_line(tmp_path, body, code):
    """Too old, killed, silent, hanging, cut off or talking nonsense: never an answer."""
    disk = DiskGit(tmp_path / "repo")
    _, base, head, _ = _fill(disk)
    with GitRepository(disk.path, _impostor(tmp_path, body), time_limit_s=0.5) as port:
        with pytest.raises(ReachProblem) as caught:
            port.merge_tree(head, base)
        assert code == caught.value.code
        assert "\n" not in caught.value.message


def test_a_history_with_a_hole_is_never_walked_around(tmp_path):
    """Git itself says no where a commit in between is missing; here it is a missing object."""
    disk = DiskGit(tmp_path / "repo")
    one = disk.commit(OLD)
    two = disk.commit(OLD, parents=[one], message="two")
    three = disk.commit(OLD, parents=[two], message="three", branch="main")
    (disk.path / "objects" / two[:2] / two[2:]).unlink()
    with GitRepository(disk.path, os.environ) as port:
        for ask in (
            lambda: port.is_ancestor(one, three),
            lambda: port.merge_base(one, three),
            lambda: port.commits_between(one, three),
            lambda: port.merge_tree(one, three),
        ):
            with pytest.raises(ReachProblem) as caught:
                ask()
            assert "missing-object" == caught.value.code


def test_a_branch_of_a_commit_that_is_gone_is_a_missing_object(tmp_path):
    """A name without its commit is not the same as no name."""
    disk = DiskGit(tmp_path / "repo")
    one = disk.commit(OLD, branch="main")
    (disk.path / "objects" / one[:2] / one[2:]).unlink()
    with GitRepository(disk.path, os.environ) as port, pytest.raises(ReachProblem) as caught:
        port.resolve("main")
    assert "missing-object" == caught.value.code


def test_a_repository_of_an_unknown_format_is_refused(tmp_path):
    """An extension that this git does not know would be read wrongly."""
    disk = DiskGit(tmp_path / "repo")
    disk.git("config", "core.repositoryFormatVersion", "1")
    disk.git("config", "extensions.fromTheFuture", "true")
    with pytest.raises(ReachProblem) as caught:
        GitRepository(disk.path, os.environ)
    assert "git-failed" == caught.value.code


@pytest.mark.parametrize(
    ("body", "code"), [("*merge-tree*) exec sleep 60;;", "git-failed"), ("never) ;;", "")]
)
def test_a_system_without_process_handles_waits_too(tmp_path, monkeypatch, body, code):
    """As long as the limit, and no longer."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    disk = DiskGit(tmp_path / "repo")
    _, base, head, _ = _fill(disk)
    with GitRepository(disk.path, _impostor(tmp_path, body), time_limit_s=0.5 if code else 60) as port:
        if code:
            with pytest.raises(ReachProblem) as caught:
                port.merge_tree(head, base)
            assert code == caught.value.code
        else:
            assert port.merge_tree(head, base).tree


def test_what_git_leaves_running_is_not_waited_for(tmp_path):
    """A child that keeps the output open says nothing any more."""
    disk = DiskGit(tmp_path / "repo")
    _, base, head, _ = _fill(disk)
    with GitRepository(
        disk.path, _impostor(tmp_path, "*merge-tree*) sleep 20 & ;;"), time_limit_s=15
    ) as port:
        assert port.merge_tree(head, base).tree


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[extensions]", "[EXTENSIONS]"),
        ("\t", ""),
        ("\n", "\r\n"),
        ("[core]", "; " + "x" * (1 << 20) + "\n[core]"),
    ],
)
def test_the_hash_of_a_clone_is_read_in_any_spelling_of_its_configuration(
    tmp_path, object_format, before, after
):
    """Upper case, no indent, other line ends, a configuration that is longer than is read."""
    disk = DiskGit(tmp_path / "repo", object_format=object_format)
    one = disk.commit(OLD, branch="main")
    config = disk.path / "config"
    config.write_bytes(config.read_bytes().replace(before.encode(), after.encode()))
    with GitRepository(disk.path, os.environ) as port:
        assert (object_format, one) == (port.process.object_format, port.resolve("main"))
        assert [entry.path for entry in port.entries(port.tree_of(one))]


def test_a_clone_without_extensions_needs_no_question_for_its_hash(tmp_path):
    """One process less at every start; without any configuration too."""
    disk = DiskGit(tmp_path / "repo")
    one = disk.commit(OLD, branch="main")
    path = _impostor(tmp_path, "*rev-parse*) echo 'fatal: asked' >&2; exit 128;;")
    with GitRepository(disk.path, path) as port:
        assert one == port.resolve("main")
    (disk.path / "config").unlink()
    with pytest.raises(ReachProblem, match="asked"):
        GitRepository(disk.path, path)
    with GitRepository(disk.path, os.environ) as port:
        assert ("sha1", one) == (port.process.object_format, port.resolve("main"))


@pytest.mark.parametrize("odd", ["pipe", "folder"])
def test_a_configuration_that_is_no_file_is_left_to_git(tmp_path, odd):
    """Reading a pipe would wait for ever; git is stopped."""
    disk = DiskGit(tmp_path / "repo")
    (disk.path / "config").unlink()
    if odd == "pipe":
        os.mkfifo(disk.path / "config")
    else:
        (disk.path / "config").mkdir()
    with pytest.raises(ReachProblem) as caught:
        GitRepository(disk.path, os.environ, time_limit_s=0.5)
    assert "git-failed" == caught.value.code


def test_a_program_that_cannot_be_started_is_a_problem(tmp_path):
    """A git of another machine's format."""
    disk = DiskGit(tmp_path / "repo")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_bytes(b"\x7fELFnonsense")
    (tmp_path / "bin/git").chmod(0o755)
    with pytest.raises(ReachProblem) as caught:
        GitRepository(disk.path, {"PATH": str(tmp_path / "bin")})
    assert "git-failed" == caught.value.code


def test_a_forked_child_leaves_the_private_directory_to_its_parent(tmp_path):
    """The sampler forks; what a child's end removed would be missing here."""
    folder = tmp_path / "private"
    folder.mkdir()
    git_process._remove(folder, os.getpid() + 1)
    assert folder.is_dir()
    git_process._remove(folder, os.getpid())
    assert not Path(folder).exists()
