# SPDX-License-Identifier: Apache-2.0
"""Where this process runs, and which event it was started for.

- In GitHub Actions the event comes from the payload that the runner stored; elsewhere from the working copy.
- ``CI`` set to anything but nothing, ``0``, ``false`` or ``no`` means CI: a working copy's decision never counts
  there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.event import EventFacts
from truegreen.forges.git import GitRepository

NOT_CI = frozenset({"", "0", "false", "no"})


def is_ci(environment: Mapping[str, str]) -> bool:
    """Whether this runs in CI."""
    return environment.get("CI", "").lower() not in NOT_CI


def event_facts(
    source: str | None, base: str | None, git: GitRepository, environment: Mapping[str, str]
) -> EventFacts:
    """The event by ``source``: ``github``, ``git``, or None to tell by the environment.

    Raises: UsageProblem and EvidenceProblem of the adapters; ReachProblem ``file-unreadable``.
    """
    asked = source or ("github" if environment.get("GITHUB_ACTIONS") == "true" else "git")
    if asked == "git":
        # Each source is imported when it is asked: the gate's line should come soon.
        from truegreen.forges.working_copy import local_facts, working_copy  # noqa: PLC0415 - see above

        return local_facts(git, working_copy(git, untracked=True), base)
    if base is not None:
        raise UsageProblem(
            "base-with-github", f"--base {base} goes with --subject-from git, not with {asked}"
        )
    path = environment.get("GITHUB_EVENT_PATH", "")
    try:
        payload = Path(path).read_bytes()
    except OSError as err:
        raise ReachProblem(
            "file-unreadable",
            f"the event payload {path or '(GITHUB_EVENT_PATH is not set)'} cannot be read: {err.strerror}",
            hint="run inside of GitHub Actions, or use --subject-from git",
        ) from err
    from truegreen.forges.github import bind_github  # noqa: PLC0415 - see above

    return bind_github(payload, environment).facts
