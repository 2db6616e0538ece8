# SPDX-License-Identifier: Apache-2.0
"""How a problem looks on a terminal: one line that says what, one that says what to do.

What it decides: the shape of an error on the error stream. What it leaves: its words, to the place that raised.

- One line each, whatever a file name or a message brought along: control characters, line ends and
  direction marks are shown as escapes, so that they can neither move a cursor nor begin a workflow command.
"""

from __future__ import annotations

import click

from truegreen.core.errors import EvidenceProblem, TruegreenProblem, UsageProblem
from truegreen.core.outcome import Exit

WORKFLOW_COMMAND = "##["
"""The older syntax of workflow commands, which a runner obeys anywhere in a line."""

LONGEST = 1000
"""Characters of a message that are shown."""


def shown(problem: TruegreenProblem) -> str:
    """The problem as one or two lines, each ended by LF."""
    lines = [f"truegreen: {in_one_line(problem.message)} [{problem.code}]\n"]
    if problem.hint:
        lines.append(f"  hint: {in_one_line(problem.hint)}\n")
    return "".join(lines)


def in_one_line(text: str) -> str:
    """The text with every character that is not printable written as an escape, cut if it is long."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… ({len(text)} characters)"
    escaped = "".join(char if char.isprintable() else _escape(char) for char in text)
    return escaped.replace(WORKFLOW_COMMAND, "##\\[")


def exit_code(problem: TruegreenProblem) -> Exit:
    """The family's code; evidence that speaks against itself is a block."""
    if isinstance(problem, EvidenceProblem) and problem.contradictory:
        return Exit.BLOCK
    return Exit(problem.exit_code)


def from_click(err: click.ClickException, command: str) -> UsageProblem:
    """What click has against the command line, in our words; ``command`` is the one that was read."""
    message = " ".join(err.format_message().split()).removesuffix(".")
    if message[:1].isupper() and not message[1:2].isupper():
        message = message[:1].lower() + message[1:]
    return UsageProblem("bad-command-line", message, hint=f"{command} --help")


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
