# SPDX-License-Identifier: Apache-2.0
"""The errors of the house, by whose fault they are.

What it decides: the three families and the exit code of each. What it leaves: wording, to the place that
raises; printing and exiting, to the doors.

- ``UsageProblem``: the caller or a configuration file is wrong, exit 2.
- ``EvidenceProblem``: what we were given cannot count, exit 3 (``contradictory`` evidence: exit 1).
- ``ReachProblem``: disk, network or another program failed us, exit 3.

Every error has a kebab-case ``code`` with a paragraph of that name in ``docs/errors.md``, a message of one
lower-case sentence that holds both values (what was found, what was asked), and a ``hint`` that names the
next command.
"""

from __future__ import annotations

from typing import ClassVar


class TruegreenProblem(Exception):  # noqa: N818 - the field says "problem" for what a person can act on
    """Root of everything that truegreen raises on purpose."""

    exit_code: ClassVar[int] = 3

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        """Keep the stable code, the sentence and the next command."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """One line: the sentence and its code."""
        return f"{self.message} [{self.code}]"


class UsageProblem(TruegreenProblem):
    """The command line, the policy or another configuration file is wrong."""

    exit_code: ClassVar[int] = 2


class EvidenceProblem(TruegreenProblem):
    """A record, an archive or a forge's answer cannot count as evidence."""

    exit_code: ClassVar[int] = 3

    def __init__(self, code: str, message: str, *, hint: str = "", contradictory: bool = False) -> None:
        """``contradictory`` says that the evidence speaks against itself: block, not hold."""
        super().__init__(code, message, hint=hint)
        self.contradictory = contradictory


class ReachProblem(TruegreenProblem):
    """Disk, network, git or another program did not give what was asked."""

    exit_code: ClassVar[int] = 3


def not_in_this_version(what: str, *, hint: str = "truegreen policy show") -> UsageProblem:
    """The error for a key or verb whose behaviour is not built yet: never ignored, never half done."""
    return UsageProblem("not-in-this-version", f"{what} is not in this version of truegreen", hint=hint)


def extra_missing(what: str, extra: str, module: str | None) -> UsageProblem:
    """The error for what needs an optional part of the installation that is not there."""
    return UsageProblem(
        "extra-missing",
        f"{what} needs the module {module}, which comes with truegreen[{extra}]",
        hint=f"pip install 'truegreen[{extra}]'",
    )
