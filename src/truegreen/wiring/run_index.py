# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen run-index``: GitHub's API and the event go in, one file for the gate comes out.

- What is not named on the command line comes from the event that this workflow run was started for.
- The token is read from ``GITHUB_TOKEN``; without one a public repository can still be asked.
- The file is written also when the index is incomplete: the gate then says why it holds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from truegreen import version
from truegreen.core.canonical import write_json
from truegreen.core.errors import UsageProblem
from truegreen.core.index import RunIndex
from truegreen.core.ports import Clock, ForgePort
from truegreen.core.quoted import quoted
from truegreen.core.subject import is_object_id
from truegreen.forges.github import REPOSITORY, bind_github
from truegreen.forges.github_api import GitHubForge
from truegreen.forges.github_http import GithubApi
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.event import payload_of

PUBLIC_API = "https://api.github.com"
INSTEAD = "or name --repo, --head-sha and --pull-request"
"""What one can do outside of a workflow."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Whose index is fetched."""

    repo: str
    """``owner/name``."""
    head_sha: str
    """The head."""
    pull_requests: tuple[int, ...]
    """Its pull requests."""


def asked(
    repo: str | None,
    head_sha: str | None,
    pull_requests: tuple[int, ...],
    environment: Mapping[str, str] = os.environ,
) -> Asked:
    """What the command line says; without a repository and a head, what the event says.

    Raises: UsageProblem ``half-a-subject`` if only one of the two is named, ``bad-subject`` for other forms, or as
    ``bind_github``; EvidenceProblem as ``bind_github``; ReachProblem ``file-unreadable`` for the payload.
    """
    if (repo is None) != (head_sha is None) or (repo is None and pull_requests):
        raise UsageProblem(
            "half-a-subject",
            "--repo and --head-sha go together, and --pull-request goes with both",
            hint="name both, or neither to take the event's",
        )
    if repo is None or head_sha is None:
        event = bind_github(payload_of(environment, INSTEAD), environment)
        return Asked(repo=event.facts.repo, head_sha=event.facts.head_sha, pull_requests=event.pull_requests)
    if not REPOSITORY.fullmatch(repo) or not is_object_id(head_sha):
        raise UsageProblem(
            "bad-subject",
            f"asked is OWNER/NAME and a whole commit id, found {quoted(repo)} and {quoted(head_sha)}",
        )
    return Asked(repo=repo, head_sha=head_sha, pull_requests=tuple(dict.fromkeys(pull_requests)))


def fetched(
    about: Asked,
    workflows: tuple[str, ...],
    environment: Mapping[str, str] = os.environ,
    clock: Clock | None = None,
) -> RunIndex:
    """The run index of GitHub.

    Raises: UsageProblem ``bad-api-url``; ReachProblem ``forge-unreachable`` or ``forge-refused``.
    """
    api = GithubApi(
        environment.get("GITHUB_API_URL") or PUBLIC_API,
        environment.get("GITHUB_TOKEN") or None,
        agent=f"truegreen/{version()}",
    )
    try:
        forge: ForgePort = GitHubForge(api, workflows=workflows)
        return forge.run_index(
            repo=about.repo,
            head_sha=about.head_sha,
            pull_requests=about.pull_requests,
            now=(clock or SystemClock()).now(),
        )
    finally:
        api.close()


def store(index: RunIndex, path: Path) -> None:
    """Write the index as canonical JSON.

    Raises: ReachProblem ``disk-full`` or ``not-written``.
    """
    write_atomic(path, write_json(msgspec.to_builtins(index)))
