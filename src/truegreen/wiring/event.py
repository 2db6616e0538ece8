# SPDX-License-Identifier: Apache-2.0
"""Where this process runs, and which event it was started for.

- In GitHub Actions the event comes from the payload that the runner stored; elsewhere from the working copy.
- ``CI``, or the variable that a known runner sets, with anything but nothing, ``0``, ``false`` or ``no`` in it means
  CI: a working copy's decision never counts there. Jobs set ``CI`` to ``false`` for other tools' sake.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truegreen.core.canonical import DEFAULT
from truegreen.core.errors import UsageProblem
from truegreen.core.event import EventFacts
from truegreen.forges.git import GitRepository
from truegreen.wiring.reading import bytes_of

NOT_CI = frozenset({"", "0", "false", "no"})
MARKS_OF_CI = (
    "CI",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "BITBUCKET_BUILD_NUMBER",
    "BUILDKITE",
    "CIRCLECI",
    "CODEBUILD_BUILD_ID",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "TF_BUILD",
)
"""Variables that runners set."""


def is_ci(environment: Mapping[str, str]) -> bool:
    """Whether this runs in CI."""
    return any(environment.get(name, "").lower() not in NOT_CI for name in MARKS_OF_CI)


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
    from truegreen.forges.github import bind_github  # noqa: PLC0415 - see above

    return bind_github(payload_of(environment, "or use --subject-from git"), environment).facts


def payload_of(environment: Mapping[str, str], instead: str) -> bytes:
    """The payload that the runner stored; ``instead`` says what one can do without.

    Raises: UsageProblem ``not-in-github``; ReachProblem ``file-unreadable``.
    """
    path = environment.get("GITHUB_EVENT_PATH", "")
    if not path:
        raise UsageProblem(
            "not-in-github",
            "the variable GITHUB_EVENT_PATH is empty or not set, a workflow has it",
            hint=f"run it in a workflow, {instead}",
        )
    return bytes_of(Path(path), DEFAULT.max_bytes + 1)
