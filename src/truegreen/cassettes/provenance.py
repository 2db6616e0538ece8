# SPDX-License-Identifier: Apache-2.0
"""Whose recordings these are: each file that differs from the base is vouched for, or it is named.

What it decides: which changed files nobody vouches for, and why. What it leaves: asking git and opening seals, to
whoever has them; what follows, to the gate.

- What base holds is trusted as base is. A file counts that was added or changed by a commit of a listed author, byte
  for byte as that commit left it, or that a listed key sealed under its name.
- Anybody can write any address into a commit. So on a change from a fork only seals count.
- A removal is a change: it shrinks what is replayed. No seal can vouch for it.
- What only a merge made is nobody's. Seals need no voucher: each proves itself or proves nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from truegreen.core.digest import Sha256
from truegreen.core.ports import FileChange, TreeEntry

SEALS = "seals"
"""Folder of seals, in the folder of the recordings."""
SEAL_SUFFIX = ".dsse.json"
PREDICATE = "urn:truegreen:recording:v1"
"""What a seal says of its files: a recorder vouches for them. Another statement by the same key vouches for nothing."""


class Unvouched(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file that nobody who counts vouches for."""

    path: str
    """Its path, from the root."""
    author: str
    """Address of the last commit that touched it; ``nobody`` if only a merge did."""
    commit: str
    """That commit; empty if only a merge touched it."""
    is_removed: bool
    """Whether the file is gone."""


class Vouchers(msgspec.Struct, frozen=True, kw_only=True):
    """Who may vouch."""

    authors: Collection[str] = ()
    """Listed addresses; none on a change from a fork."""
    sealed: Mapping[str, Collection[Sha256]] = {}
    """Name from the folder of the recordings to the digests that a listed key sealed under it."""


def is_seal(path: str, folder: str) -> bool:
    """Whether a file of the folder is a seal."""
    return path.startswith(f"{folder}/{SEALS}/") and path.endswith(SEAL_SUFFIX)


def unvouched(  # noqa: PLR0913, PLR0917 - two trees, what happened between them, and who counts
    folder: str,
    before: Iterable[TreeEntry],
    after: Iterable[TreeEntry],
    changes: Iterable[FileChange],
    digests: Mapping[str, Sha256],
    vouchers: Vouchers,
) -> tuple[Unvouched, ...]:
    """The changed files that nobody vouches for, by path.

    ``changes`` are newest first; ``digests`` maps blob ids to content digests, for the files of ``after``.
    """
    listed = {author.casefold() for author in vouchers.authors}
    old, new = _files(folder, before), _files(folder, after)
    said: dict[str, list[FileChange]] = {}
    for change in changes:
        said.setdefault(change.path, []).append(change)
    found = []
    for path in sorted(path for path in {*old, *new} if old.get(path) != new.get(path)):
        entry = new.get(path)
        left = entry.oid if entry else None
        mine = said.get(path, [])
        by_author = any(change.oid == left and change.author.casefold() in listed for change in mine)
        sealed = vouchers.sealed.get(path.removeprefix(f"{folder}/"), ())
        by_seal = entry is not None and entry.mode == "100644" and digests.get(entry.oid) in sealed
        if not (by_author or by_seal):
            last = mine[0] if mine else None
            found.append(
                Unvouched(
                    path=path,
                    author=last.author if last else "nobody",
                    commit=last.commit if last else "",
                    is_removed=entry is None,
                )
            )
    return tuple(found)


def _files(folder: str, entries: Iterable[TreeEntry]) -> dict[str, TreeEntry]:
    """The folder's files by path, without seals."""
    return {
        entry.path: entry
        for entry in entries
        if entry.path.startswith(f"{folder}/") and not is_seal(entry.path, folder)
    }
