# SPDX-License-Identifier: Apache-2.0
"""The one line: which words, in which order, and what survives when room is short."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories import decisions as made
from truegreen.core.decision import Cause
from truegreen.core.outcome import Outcome, Word
from truegreen.report.line import LIMIT, line_of
from truegreen.report.reasons import catalogue, reason_of

LINES = {
    "none": "ADMIT 12 of 12 cases pass (each better than half the time) · 74 calls, 26 s · 3f2c1d9",
    "broken-case": "BLOCK test_tone never passed here: 0 of 5 · owner @ana · fix it, or: truegreen why",
    "several-defects": (
        "BLOCK test_tone never passed here: 0 of 5 (and 4 more) · owner @ana · fix it, or: truegreen why"
    ),
    "flaky-case": (
        "HOLD  test_json[de] is unsteady: 20 of 26 passed · owner @bo · steady or quarantine it: truegreen why"
    ),
    "flaky-and-excused": (
        "ADMIT 11 of 12 cases pass (each better than half the time), 1 excused by quarantine"
        " · 94 calls, 31 s · 3f2c1d9"
    ),
    "outage": (
        "HOLD  endpoint down: 31 of 40 calls failed, nothing decided about 12 cases · press Re-run all jobs"
    ),
    "no-policy": (
        "HOLD (observe) main has no policy yet, so nothing says what must hold · merge truegreen.toml first"
    ),
    "one-lane-fails": "FAILS test_tone never passed here: 0 of 5 · owner @ana · fix it, or: truegreen why",
}


@pytest.mark.parametrize("defect", sorted(LINES))
def test_the_line_says_word_cause_and_action(defect):
    """Plain words: what happened, whose it is, what to press."""
    assert LINES[defect] == line_of(made.DEFECTS[defect]())


@pytest.mark.parametrize(
    ("word", "said"), [(Word.ADMIT, "HOLDS"), (Word.HOLD, "UNKNOWN"), (Word.BLOCK, "FAILS")]
)
def test_one_lane_alone_is_never_an_admit(word, said):
    """A decision about one lane says what that lane does, whatever the word inside."""
    causes = () if word is Word.ADMIT else (made.of_lane("never-started", word),)
    lanes = (made.lane(made.good(2), Outcome.HOLDS, "holds"),)
    line = line_of(made.decision(word, causes, lanes, only_lane="model-tests"))
    assert said == line.split()[0]
    assert "ADMIT" not in line


def test_an_admit_claims_no_more_than_a_small_sample_gives():
    """Three of three passes leave 36 % possible, and the line says so."""
    rows = tuple(made.case(f"t{n}", 3, 3, bound_low=0.36) for n in range(2))
    line = line_of(
        made.decision(Word.ADMIT, (), (made.lane(rows, Outcome.HOLDS, "holds", calls=6, wall_ms=400),))
    )
    assert "ADMIT 2 of 2 cases pass (each more than 36 % of the time) · 6 calls, 0.4 s · 3f2c1d9" == line


def test_an_admit_counts_required_lanes_only():
    """An advisory lane adds neither cases nor calls."""
    lanes = (
        made.lane(made.good(1), Outcome.HOLDS, "holds", calls=6),
        made.lane((made.broken(),), Outcome.FAILS, "case-broken", lane="extra", role="advisory", calls=90),
    )
    assert "ADMIT 1 of 1 case passes (better than half the time) · 6 calls, 26 s · 3f2c1d9" == line_of(
        made.decision(Word.ADMIT, (), lanes)
    )


def test_an_admit_without_cases_counts_lanes():
    """Lanes that hold without samples are not told as cases."""
    lanes = (made.lane((), Outcome.HOLDS, "holds", calls=0, wall_ms=0),)
    assert "ADMIT 1 of 1 required lanes hold · 0 calls, 0.0 s · 3f2c1d9" == line_of(
        made.decision(Word.ADMIT, (), lanes)
    )


def test_a_working_copy_says_so():
    """Nobody takes a preview for a check."""
    assert line_of(made.working_copy()).endswith(" · 3f2c1d9, working copy")


def test_two_cases_of_one_name_are_told_apart():
    """A short name that two files share is shown with its file."""
    one, other = made.broken("test_a"), made.broken(id="tests/llm/other.py::test_a")
    told = made.decision(
        Word.BLOCK, (made.of_case(one, Word.BLOCK),), (made.lane((one, other), Outcome.FAILS, "case-broken"),)
    )
    assert (
        "BLOCK tests/llm/test_notes.py::test_a never passed here: 0 of 5 · owner @ana · fix it, or: truegreen why"
        == line_of(told)
    )


def test_a_case_without_a_file_keeps_its_name():
    """An id of another shape is shown whole."""
    row = made.broken(id="tone", owner=None)
    told = made.decision(
        Word.BLOCK,
        (made.of_case(row, Word.BLOCK),),
        (made.lane((row,), Outcome.FAILS, "case-broken", owner=None),),
    )
    assert "BLOCK tone never passed here: 0 of 5 · fix it, or: truegreen why" == line_of(told)


def test_the_lanes_owner_is_asked_where_a_case_has_none():
    """Case before lane."""
    row = made.broken(owner=None)
    told = made.decision(
        Word.BLOCK, (made.of_case(row, Word.BLOCK),), (made.lane((row,), Outcome.FAILS, "case-broken"),)
    )
    assert " · owner @team-notes · " in line_of(told)


def test_nobody_is_blamed_for_an_outage():
    """Though the cause names a case that has an owner."""
    row = made.broken()
    cause = Cause(code="case-outage", word=Word.HOLD, case=row.id, facts={"failed": 3, "calls": 3})
    line = line_of(made.decision(Word.HOLD, (cause,), (made.lane((row,), Outcome.UNKNOWN, cause.code),)))
    assert (
        "HOLD  endpoint down: test_tone could not be asked often enough (3 of 3 calls failed) · press Re-run all jobs"
        == line
    )


def test_the_cause_that_the_decision_names_leads():
    """Not a lighter one that happens to stand first."""
    lighter, heavier = made.of_lane("never-started"), made.of_lane("two-jobs-one-name", Word.BLOCK)
    told = made.decision(Word.BLOCK, (lighter, heavier), code="two-jobs-one-name")
    assert (
        "BLOCK two jobs have the name that lane model-tests waits for (and 1 more) · give each job a name of its own"
        == line_of(told)
    )


def test_a_decision_without_causes_still_has_a_line():
    """Its own code speaks; facts that nobody brought read as question marks."""
    assert "HOLD  lane ? never ran · press Re-run all jobs" == line_of(
        made.decision(Word.HOLD, (), code="never-started")
    )


def test_a_code_that_nobody_knows_still_has_a_line():
    """A decision of a newer version is told, not refused."""
    assert (
        "BLOCK this version does not know the reason bus-late · use the version that decided: truegreen why"
        == line_of(made.decision(Word.BLOCK, (), code="bus-late"))
    )


def test_names_are_shortened_before_anything_is_left_out():
    """A long id keeps its beginning and its parameter, and the counts stay."""
    row = made.broken("test_" + "long_" * 40 + "[de]")
    line = line_of(
        made.decision(
            Word.BLOCK, (made.of_case(row, Word.BLOCK),), (made.lane((row,), Outcome.FAILS, "case-broken"),)
        )
    )
    assert line.startswith("BLOCK test_long_long_")
    assert "…" in line
    assert line.endswith("[de] never passed here: 0 of 5 · owner @ana · fix it, or: truegreen why")


def test_a_list_of_ids_is_told_by_names():
    """Files are left out; an id of another shape stays."""
    cause = made.of_lane("tests-unannounced", ids="a/b.py::test_x[1], tone", count=2)
    line = line_of(made.decision(Word.HOLD, (cause,)))
    assert (
        "HOLD  new tests are not in the baseline (2): test_x[1], tone · run truegreen ledger baseline, commit it"
        == line
    )


def test_what_cannot_be_shortened_loses_its_end():
    """The action stays; the cause ends in an ellipsis."""
    cause = made.of_lane("sequences-unknown")
    line = line_of(made.decision(Word.HOLD, (cause,), only_lane="model-tests", mode="observe"))
    assert (
        "UNKNOWN (observe) how often this was sampled before is unknown, so the error rate holds per run…"
        " · store the list of runs before the gate" == line
    )


TEXT = st.text(max_size=300) | st.sampled_from([made.HOSTILE, "x" * 500, "👍🏽" * 90, "a b " * 99, ""])


@given(
    code=st.sampled_from([*catalogue(), "unknown-code"]),
    word=st.sampled_from(Word),
    asked=st.tuples(st.sampled_from([None, "l"]), st.sampled_from(["observe", "enforce"])),
    others=st.sampled_from([0, 3]),
    data=st.data(),
)
def test_every_line_is_one_short_line_with_word_and_action(code, word, asked, others, data):
    """Whatever the facts hold: at most 140 characters, the word first, the action last, nothing that is obeyed."""
    only_lane, mode = asked
    reason = reason_of(code)
    facts = data.draw(
        st.fixed_dictionaries({}, optional={name: TEXT | st.integers(0, 2**53) for name in reason.facts})
    )
    case = data.draw(st.none() | TEXT)
    cause = Cause(code=code, word=word, lane=data.draw(st.none() | TEXT), case=case, facts=facts)
    row = made.broken(id=case or "x", owner=data.draw(st.none() | TEXT))
    decision = made.decision(
        word,
        (cause, *[made.of_lane("never-started", word)] * others),
        (made.lane((row,), Outcome.FAILS, code, calls=2**53, wall_ms=2**53, lane=cause.lane or "l"),),
        only_lane=only_lane,
        mode=mode,
        about=made.about(local=True, head_sha=data.draw(TEXT)),
    )
    line = line_of(decision)
    words = {Word.ADMIT: ("ADMIT", "HOLDS"), Word.HOLD: ("HOLD", "UNKNOWN"), Word.BLOCK: ("BLOCK", "FAILS")}
    assert words[word][only_lane is not None] == line.split()[0]
    assert (mode == "observe") == line.startswith(f"{line.split()[0]} (observe) ")
    assert len(line) <= LIMIT
    assert line.isprintable()
    assert "##[" not in line
    if word is not Word.ADMIT:
        assert line.endswith(f" · {reason.action}")


def test_the_line_is_made_from_the_rest_of_the_decision():
    """A line that the decision already carries is not read: it cannot speak for itself."""
    told = made.broken_case()
    assert line_of(told) == line_of(msgspec.structs.replace(told, line="ADMIT everything is fine"))
