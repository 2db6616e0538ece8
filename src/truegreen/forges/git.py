# SPDX-License-Identifier: Apache-2.0
"""Questions to a clone with full history, bare or not, answered by git itself.

What it decides: which git command answers which question of ``core.ports.GitPort``. What it leaves: how git is
kept from running code, to ``git_process``; what the answers mean, to the gate.

- Objects are named by whole ids; branches by ``resolve`` alone.
- Questions about history are refused in a shallow clone: git would take the cut for the beginning.
- Merges are git's own (``merge-ort``, git's defaults), without attributes and configuration of anybody, as a forge
  merges; a custom merge driver or ``merge=union`` therefore changes nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from truegreen.core.digest import Sha256
from truegreen.core.errors import ReachProblem
from truegreen.core.file_names import file_name_text
from truegreen.core.ports import MergedTree, TreeEntry
from truegreen.core.quoted import quoted
from truegreen.core.subject import is_object_id
from truegreen.forges.git_objects import ObjectReader
from truegreen.forges.git_process import FULL_HISTORY, TIME_LIMIT_S, GitProcess, find_git_dir, missing

_REVISION = re.compile(r"(?P<name>[^~^:?*\[\\\s\x00-\x20\x7f]+)(?P<steps>(?:[~^][0-9]*)*)")
_UNRELATED = "unrelated histories"


class GitRepository:
    """A clone on disk; implements ``core.ports.GitPort``."""

    def __init__(
        self, path: Path | str, environment: Mapping[str, str], *, time_limit_s: float = TIME_LIMIT_S
    ) -> None:
        """``path`` is the root of a working copy or a bare clone; ``PATH`` of ``environment`` finds git.

        Raises: UsageProblem ``not-a-repository``; ReachProblem ``git-missing`` or ``git-failed``.
        """
        git_dir, self.root = find_git_dir(Path(path))
        self.process = GitProcess(git_dir, environment, time_limit_s=time_limit_s)
        self._objects = ObjectReader(self.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End git and remove what it made in its private directory."""
        self._objects.close()
        self.process.close()

    def resolve(self, ref: str) -> str | None:
        """Commit id of a branch, a whole reference, ``HEAD`` or a whole id, with ``~N`` and ``^N`` steps, or None.

        A short name is a branch: the clone's own first if it is bare, the one of ``origin`` first if it has a
        working folder, where own branches lag behind; ``origin/main`` names the remote's too. It is never a tag or
        an abbreviated id.
        """
        found = _REVISION.fullmatch(ref)
        if found is None or found["name"].startswith("-"):
            return None
        start = found["name"] if is_object_id(found["name"]) else self._reference(found["name"])
        if start is None:
            return None
        if not found["steps"]:
            return self._commit(start)
        code, out = self.process.run(
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{start}{found['steps']}^{{commit}}",
            accepted=(0, 1),
        )
        return out.decode().strip() if code == 0 else None

    def tree_of(self, commit: str) -> str:
        """Tree id of a commit."""
        return self._header(commit, b"tree")[0]

    def parents(self, commit: str) -> tuple[str, ...]:
        """Parents of a commit in order, as the commit itself names them, also where the clone is cut."""
        return self._header(commit, b"parent")

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        """All files of a tree, recursively, in git's order."""
        self._objects.content(_whole(tree), "tree")
        _, out = self.process.run("ls-tree", "-r", "-z", "--full-tree", tree)
        return tuple(map(_entry, out.split(b"\0")[:-1]))

    def blob(self, oid: str) -> bytes:
        """Content of a blob."""
        return self._objects.content(_whole(oid), "blob")

    def blob_digests(self, oids: Iterable[str]) -> Mapping[str, Sha256]:
        """SHA-256 of the contents of blobs, by id."""
        return self._objects.digests(map(_whole, oids))

    def merge_tree(self, head: str, base: str) -> MergedTree:
        """The tree that merging ``head`` into ``base`` gives; without a common ancestor a conflict without paths."""
        self._need_history(head, base)
        try:
            code, out = self.process.run(
                "merge-tree",
                "--write-tree",
                "-z",
                "--name-only",
                "--no-messages",
                base,
                head,
                accepted=(0, 1),
            )
        except ReachProblem as problem:
            if _UNRELATED in problem.message:
                return MergedTree(tree=None)
            raise
        tree, *paths = out.split(b"\0")[:-1]
        if code == 0:
            return MergedTree(tree=tree.decode())
        return MergedTree(tree=None, conflicts=tuple(sorted({file_name_text(path) for path in paths})))

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether ``older`` is ``newer`` or one of its ancestors."""
        self._need_history(older, newer)
        code, _ = self.process.run("merge-base", "--is-ancestor", older, newer, accepted=(0, 1))
        return code == 0

    def merge_base(self, one: str, other: str) -> str | None:
        """Best common ancestor of two commits; of several equally good ones the first in id order."""
        self._need_history(one, other)
        code, out = self.process.run("merge-base", "--all", one, other, accepted=(0, 1))
        return min(out.decode().split()) if code == 0 else None

    def commits_between(self, base: str, head: str) -> tuple[str, ...]:
        """Commits reachable from ``head`` and not from ``base`` along first parents, oldest first."""
        self._need_history(base, head)
        _, out = self.process.run("rev-list", "--first-parent", "--reverse", head, f"^{base}")
        return tuple(out.decode().split())

    def branch_of_head(self) -> str | None:
        """Short name of the branch that is checked out, or None for a detached head."""
        name = self.process.ask_clone("symbolic-ref", "--quiet", "HEAD", accepted=(0, 1)).rstrip("\n")
        return name.removeprefix("refs/heads/") or None

    def _reference(self, name: str) -> str | None:
        if name == "HEAD":
            said = self.process.ask_clone("rev-parse", "--verify", "--quiet", "HEAD", accepted=(0, 1)).strip()
            return said or None
        own, remote = f"refs/heads/{name}", f"refs/remotes/origin/{name}"
        preferred = (remote, own) if self.root else (own, remote)
        asked = (name,) if name.startswith("refs/") else (*preferred, f"refs/remotes/{name}")
        listed = self.process.ask_clone("for-each-ref", "--format=%(objectname) %(refname)", *asked)
        ids = {refname: oid for oid, _, refname in (line.partition(" ") for line in listed.splitlines())}
        return next((ids[candidate] for candidate in asked if candidate in ids), None)

    def _commit(self, oid: str) -> str:
        """The commit itself, or the one that an annotated tag names."""
        asked = f"{oid}^{{commit}}"
        _, out = self.process.run("cat-file", "--batch-check=%(objectname)", feed=f"{asked}\n".encode())
        found = out.decode().strip()
        if not is_object_id(found):
            raise missing(f"commit {oid}")
        return found

    def _header(self, commit: str, name: bytes) -> tuple[str, ...]:
        head, _, _ = self._objects.content(_whole(commit), "commit").partition(b"\n\n")
        rows = (line.partition(b" ") for line in head.split(b"\n"))
        return tuple(value.decode() for key, _, value in rows if key == name)

    def _need_history(self, *commits: str) -> None:
        if self.process.is_shallow:
            raise ReachProblem(
                "missing-object", "the clone is shallow, its whole history is asked", hint=FULL_HISTORY
            )
        for commit in commits:
            self._objects.content(_whole(commit), "commit")


def _whole(oid: str) -> str:
    if not is_object_id(oid):
        raise ReachProblem("missing-object", f"{quoted(oid)} is not a whole object id, which is asked")
    return oid


def _entry(row: bytes) -> TreeEntry:
    facts, _, name = row.partition(b"\t")
    mode, _, oid = facts.decode().split(" ")
    return TreeEntry(path=file_name_text(name), mode=mode, oid=oid)
