# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen policy``: finds the file that is meant, in the working copy or on the base, and reads it.

What it decides: which bytes are the policy of ``base``, of ``worktree`` or of a path. What it leaves: reading
them, to ``core.policy_read``; showing, to ``report.policy_page``.

- ``base`` is the tip of the branch that the work would go into: what the gate would read here.
- A path is read as a file and as nothing else: no pipe, no device.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from truegreen.core.errors import UsageProblem
from truegreen.core.policy import POLICY_FILE, SCHEMA, KindFacts, Policy
from truegreen.core.policy_read import policy_problems, read_policy
from truegreen.core.toml import MAX_BYTES
from truegreen.forges.git import GitRepository
from truegreen.forges.working_copy import default_branch
from truegreen.gate.kinds import KINDS, LATER
from truegreen.wiring.reading import beginning_of

BASE = "base"
WORKTREE = "worktree"
HINT = f'a policy is three lines: schema = "{SCHEMA}", [lanes.NAME], tests = "PATH"'


def known_kinds() -> dict[str, KindFacts]:
    """Every record kind of the design by name, with what a policy must know of it."""
    built = {name: KindFacts(model_backed=kind.model_backed, built=True) for name, kind in KINDS.items()}
    return {**LATER, **built}


def shown_policy(source: str, repository: Path, base: str | None) -> tuple[Policy, str]:
    """The policy that ``source`` means (``base``, ``worktree`` or a path), and where it was found, in words.

    Raises: UsageProblem ``no-policy``, ``no-base-branch`` or any of the reader; ReachProblem of git or disk.
    """
    if source == BASE:
        return _of_base(repository, base, os.environ)
    path = repository / POLICY_FILE if source == WORKTREE else Path(source)
    policy = read_policy(file_bytes(path), kinds=known_kinds(), name=path.name)
    return policy, f"the working copy ({path.name})" if source == WORKTREE else str(path)


def problems_of(path: Path) -> tuple[UsageProblem, ...]:
    """Everything that is wrong with the policy in a file.

    Raises: UsageProblem ``no-policy``; ReachProblem ``file-unreadable``.
    """
    return policy_problems(file_bytes(path), kinds=known_kinds(), name=str(path))


def file_bytes(path: Path) -> bytes:
    """Content of a policy file, no more than a reader looks at.

    Raises: UsageProblem ``no-policy`` if there is no such file; ReachProblem ``file-unreadable``.
    """
    data = beginning_of(path, MAX_BYTES + 1)
    if data is None:
        raise UsageProblem("no-policy", f"there is no file {path}", hint=HINT)
    return data


def _of_base(repository: Path, base: str | None, environment: Mapping[str, str]) -> tuple[Policy, str]:
    with GitRepository(repository, environment) as git:
        branch = base or default_branch(git)
        commit = git.resolve(branch) if branch else None
        if branch is None or commit is None:
            known = "the default branch is unknown" if branch is None else f"there is no branch {branch}"
            raise UsageProblem(
                "no-base-branch", known, hint="truegreen policy show --from base --base BRANCH"
            )
        entries = git.entries(git.tree_of(commit))
        found = next((entry for entry in entries if entry.path == POLICY_FILE), None)
        if found is None or not found.mode.startswith("100"):
            raise UsageProblem(
                "no-policy", f"{branch} at {commit[:12]} holds no file {POLICY_FILE}", hint=HINT
            )
        data = git.blob(found.oid)
    policy = read_policy(data, kinds=known_kinds(), name=f"{branch}:{POLICY_FILE}")
    return policy, f"{branch} at {commit}"
