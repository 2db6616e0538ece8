# SPDX-License-Identifier: Apache-2.0
"""The folds of a page."""

from factories import decisions as made
from truegreen.report.folds import Rows, folds_of, next_commands
from truegreen.report.story import Story


def _titles(decision):
    return [fold[0].removeprefix("<details><summary>") for fold in folds_of(Story(decision), Rows(99))]


def test_each_case_with_an_answer_has_a_fold_of_its_own():
    """Then the agent's, then the record; a case without a detail has none."""
    assert [
        "Expected and got: <code>test_tone</code></summary>",
        "Expected and got: <code>test_json[de]</code></summary>",
        "Expected and got: <code>test_cut</code></summary>",
        "For a coding agent</summary>",
        "Codes, digests, attempts, files</summary>",
    ] == _titles(made.several_defects())


def test_an_excused_case_does_not_speak_against_the_merge():
    """Its note has no fold."""
    assert ["Codes, digests, attempts, files</summary>"] == _titles(made.flaky_and_excused())


def test_a_command_quotes_its_facts_for_a_shell():
    """Brackets of a parameter are no pattern."""
    story = Story(made.flaky_case())
    assert ["`truegreen sample --check 'tests/llm/test_notes.py::test_json[de]'`"] == next_commands(
        story, story.lead.cause
    )


def test_rows_that_do_not_fit_are_counted_under_their_name():
    """A list that fits is not counted."""
    rows = Rows(2)
    assert ([1, 2], [3]) == (rows.few("a", [1, 2, 5]), rows.few("b", [3]))
    assert {"a": 1} == rows.left_out


def test_the_record_names_attempts_files_and_digests():
    """What was decided on, in full."""
    [*_, record] = folds_of(Story(made.stale_evidence()), Rows(9))
    text = "\n".join(record)
    assert f"| `model-tests` | `all` | {made.RUN} | 2 | missing |  |" in text
    assert f"| stale | `stale-head` | `{made.digest('a')}` |" in text
    assert f"Head `{made.HEAD}`" in text
