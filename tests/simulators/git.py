# SPDX-License-Identifier: Apache-2.0
"""An in-memory repository that implements ``core.ports.GitPort``: commits, trees and blobs in dictionaries.

It merges whole files: a file that both sides changed differently is a conflict, where git would still look at
the lines. Renames are not followed. Everything else answers as git does; one suite runs over both.
"""

import hashlib
from collections.abc import Iterable, Mapping

from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import ReachProblem
from truegreen.core.ports import FileChange, MergedTree, TreeEntry
from truegreen.core.subject import is_object_id

AUTHOR = "author@example.org"
"""Address of the author of a commit that names none."""


class SimulatedGit:
    """A repository that is filled by ``commit`` and asked through the port."""

    def __init__(self):
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, tuple[TreeEntry, ...]] = {}
        self.commits: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.authors: dict[str, str] = {}
        self.branches: dict[str, str] = {}

    def commit(
        self,
        files: Mapping[str, bytes | tuple[str, bytes]],
        *,
        parents=(),
        branch=None,
        message="",
        author=AUTHOR,
    ) -> str:
        """Add a commit of these files (path to content, or to mode and content) and move the branch there."""
        tree = self.add_tree(files)
        oid = _oid("commit", repr((tree, tuple(parents), message, author)).encode())
        self.authors[oid] = author
        self.commits[oid] = (tree, tuple(parents))
        if branch:
            self.branches[branch] = oid
        return oid

    def add_tree(self, files: Mapping[str, bytes | tuple[str, bytes]]) -> str:
        """Add a tree; a submodule's content is the id of its commit."""
        entries = []
        for path, given in sorted(files.items(), key=lambda item: item[0].encode()):
            mode, content = given if isinstance(given, tuple) else ("100644", given)
            oid = content.decode() if mode == "160000" else _oid("blob", content)
            if mode != "160000":
                self.blobs[oid] = content
            entries.append(TreeEntry(path=path, mode=mode, oid=oid))
        return self._stored(tuple(entries))

    def resolve(self, ref: str) -> str | None:
        """Branches, ``refs/heads/…``, HEAD (the branch ``main``) and whole ids."""
        if is_object_id(ref):
            self._commit(ref)
            return ref
        return self.branches.get("main" if ref == "HEAD" else ref.removeprefix("refs/heads/"))

    def fetched_tip(self, branch: str) -> str | None:
        """The branch, which nobody else moves here."""
        return self.branches.get(branch)

    def tree_of(self, commit: str) -> str:
        """Tree id of a commit."""
        return self._commit(commit)[0]

    def parents(self, commit: str) -> tuple[str, ...]:
        """Parents in order."""
        return self._commit(commit)[1]

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        """All files of a tree."""
        return self._known(self.trees, tree)

    def blob(self, oid: str) -> bytes:
        """Content of a blob."""
        return self._known(self.blobs, oid)

    def blob_digests(self, oids: Iterable[str]) -> Mapping[str, Sha256]:
        """SHA-256 of contents."""
        return {oid: sha256_of(self.blob(oid)) for oid in oids}

    def merge_tree(self, head: str, base: str) -> MergedTree:
        """Three-way merge by whole files."""
        ancestor = self.merge_base(head, base)
        if ancestor is None:
            return MergedTree(tree=None)
        old, ours, theirs = (
            {entry.path: entry for entry in self.entries(self.tree_of(commit))}
            for commit in (ancestor, base, head)
        )
        merged, conflicts = [], []
        for path in sorted({*old, *ours, *theirs}, key=str.encode):
            sides = old.get(path), ours.get(path), theirs.get(path)
            if sides[1] == sides[2] or sides[2] == sides[0]:
                merged.append(sides[1])
            elif sides[1] == sides[0]:
                merged.append(sides[2])
            else:
                conflicts.append(path)
        if conflicts:
            return MergedTree(tree=None, conflicts=tuple(sorted(conflicts)))
        return MergedTree(tree=self._stored(tuple(entry for entry in merged if entry)))

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether ``older`` is reachable from ``newer``."""
        self._commit(older)
        return older in self._reachable(newer)

    def merge_base(self, one: str, other: str) -> str | None:
        """Best common ancestor, the first in id order."""
        common = self._reachable(one) & self._reachable(other)
        best = [c for c in common if not any(c != d and c in self._reachable(d) for d in common)]
        return min(best, default=None)

    def commits_between(self, base: str, head: str) -> tuple[str, ...]:
        """First parents of head that base does not hold, oldest first."""
        held = self._reachable(base)
        found = []
        at: str | None = head
        while at is not None and at not in held:
            found.append(at)
            at = next(iter(self.parents(at)), None)
        return tuple(reversed(found))

    def changes_between(self, base: str, head: str, folder: str) -> tuple[FileChange, ...]:
        """Files below the folder that differ from the only parent's, for every commit that base does not hold."""
        held, self_and_later = self._reachable(base), self._reachable(head)
        newest_first = sorted(self_and_later - held, key=lambda oid: -len(self._reachable(oid)))
        return tuple(change for oid in newest_first for change in self._changes_of(oid, folder))

    def _changes_of(self, oid: str, folder: str) -> list[FileChange]:
        parents = self.parents(oid)
        if len(parents) > 1:
            return []
        old = {e.path: e for parent in parents for e in self.entries(self.tree_of(parent))}
        new = {e.path: e for e in self.entries(self.tree_of(oid))}
        paths = sorted(p for p in {*old, *new} if p.startswith(f"{folder}/") and old.get(p) != new.get(p))
        return [
            FileChange(commit=oid, author=self.authors[oid], path=p, oid=new[p].oid if p in new else None)
            for p in paths
        ]

    def _reachable(self, commit: str) -> frozenset[str]:
        seen: set[str] = set()
        waiting = [commit]
        while waiting:
            oid = waiting.pop()
            if oid not in seen:
                seen.add(oid)
                waiting.extend(self.parents(oid))
        return frozenset(seen)

    def _commit(self, oid: str) -> tuple[str, tuple[str, ...]]:
        return self._known(self.commits, oid)

    def _known(self, table, oid):
        if oid not in table:
            raise ReachProblem(
                "missing-object", f"the clone lacks an object that was asked for: {oid}", hint="fetch"
            )
        return table[oid]

    def _stored(self, entries: tuple[TreeEntry, ...]) -> str:
        oid = _oid("tree", repr(entries).encode())
        self.trees[oid] = entries
        return oid


def _oid(kind: str, content: bytes) -> str:
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()
