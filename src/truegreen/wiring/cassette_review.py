# SPDX-License-Identifier: Apache-2.0
"""What the working copy does to its recordings, beside what another commit has.

What it decides: which two folders are compared. What it leaves: the comparison, to ``cassettes.upkeep.review``.

- Base is where the working copy's history and the named revision part: what the other branch did meanwhile is not
  this change's.
- The working copy counts as it is on disk, committed or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegreen.cassettes.upkeep.review import Review, lines, review
from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted
from truegreen.forges.git import GitRepository
from truegreen.wiring.cassette_upkeep import as_json_lines, every_file_of
from truegreen.wiring.checkout import checkout_of


def reviewed(folder: Path, revision: str, environment: Mapping[str, str]) -> Review:
    """What was done to the recordings in ``folder`` since it parted from ``revision``.

    Raises: UsageProblem ``no-such-revision``; ``not-a-repository``; ReachProblem ``file-unreadable`` and those of git.
    """
    root = checkout_of(folder if folder.exists() else folder.parent) or folder.parent
    with GitRepository(root, environment) as git:
        prefix = f"{folder.resolve().relative_to(root.resolve()).as_posix()}/"
        head, other = git.resolve("HEAD"), git.resolve(revision)
        parted = git.merge_base(head, other) if head and other else None
        if parted is None:
            raise UsageProblem(
                "no-such-revision",
                f"{quoted(revision)} is no revision that this history comes from",
                hint="git fetch origin, then name the branch that this goes into, such as origin/main",
            )
        base = {
            entry.path.removeprefix(prefix): git.blob(entry.oid) if entry.mode.startswith("100") else None
            for entry in git.entries(git.tree_of(parted))
            if entry.path.startswith(prefix)
        }
    return review(base, every_file_of(folder))


def shown_review(found: Review, form: str) -> list[str]:
    """A review as text or as one JSON document, in lines."""
    if form == "text":
        return list(lines(found))
    return as_json_lines({"summary": found.line(), **msgspec.to_builtins(found)})
