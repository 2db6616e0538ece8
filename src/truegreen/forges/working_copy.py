# SPDX-License-Identifier: Apache-2.0
"""What lies in a working folder: the commit that is checked out, and the tree of the files as they are.

What it decides: which files count and which tree they make. What it leaves: what evidence about such a tree is
worth, to the gate (a dirty one never counts in CI).

- The tree is written from a **temporary index**, a copy of the clone's own, into the private directory; index,
  objects and configuration of the clone stay untouched.
- Tracked files count as they lie there, deleted ones as deleted. Untracked files count when asked for, unless they
  are ignored by git or left behind by a test run (``BY_PRODUCTS``). A nested repository that is not a submodule
  does not count.
- No filter runs: a file that git's index knows as unchanged keeps its blob, as does the content of a Git LFS
  pointer; a changed one is taken as it lies there, after git's own line-end conversion.
- Of the user's configuration only settings that name no program are read (``SETTINGS``).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.core.event import EventFacts
from truegreen.core.quoted import quoted
from truegreen.core.subject import CommitId, TreeId
from truegreen.forges.git import GitRepository
from truegreen.forges.lfs import is_content_of

BY_PRODUCTS = ("__pycache__/", ".pytest_cache/", "*.truegreen.json", "/.truegreen/")
"""Patterns of untracked files that running the tests leaves behind, so that running them changes no tree."""
SETTINGS = ("autocrlf", "eol", "filemode", "symlinks", "ignorecase", "precomposeunicode")
"""Names below ``core.`` that say how files of this folder are read."""
DEFAULT_BRANCHES = ("main", "master")
"""Where the default branch is looked for when the remote names none."""
LOCAL = "local"


class WorkingCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A working folder at one moment."""

    head_sha: CommitId
    """The commit that is checked out."""
    head_tree: TreeId
    """Its tree."""
    tree: TreeId
    """The tree of the files as they lie there."""

    @property
    def dirty(self) -> bool:
        """Whether the folder holds changes that the commit does not hold."""
        return self.tree != self.head_tree


def working_copy(git: GitRepository, *, untracked: bool) -> WorkingCopy:
    """The working folder of a clone; ``untracked`` says whether files that were never added count.

    The tree can be read through ``git`` until that is closed.

    Raises: UsageProblem ``no-working-folder`` or ``no-commit``; ReachProblem ``git-failed``.
    """
    if git.root is None:
        raise UsageProblem("no-working-folder", "a bare clone has no working folder to test")
    head = git.resolve("HEAD")
    if head is None:
        raise UsageProblem("no-commit", "the working folder has no commit yet, 1 is asked", hint="git commit")
    return WorkingCopy(
        head_sha=CommitId(head),
        head_tree=TreeId(git.tree_of(head)),
        tree=TreeId(_write_tree(git, git.root, untracked=untracked)),
    )


def local_facts(git: GitRepository, copy: WorkingCopy, base: str | None) -> EventFacts:
    """The facts of a working copy, for evidence and gate alike; ``base`` names the branch it would go into.

    The base commit is the best common ancestor with that branch.

    Raises: UsageProblem ``no-base-branch``.
    """
    default = default_branch(git)
    name = base if base is not None else default
    tip = git.resolve(name) if name is not None else None
    fork = git.merge_base(copy.head_sha, tip) if tip is not None else None
    if name is None or fork is None:
        raise UsageProblem(
            "no-base-branch",
            f"the branch {quoted(name)} is not there or shares no commit with HEAD"
            if name is not None
            else f"the default branch is unknown: neither origin/HEAD nor {' nor '.join(DEFAULT_BRANCHES)} is there",
            hint="name it with --base BRANCH",
        )
    short = name.removeprefix("refs/heads/").removeprefix("origin/")
    return EventFacts(
        event=LOCAL,
        repo=LOCAL,
        head_repo=LOCAL,
        pull_request=None,
        head_sha=copy.head_sha,
        base_ref=short,
        base_sha=fork,
        group_base=None,
        default_branch=default or short,
        run_id=0,
        run_attempt=1,
        workflow="",
        local=True,
        dirty=copy.dirty,
        head_tree=copy.tree if copy.dirty else None,
    )


