# SPDX-License-Identifier: Apache-2.0
"""The screen: what it shows, and that nothing on it is obeyed. Whole screens stand under tests/golden/screens."""

from hypothesis import given, settings

from factories import decisions as made
from factories.hostile import hostile_decisions
from simulators.github_runner import commands_in
from truegreen.core.outcome import Outcome, Word
from truegreen.report.line import line_of
from truegreen.report.text import AT_A_GLANCE, MOST_ROWS, text_of


def test_the_line_comes_first():
    """Whoever reads one line reads the decision."""
    for defect in made.DEFECTS.values():
        assert line_of(defect()) == text_of(defect()).split("\n")[0].rstrip()


def test_a_large_suite_shows_what_does_not_pass_and_counts_the_rest():
    """A hundred passing cases are one line with what they prove."""
    row = made.broken()
    lanes = (made.lane((row, *made.good(100)), Outcome.FAILS, "case-broken"),)
    screen = text_of(made.decision(Word.BLOCK, (made.of_case(row, Word.BLOCK),), lanes))
    assert "  100 more cases pass (each better than half the time)\n" in screen
    assert "test_good_01" not in screen


def test_a_count_without_a_proof_claims_none():
    """Passing cases whose bound is unknown are counted only."""
    rows = tuple(made.case(f"t{n}", bound_low=None) for n in range(AT_A_GLANCE + 1))
    assert "  16 more cases pass\n" in text_of(
        made.decision(Word.ADMIT, (), (made.lane(rows, Outcome.HOLDS, "holds"),))
    )


def test_a_screen_ends_somewhere_and_says_so():
    """Of very many failing cases the first are shown; causes, rows and notes that are not are counted."""
    rows = tuple(made.broken(f"test_{n}") for n in range(MOST_ROWS + 7))
    causes = tuple(made.of_case(row, Word.BLOCK) for row in rows)
    screen = text_of(
        made.decision(
            Word.BLOCK, causes, (made.lane(rows, Outcome.FAILS, "x"),), notes=made.NOTES * (MOST_ROWS + 2)
        )
    )
    assert "  7 more causes stand in the decision's record\n" in screen
    assert "  7 more cases stand in the decision's record\n" in screen
    assert "  2 more notes stand in the decision's record\n" in screen


def test_where_nothing_is_known_nothing_is_said():
    """No endpoint, no tip, no pull request, no notes: their places are left out."""
    row = made.lane((), Outcome.UNKNOWN, "never-started", endpoint="", models_served=())
    told = made.decision(
        Word.HOLD,
        (made.of_lane("never-started"),),
        (row,),
        notes=(),
        about=made.about(base_tip="", pull_request=None),
    )
    screen = text_of(told)
    assert " tokens\n" in screen
    assert "\nnotes\n" not in screen
    assert "(acme/changelog-bot) into main, run 4711" in screen


@given(hostile_decisions())
@settings(max_examples=40)
def test_nothing_on_a_screen_is_obeyed(decision):
    """Neither by a terminal nor by a runner that reads the log."""
    screen = text_of(decision)
    assert [] == commands_in(screen)
    assert screen.replace("\n", "").isprintable()
    assert [] == [line for line in screen.split("\n") if line.lstrip().startswith("::") or "##[" in line]
