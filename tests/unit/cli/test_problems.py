# SPDX-License-Identifier: Apache-2.0
"""How a problem looks on the error stream."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.cli import problems
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.outcome import Exit


@given(st.text(), st.text())
def test_a_problem_is_one_line_and_its_hint_another(message, hint):
    """Whatever the message holds: no line end, no control character, no command that a runner obeys."""
    shown = problems.shown(UsageProblem("some-code", message, hint=hint))
    lines = shown.split("\n")
    assert (2 + bool(hint), "") == (len(lines), lines[-1])
    assert lines[0].startswith("truegreen: ")
    assert lines[0].endswith(" [some-code]")
    assert [] == [char for line in lines for char in line if not char.isprintable()]
    assert "##[" not in shown


def test_a_message_of_any_length_stays_readable():
    """The middle of a long message goes, its beginning and the code stay."""
    shown = problems.shown(UsageProblem("some-code", "x" * 100_000))
    assert ("truegreen: xxx", " [some-code]\n", True) == (shown[:14], shown[-13:], len(shown) < 1200)
    assert "… (100000 characters)" in shown


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (UsageProblem("a", "b"), Exit.USAGE),
        (ReachProblem("a", "b"), Exit.HOLD),
        (EvidenceProblem("a", "b"), Exit.HOLD),
        (EvidenceProblem("a", "b", contradictory=True), Exit.BLOCK),
    ],
)
def test_the_exit_code_is_that_of_the_family(problem, code):
    """Evidence that speaks against itself is a block; nothing is green."""
    assert code == problems.exit_code(problem)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("Missing argument 'PATH'.", "missing argument 'PATH'"),
        ("PATH is not there", "PATH is not there"),
        (
            "Invalid value for '--n': 'x'\nis not an integer.",
            "invalid value for '--n': 'x' is not an integer",
        ),
        ("", ""),
    ],
)
def test_what_click_says_becomes_one_of_our_sentences(said, message):
    """Lower case, one line, no full stop; the hint is the help of the command that was read."""
    problem = problems.from_click(click.UsageError(said), "truegreen gate")
    assert ("bad-command-line", message, "truegreen gate --help") == (
        problem.code,
        problem.message,
        problem.hint,
    )
