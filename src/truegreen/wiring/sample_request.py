# SPDX-License-Identifier: Apache-2.0
"""What ``truegreen sample`` is asked, and what the environment adds.

- The command line goes before ``SAMPLE_RUNS``, which goes before the policy.
- ``SAMPLE_RUNS`` and ``FLAKY_BUDGET`` are the article's; a value that is no count is an error, never a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from truegreen.core.errors import UsageProblem
from truegreen.core.policy import Lane
from truegreen.sampling.sequential import Rule, named

MOST_RUNS = 10_000


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """The command line of ``truegreen sample``."""

    cwd: Path
    """Folder in which it was called."""
    lane: str | None = None
    """Lane by name; None for the only one."""
    rule: str | None = None
    """``smoke`` or ``fixed``; None leaves it to the policy."""
    runs: int | None = None
    """Samples a case: the rule ``fixed`` with this n."""
    ledger: Path | None = None
    """Where the record goes; None for its usual place."""
    engine: str = "auto"
    """Which engine."""
    is_check: bool = False
    """Whether the merge table decides the exit code too."""
    earlier: tuple[Path, ...] = ()
    """Folders and zips with the records of earlier attempts."""
    run_index: Path | None = None
    """The stored run index."""
    subject_from: str | None = None
    """``github``, ``git``, or None to tell by the environment."""
    base: str | None = None
    """Base branch of a working copy."""
    part: str = "all"
    """Name of the lane's part."""
    slots: int | None = None
    """Samples in flight at once; None leaves it to the policy."""
    paths: tuple[str, ...] = field(default=())
    """Files and folders with tests, in place of the lane's."""


def rule_of(request: SampleRequest, lane: Lane, environment: Mapping[str, str]) -> Rule:
    """The stopping rule: options, then ``SAMPLE_RUNS``, then the lane.

    Raises: UsageProblem ``bad-count``, ``rules-contradict`` or what ``sequential.named`` raises.
    """
    runs = request.runs
    if runs is None and request.rule is None:
        runs = count_in(environment, "SAMPLE_RUNS", least=1)
    if runs is not None and request.rule == "smoke":
        raise UsageProblem(
            "rules-contradict",
            f"--runs {runs} asks for a fixed number and --rule smoke for samples until it is certain",
            hint="leave out one of them",
        )
    if runs is not None:
        return named("fixed", samples=runs)
    return named(request.rule or lane.rule, samples=lane.samples, cap=lane.cap)


def flaky_budget(environment: Mapping[str, str]) -> int | None:
    """``FLAKY_BUDGET``: how many unsteady cases ``--check`` lets pass, or None if nobody set it.

    Raises: UsageProblem ``bad-count``.
    """
    return count_in(environment, "FLAKY_BUDGET", least=0)


def count_in(environment: Mapping[str, str], name: str, *, least: int) -> int | None:
    """The count that a variable holds, or None if it is not set.

    Raises: UsageProblem ``bad-count`` for anything but a whole number from ``least`` to ``MOST_RUNS``.
    """
    text = environment.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and least <= int(text[:9]) <= MOST_RUNS):
        raise UsageProblem(
            "bad-count", f"{name} is {text[:40]!r}, asked is a whole number from {least} to {MOST_RUNS}"
        )
    return int(text)
