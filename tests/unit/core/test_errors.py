# SPDX-License-Identifier: Apache-2.0
"""The families of errors and the exit code of each."""

import pytest

from truegreen.core.errors import (
    EvidenceProblem,
    ReachProblem,
    TruegreenProblem,
    UsageProblem,
    not_in_this_version,
)


@pytest.mark.parametrize(
    ("family", "exit_code"),
    [(UsageProblem, 2), (EvidenceProblem, 3), (ReachProblem, 3), (TruegreenProblem, 3)],
)
def test_the_family_gives_the_exit_code(family, exit_code):
    """Whose fault it is decides; nothing of ours exits 0."""
    problem = family("some-code", "something is wrong", hint="truegreen why some-code")
    assert (exit_code, "some-code", "something is wrong", "truegreen why some-code") == (
        problem.exit_code,
        problem.code,
        problem.message,
        problem.hint,
    )


def test_a_problem_reads_as_its_sentence_and_its_code():
    """The code stands behind the sentence, for the reader who looks it up."""
    assert "something is wrong [some-code]" == str(UsageProblem("some-code", "something is wrong"))


def test_evidence_contradicts_itself_only_where_somebody_says_so():
    """Hold is the rule, block the exception that is asked for."""
    assert not EvidenceProblem("a", "b").contradictory
    assert EvidenceProblem("a", "b", contradictory=True).contradictory


def test_what_is_not_built_is_a_usage_problem_that_names_it():
    """Exit 2, the stable code, and where to look next."""
    problem = not_in_this_version("seal = 'ed25519'")
    assert (2, "not-in-this-version", "seal = 'ed25519' is not in this version of truegreen", True) == (
        problem.exit_code,
        problem.code,
        problem.message,
        problem.hint.startswith("truegreen "),
    )
