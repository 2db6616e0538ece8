# SPDX-License-Identifier: Apache-2.0
"""What the gate was started for: the facts of one event, read from the forge's payload or a working copy.

What it decides: the shape that every forge adapter fills. What it leaves: reading payloads, to ``forges``.

- Nothing here comes from an artifact.
- ``group_base`` is set on ``merge_group`` alone: the commit that the group is built on.
- A pull request from another repository, or one whose runs Dependabot started, gets no secrets of the repository:
  no model can be asked there.

Source: GitHub Docs, "Using secrets in GitHub Actions" and "Troubleshooting Dependabot on GitHub Actions".
"""

from __future__ import annotations

import msgspec

DEPENDABOT = "dependabot[bot]"
"""The actor whose runs get no secrets, re-runs by other people included."""


class EventFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event."""

    event: str
    """``pull_request``, ``merge_group``, ``push`` or ``local``."""
    repo: str
    """``owner/name``; ``local`` for a working copy."""
    head_repo: str
    """Repository that the head lives in."""
    pull_request: int | None
    """Its number on ``pull_request``."""
    head_sha: str
    """The commit that asks to be merged."""
    base_ref: str
    """Short name of the branch that it goes into."""
    base_sha: str
    """The base commit that the payload names; the gate fetches the tip for itself."""
    group_base: str | None
    """``base_sha`` of a merge group's payload."""
    default_branch: str
    """The repository's default branch."""
    run_id: int
    """Run in which this process runs; 0 for a working copy."""
    run_attempt: int
    """Its attempt."""
    workflow: str
    """Path of its workflow file; empty for a working copy."""
    local: bool = False
    """Whether this is a working copy."""
    dirty: bool = False
    """Whether the working copy holds changes that no commit holds."""
    head_tree: str | None = None
    """Tree of a dirty working copy; otherwise the commit's own tree is asked of git."""
    actor: str = ""
    """Who started the first attempt of the run, where payload and variables name the same; else empty."""

    @property
    def is_keyless(self) -> bool:
        """Whether jobs of this event's runs get no key to a model."""
        is_fork = self.head_repo.casefold() != self.repo.casefold()
        return self.event == "pull_request" and (is_fork or self.actor == DEPENDABOT)
