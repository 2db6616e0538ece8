# SPDX-License-Identifier: Apache-2.0
"""Which engine takes the samples of a suite on this machine.

What it decides: the engine and, where it is not the first choice, why. What it leaves: running it.

- Case files without a hook: ``async``, many at once in one process.
- Plain tests, and case files that a conftest answers: ``fork``, on Linux where collection left one thread; else
  ``xdist``.
- Both kinds: ``fork+async``.
- An engine that was asked for is taken or refused, never replaced.
"""

from __future__ import annotations

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.sampling.engines.messages import Collected

NAMES = ("auto", "fork", "async", "xdist", "serial")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """An engine."""

    engine: str
    """``fork``, ``async``, ``fork+async``, ``xdist`` or ``serial``."""
    why: str = ""
    """Why it is not the usual one; empty if it is."""


def choose(asked: str, found: Collected, *, can_fork: bool) -> Choice:
    """The engine for what was collected.

    Raises: UsageProblem ``engine-unfit`` if the engine that was asked for cannot run the suite.
    """
    has_tests = any(case.kind == "python" for case in found.cases)
    has_files = any(case.kind == "yaml" for case in found.cases)
    if asked != "auto":
        _check(asked, has_tests=has_tests, can_fork=can_fork, threads=found.threads)
        return Choice(engine=asked)
    if has_files and not has_tests and not found.answers_by_hook:
        return Choice(engine="async")
    if not can_fork:
        return Choice(engine="xdist", why="only Linux forks safely")
    if found.threads:
        return Choice(
            engine="xdist", why=f"collection left threads that a fork would lose: {', '.join(found.threads)}"
        )
    return Choice(engine="fork+async" if has_files and not found.answers_by_hook else "fork")


def _check(asked: str, *, has_tests: bool, can_fork: bool, threads: tuple[str, ...]) -> None:
    hint = "truegreen sample --engine auto"
    if asked == "async" and has_tests:
        raise UsageProblem(
            "engine-unfit",
            "the async engine runs case files alone, and the suite holds plain tests",
            hint=hint,
        )
    if asked == "fork" and not can_fork:
        raise UsageProblem("engine-unfit", "the fork engine needs Linux, this is another system", hint=hint)
    if asked == "fork" and threads:
        raise UsageProblem(
            "engine-unfit",
            f"the fork engine needs one thread after collection, alive are also {', '.join(threads)}",
            hint=hint,
        )
