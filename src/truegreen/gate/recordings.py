# SPDX-License-Identifier: Apache-2.0
"""The recordings of a tree, and who vouches for those that its base lacks.

What it decides: which objects of the clone are read for that. What it leaves: what is wrong with a recording, to
``cassettes.check``; whose word counts, to ``cassettes.provenance``.

- Everything is read from the tested tree; a recording that only the record knows is none.
- The keys and authors that count are those of the base's policy, never the change's.
- On a change from a fork an author's address proves nothing, in a queue likewise while one of its heads is a fork's.
"""

from __future__ import annotations

import msgspec

from truegreen.cassettes.contract_check import Checked
from truegreen.cassettes.provenance import PREDICATE, Unvouched, Vouchers, is_seal, unvouched
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem
from truegreen.core.policy import Lane
from truegreen.core.seal import opened
from truegreen.gate.ground import Ground, Unreachable


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Who vouches for what."""

    unvouched: tuple[Unvouched, ...]
    """Changed files that nobody who counts vouches for."""
    forged: tuple[str, ...]
    """Seals that name a listed key and do not fit it."""
    is_of_fork: bool
    """Whether addresses proved nothing here."""


def recordings_at(ground: Ground, tree: str, folder: str) -> Checked:
    """The recordings of a folder of a tree with everything that is wrong with them, read once.

    Raises: Unreachable ``recordings-unread`` where nobody handed in how, or as ``unreachable`` says.
    """
    if ground.check_recordings is None:
        raise Unreachable("recordings-unread", folder=folder)
    key = ("recordings", tree, folder)
    if key not in ground.kept:
        ground.kept[key] = ground.check_recordings(ground.folder_at(tree, folder))
    found: Checked = ground.kept[key]
    return found


def provenance_of(ground: Ground, lane: Lane, *, head: str, base: str, tree: str) -> Provenance:
    """Who vouches for the files of the lane's folder that ``base`` lacks or has otherwise.

    Raises: Unreachable as ``unreachable`` says.
    """
    before, after = ground.entries(ground.tree_of(base)), ground.entries(tree)
    trust, folder = ground.policy.cassettes, lane.cassettes
    sealed, forged = _sealed(ground, lane, tree)
    is_of_fork = _is_of_fork(ground)
    inside = [entry.oid for entry in after if entry.path.startswith(f"{folder}/") and entry.mode == "100644"]
    return Provenance(
        unvouched=unvouched(
            folder,
            before,
            after,
            ground.changes(base, head, folder) if base != head else (),
            ground.blob_digests(inside),
            Vouchers(authors=() if is_of_fork else trust.authors, sealed=sealed),
        ),
        forged=forged,
        is_of_fork=is_of_fork,
    )


def _sealed(ground: Ground, lane: Lane, tree: str) -> tuple[dict[str, set[Sha256]], tuple[str, ...]]:
    """Digests by name that a listed key sealed, and the seals that are forged."""
    keys = ground.policy.cassettes.keys
    sealed: dict[str, set[Sha256]] = {}
    forged: list[str] = []
    folder = lane.cassettes
    names = [entry.path for entry in ground.entries(tree) if is_seal(entry.path, folder)] if keys else []
    for name in names:
        data = ground.file_at(tree, name)
        try:
            said = opened(data or b"", keys)
        except EvidenceProblem as err:  # no seal of a listed key vouches for nothing
            forged += [name] if err.contradictory else []
            continue
        for file, digest in said.files.items() if said.predicate_type == PREDICATE else ():
            sealed.setdefault(file, set()).add(digest)
    return sealed, tuple(forged)


def _is_of_fork(ground: Ground) -> bool:
    repo = ground.facts.repo.casefold()
    heads = {ground.facts.head_repo}
    if ground.facts.event == "merge_group" and ground.index is not None:
        heads |= {run.head_repo for run in ground.index.runs}
    return any(head.casefold() != repo for head in heads)
