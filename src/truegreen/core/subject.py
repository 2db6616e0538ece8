# SPDX-License-Identifier: Apache-2.0
"""What a piece of evidence is about.

A ``Subject`` in a record is the record's *claim*. The gate never believes it: it builds its own from event
metadata, the run index and git, and compares.

- Commit and tree ids are full hexadecimal object ids (40 or 64 digits); abbreviations are refused.
- ``tested_tree`` is the tree that the lane really had checked out; for ``tree = "merge"`` the gate
  recomputes it as the merge of ``head_sha`` and ``base_sha``.
- ``event`` is ``local`` for a working copy on a person's machine; such evidence never counts in CI.
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

from typing import NewType

import msgspec

CommitId = NewType("CommitId", str)
"""A full commit id in lower-case hexadecimal."""
TreeId = NewType("TreeId", str)
"""A full tree id in lower-case hexadecimal."""

EVENTS = ("pull_request", "merge_group", "push", "local")
_ID_DIGITS = (40, 64)  # of SHA-1 and SHA-256


def is_object_id(text: str) -> bool:
    """Whether ``text`` is a whole git object id, SHA-1 or SHA-256."""
    return len(text) in _ID_DIGITS and not text.strip("0123456789abcdef")


class Subject(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The commit, tree, base and run that a record speaks of."""

    repo: str
    """``owner/name`` of the repository that the change goes into; ``local`` for a working copy."""
    head_repo: str
    """``owner/name`` of the repository that the head commit lives in; differs from ``repo`` for forks."""
    pull_request: int | None
    """Number of the pull request, or null for a push, a merge group and a working copy."""
    head_sha: CommitId
    """The commit that asks to be merged; on ``merge_group`` the group's commit."""
    base_ref: str
    """Short name of the branch that the change goes into, such as ``main``."""
    base_sha: CommitId
    """The base commit that the lane tested against; on ``push`` the pushed commit itself."""
    head_tree: TreeId
    """The tree of ``head_sha``."""
    tested_tree: TreeId
    """The tree that was really tested."""
    run_id: int
    """The forge's id of the workflow run; 0 for a working copy."""
    run_attempt: int
    """The attempt of that run in which the lane's job started, counted from 1."""
    workflow: str
    """Path of the workflow file, such as ``.github/workflows/truegreen.yml``; empty for a working copy."""
    event: str
    """One of ``EVENTS``."""
    dirty: bool = False
    """Whether a working copy held changes that no commit holds."""
