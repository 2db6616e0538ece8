# SPDX-License-Identifier: Apache-2.0
"""A clone that is asked again and again: answers about immutable objects are kept, those about branches until one moves.

What it decides: which answers may be kept. What it leaves: answering, to the clone itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from truegreen.core.digest import Sha256
from truegreen.core.ports import FileChange, GitPort, MergedTree, TreeEntry

T = TypeVar("T")


class Remembered:
    """A ``GitPort`` over another one; ids name objects that never change, so their answers stand."""

    def __init__(self, port: GitPort, kept: dict[tuple[str, ...], object]) -> None:
        """``kept`` outlives this object when the same clone is opened again."""
        self._port = port
        self._kept = kept

    def resolve(self, ref: str) -> str | None:
        """Commit id of a branch, until ``forget_branches``."""
        return self._once(("resolve", ref), lambda: self._port.resolve(ref))

    def fetched_tip(self, branch: str) -> str | None:
        """Commit id of a branch as it was fetched last, until ``forget_branches``."""
        return self._once(("fetched_tip", branch), lambda: self._port.fetched_tip(branch))

    def tree_of(self, commit: str) -> str:
        """Tree id of a commit."""
        return self._once(("tree_of", commit), lambda: self._port.tree_of(commit))

    def parents(self, commit: str) -> tuple[str, ...]:
        """Parents of a commit."""
        return self._once(("parents", commit), lambda: self._port.parents(commit))

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        """All files of a tree."""
        return self._once(("entries", tree), lambda: self._port.entries(tree))

    def blob(self, oid: str) -> bytes:
        """Content of a blob."""
        return self._once(("blob", oid), lambda: self._port.blob(oid))

    def blob_digests(self, oids: Iterable[str]) -> Mapping[str, Sha256]:
        """Digests of blobs; only those that were not asked for before are computed."""
        asked = tuple(oids)
        new = [oid for oid in asked if ("digest", oid) not in self._kept]
        self._kept.update((("digest", oid), digest) for oid, digest in self._port.blob_digests(new).items())
        return {oid: cast("Sha256", self._kept["digest", oid]) for oid in asked}

    def merge_tree(self, head: str, base: str) -> MergedTree:
        """The tree of a merge."""
        return self._once(("merge_tree", head, base), lambda: self._port.merge_tree(head, base))

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether one commit is an ancestor of another."""
        return self._once(("is_ancestor", older, newer), lambda: self._port.is_ancestor(older, newer))

    def merge_base(self, one: str, other: str) -> str | None:
        """Best common ancestor."""
        return self._once(("merge_base", one, other), lambda: self._port.merge_base(one, other))

    def commits_between(self, base: str, head: str) -> tuple[str, ...]:
        """First-parent commits between two."""
        return self._once(("commits_between", base, head), lambda: self._port.commits_between(base, head))

    def changes_between(self, base: str, head: str, folder: str) -> tuple[FileChange, ...]:
        """What commits between two did below a folder."""
        asked = ("changes_between", base, head, folder)
        return self._once(asked, lambda: self._port.changes_between(base, head, folder))

    def _once(self, key: tuple[str, ...], ask: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = ask()
        return cast("T", self._kept[key])


def forget_branches(kept: dict[tuple[str, ...], object]) -> None:
    """A branch moved: what it resolved to is asked again."""
    for key in [key for key in kept if key[0] in {"resolve", "fetched_tip"}]:
        del kept[key]