def default_branch(git: GitRepository) -> str | None:
    """Short name of the branch that the remote calls its default, or a usual name, or the only branch in use."""
    prefix = "refs/remotes/origin/"
    said = git.process.ask_clone("symbolic-ref", "--quiet", f"{prefix}HEAD", accepted=(0, 1, 128)).strip()
    names = [said.removeprefix(prefix)] if said.startswith(prefix) else []
    found = next((name for name in (*names, *DEFAULT_BRANCHES) if git.resolve(name)), None)
    return found or git.branch_of_head()


def _write_tree(git: GitRepository, root: Path, *, untracked: bool) -> str:
    process = git.process
    index = process.private / "index"
    more = {"GIT_WORK_TREE": str(root), "GIT_INDEX_FILE": str(index), **_settings(git)}
    _copy_index(process.git_dir, process.private)
    _copy_if_there(process.common_dir / "info/exclude", process.private / "info/exclude")
    _, listed = process.run("ls-files", "-z", "--modified", "--deleted", more=more)
    paths = [path for path in _names(listed) if not _is_large_file(git, root, path, more)]
    if untracked:
        patterns = [f"--exclude={pattern}" for pattern in BY_PRODUCTS]
        _, others = process.run("ls-files", "-z", "--others", "--exclude-standard", *patterns, more=more)
        paths += [path for path in _names(others) if not path.endswith(b"/")]
    feed = b"".join(path + b"\0" for path in paths)
    process.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", feed=feed, more=more)
    _, tree = process.run("write-tree", more=more)
    return tree.decode().strip()


def _names(listed: bytes) -> list[bytes]:
    return list(dict.fromkeys(listed.split(b"\0")[:-1]))


def _is_large_file(git: GitRepository, root: Path, path: bytes, more: Mapping[str, str]) -> bool:
    """Whether the index holds a Git LFS pointer there and the folder the content that it names."""
    file = root / os.fsdecode(path)
    if file.is_symlink() or not file.is_file():
        return False
    _, staged = git.process.run(
        "--literal-pathspecs", "ls-files", "-z", "--stage", "--", os.fsdecode(path), more=more
    )
    rows = [row.partition(b"\t")[0].decode().split(" ") for row in staged.split(b"\0")[:-1]]
    return any(
        number == "0" and mode.startswith("100") and is_content_of(git.blob(oid), file)
        for mode, oid, number in rows
    )


def _copy_index(git_dir: Path, private: Path) -> None:
    """Copies keep their times: git takes a file that is newer than the index for changed."""
    (private / "index").unlink(missing_ok=True)
    _copy_if_there(git_dir / "index", private / "index")
    for part in git_dir.glob("sharedindex.*"):
        _copy_if_there(part, private / part.name)


def _copy_if_there(source: Path, target: Path) -> None:
    if source.is_file():
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(source, target)


def _settings(git: GitRepository) -> dict[str, str]:
    """The settings as variables that configure one git process."""
    pattern = rf"^core\.({'|'.join(SETTINGS)})$"
    said = git.process.ask_clone("config", "-z", "--get-regexp", pattern, accepted=(0, 1), user=True)
    rows = [row.partition("\n") for row in said.split("\0") if row]
    pairs = [(name, value if separator else "true") for name, separator, value in rows]
    ignore = git.process.ask_clone(
        "config", "-z", "--type=path", "core.excludesFile", accepted=(0, 1), user=True
    )
    pairs.append(("core.safecrlf", "false"))  # it would warn and change nothing
    pairs.append(("core.excludesFile", ignore.rstrip("\0") or _usual_ignore_file(git.process.inherited)))
    numbered = list(enumerate(pairs))
    return (
        {"GIT_CONFIG_COUNT": str(len(numbered))}
        | {f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in numbered}
        | {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered}
    )


def _usual_ignore_file(environment: Mapping[str, str]) -> str:
    folder = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '')}/.config"
    return f"{folder}/git/ignore"
