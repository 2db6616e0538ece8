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
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from truegreen.core.digest import Sha256
from truegreen.core.errors import ReachProblem
from truegreen.core.file_names import file_name_text
from truegreen.core.ports import FileChange, MergedTree, TreeEntry
from truegreen.core.quoted import quoted
from truegreen.core.subject import is_object_id
from truegreen.forges.git_objects import ObjectReader
from truegreen.forges.git_process import FULL_HISTORY, TIME_LIMIT_S, GitProcess, find_git_dir
from truegreen.forges.git_trees import TreeReader

_REVISION = re.compile(r"(?P<name>[^~^:?*\[\\\s\x00-\x20\x7f]+)(?P<steps>(?:[~^][0-9]*)*)")


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a commit."""

    tree: str
    """Id of its tree."""
    parents: tuple[str, ...]
    """Ids of its parents, in order."""


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
        self._trees = TreeReader(self._objects)
        self._headers: dict[str, _Header] = {}
        self._merge_bases: dict[frozenset[str], str | None] = {}

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

    def fetched_tip(self, branch: str) -> str | None:
        """Commit id of a branch of ``origin`` as it was fetched last, else of the clone's own of that name, or None."""
        found = _REVISION.fullmatch(branch)
        if found is None or found["steps"]:
            return None
        tip = self._first_reference(f"refs/remotes/origin/{branch}", f"refs/heads/{branch}")
        return None if tip is None else self._commit(tip)

    def tree_of(self, commit: str) -> str:
        """Tree id of a commit."""
        return self._header(commit).tree

    def parents(self, commit: str) -> tuple[str, ...]:
        """Parents of a commit in order, as the commit itself names them, also where the clone is cut."""
        return self._header(commit).parents

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        """All files of a tree, recursively, in git's order."""
        return self._trees.files(_whole(tree))

    def blob(self, oid: str) -> bytes:
        """Content of a blob."""
        return self._objects.content(_whole(oid), "blob")

    def blob_digests(self, oids: Iterable[str]) -> Mapping[str, Sha256]:
        """SHA-256 of the contents of blobs, by id."""
        return self._objects.digests(map(_whole, oids))

    def merge_tree(self, head: str, base: str) -> MergedTree:
        """The tree that merging ``head`` into ``base`` gives; without a common ancestor a conflict without paths."""
        fork = self.merge_base(head, base)
        if fork is None:
            return MergedTree(tree=None)
        if fork in (head, base):  # one holds all that the other has
            return MergedTree(tree=self.tree_of(base if fork == head else head))
        options = ("--write-tree", "-z", "--name-only", "--no-messages")
        code, out = self.process.run("merge-tree", *options, base, head, accepted=(0, 1))
        tree, *paths = out.split(b"\0")[:-1]
        if code == 0:
            return MergedTree(tree=tree.decode())
        return MergedTree(tree=None, conflicts=tuple(sorted({file_name_text(path) for path in paths})))

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether ``older`` is ``newer`` or one of its ancestors."""
        self._need_history(older, newer)
        if older == newer:
            return True
        code, _ = self.process.run("merge-base", "--is-ancestor", older, newer, accepted=(0, 1))
        return code == 0

    def merge_base(self, one: str, other: str) -> str | None:
        """Best common ancestor of two commits; of several equally good ones the first in id order."""
        self._need_history(one, other)
        pair = frozenset((one, other))
        if pair not in self._merge_bases:
            code, out = self.process.run("merge-base", "--all", one, other, accepted=(0, 1))
            self._merge_bases[pair] = min(out.decode().split()) if code == 0 else None
        return self._merge_bases[pair]

    def commits_between(self, base: str, head: str) -> tuple[str, ...]:
        """Commits reachable from ``head`` and not from ``base`` along first parents, oldest first."""
        self._need_history(base, head)
        _, out = self.process.run("rev-list", "--first-parent", "--reverse", head, f"^{base}")
        return tuple(out.decode().split())

    def changes_between(self, base: str, head: str, folder: str) -> tuple[FileChange, ...]:
        """What commits reachable from ``head`` and not from ``base`` did below ``folder``, newest first."""
        self._need_history(base, head)
        options = (
            "-z",
            "--format=%H",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--full-history",
            "--topo-order",
        )
        _, out = self.process.run(
            "log", *options, "--diff-merges=off", head, f"^{base}", "--", f":(literal){folder}"
        )
        return tuple(self._changes(out.decode("latin-1").split("\0")))

    def _changes(self, tokens: list[str]) -> Iterator[FileChange]:
        """A whole id is a commit; a line of modes and ids speaks of the path that follows it."""
        commit, parts = "", iter(tokens)
        for token in parts:
            if is_object_id(token):
                commit = token
            elif token:
                oid = token.split(" ")[3]
                yield FileChange(
                    commit=commit,
                    author=_author(self._objects.content(commit, "commit")),
                    path=file_name_text(next(parts).encode("latin-1")),
                    oid=oid if oid.strip("0") else None,
                )

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
        return self._first_reference(*asked)

    def _first_reference(self, *names: str) -> str | None:
        """What the first of these whole names stands for that is there."""
        listed = self.process.ask_clone("for-each-ref", "--format=%(objectname) %(refname)", *names)
        ids = {refname: oid for oid, _, refname in (line.partition(" ") for line in listed.splitlines())}
        return next((ids[name] for name in names if name in ids), None)

    def _commit(self, oid: str) -> str:
        """The commit itself, or the one that an annotated tag names."""
        found, content = self._objects.commit(oid)
        self._headers[found] = _header(found, content)
        return found

    def _header(self, commit: str) -> _Header:
        if commit not in self._headers:  # a commit never changes
            self._headers[commit] = _header(commit, self._objects.content(_whole(commit), "commit"))
        return self._headers[commit]

    def _need_history(self, *commits: str) -> None:
        if self.process.is_shallow:
            raise ReachProblem(
                "missing-object", "the clone is shallow, its whole history is asked", hint=FULL_HISTORY
            )
        for commit in commits:
            self._header(commit)


def _whole(oid: str) -> str:
    if not is_object_id(oid):
        raise ReachProblem("missing-object", f"{quoted(oid)} is not a whole object id, which is asked")
    return oid


def _author(content: bytes) -> str:
    """The address in the author's line of a commit; empty where there is none."""
    lines = content.partition(b"\n\n")[0].split(b"\n")
    said = next((line for line in lines if line.startswith(b"author ")), b"")
    return said.rpartition(b"<")[2].partition(b">")[0].decode("utf-8", "replace") if b"<" in said else ""


def _header(commit: str, content: bytes) -> _Header:
    first, *rest = content.partition(b"\n\n")[0].decode("latin-1").split("\n")
    parents = [
        line.removeprefix("parent ") for line in takewhile(lambda line: line.startswith("parent "), rest)
    ]
    tree = first.removeprefix("tree ")
    if tree == first or not all(map(is_object_id, (tree, *parents))):
        raise ReachProblem(
            "git-failed", f"the commit {commit} is malformed: it starts with {quoted(first, 60)}"
        )
    return _Header(tree=tree, parents=tuple(parents))
