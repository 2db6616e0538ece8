# SPDX-License-Identifier: Apache-2.0
"""Explanations on a terminal. Whole screens stand under tests/golden/screens."""

from hypothesis import given, settings

from factories import decisions as made
from factories.hostile import hostile_decisions
from simulators.github_runner import commands_in
from truegreen.core.outcome import Outcome, Word
from truegreen.report.explained import explain_code, explain_decision
from truegreen.report.explanation_text import MOST, explanation_screen
from truegreen.report.line import line_of
from truegreen.report.reasons import catalogue
from truegreen.report.screen import plain_screen
from truegreen.report.story import Story


def _screen(decision):
    return plain_screen(explanation_screen(explain_decision(Story(decision)), line_of(decision)))


def test_the_decisions_line_stands_above_its_reasons():
    """Notes are one line each, at the end."""
    lines = _screen(made.several_defects()).split("\n")
    assert line_of(made.several_defects()) == lines[0]
    assert ["case-broken (block): Never passed", "case-flaky (hold): Unsteady"] == [
        line for line in lines if line.startswith(("case-broken", "case-flaky")) and line != lines[0]
    ][1:3]
    assert [
        "notes",
        "  the workflow that runs the gate is one that the change can edit  topology-editable",
    ] == lines[-3:-1]


def test_a_note_asked_for_by_its_code_is_explained_whole():
    """There is no decision whose other reasons would matter more."""
    screen = plain_screen(explanation_screen([explain_code(catalogue()["topology-editable"])]))
    assert screen.startswith("topology-editable (note): The change could edit its own gate\n")
    assert "\n  rule     Every decision says who could have edited the gate.\n" in screen


def test_very_many_reasons_are_explained_in_part():
    """The rest is counted."""
    rows = tuple(made.broken(f"t{n}", detail="one\n\ntwo\nthree\nfour") for n in range(MOST + 3))
    causes = tuple(made.of_case(row, Word.BLOCK) for row in rows)
    screen = _screen(made.decision(Word.BLOCK, causes, (made.lane(rows, Outcome.FAILS, "x"),), notes=()))
    assert screen.endswith("\n3 more reasons stand in the decision's record\n")
    assert "\n             one\n             two\n           lane" in screen


def test_left_out_evidence_is_counted():
    """Beside what is shown."""
    members = tuple(made.member(run_id=number) for number in range(30))
    lanes = (made.lane((), Outcome.UNKNOWN, "never-started", members=members),)
    assert " more in the decision's record\n" in _screen(
        made.decision(Word.HOLD, (made.of_lane("never-started"),), lanes)
    )


@given(hostile_decisions())
@settings(max_examples=40)
def test_nothing_in_an_explanation_is_obeyed(decision):
    """Neither by a terminal nor by a runner that reads the log."""
    screen = _screen(decision)
    assert [] == commands_in(screen)
    assert screen.replace("\n", "").isprintable()
