# SPDX-License-Identifier: Apache-2.0
"""What a decision tells, before any medium."""

import msgspec
import pytest

from factories import decisions as made
from truegreen.core.decision import Cause
from truegreen.core.outcome import Outcome, Word
from truegreen.report.measured import measured
from truegreen.report.story import Story


def _as_it_is(_name, value):
    return str(value)


def test_the_leading_cause_comes_first_and_every_cause_once():
    """Also when a lighter one stands before it."""
    lighter, heavier = made.of_lane("never-started"), made.of_lane("two-jobs-one-name", Word.BLOCK)
    story = Story(made.decision(Word.BLOCK, (lighter, heavier), code=heavier.code))
    assert ((heavier, lighter), 1) == (story.causes, story.lead.others)


def test_an_admit_has_one_reason_with_what_was_measured():
    """The gate gives no cause for it; the rows know."""
    story = Story(made.admit())
    [cause] = story.causes
    assert ("all-lanes-hold", Word.ADMIT) == (cause.code, cause.word)
    assert measured(story.decision).items() <= story.facts(cause).items()
    assert "12 of 12 cases pass (each better than half the time)" == story.sentence(cause, _as_it_is)


@pytest.mark.parametrize(
    ("cause_owner", "row_owner", "lane_owner", "asked"),
    [("@c", "@r", "@l", "@c"), ("", "@r", "@l", "@r"), (None, None, "@l", "@l"), (None, None, None, None)],
)
def test_the_nearest_owner_is_asked(cause_owner, row_owner, lane_owner, asked):
    """The cause's own, then the case's, then the lane's."""
    row = made.broken(owner=row_owner)
    facts = {} if cause_owner is None else {"owner": cause_owner}
    cause = msgspec.structs.replace(made.of_case(row, Word.BLOCK), facts=facts)
    lanes = (made.lane((row,), Outcome.FAILS, "x", owner=lane_owner),)
    assert asked == Story(made.decision(Word.BLOCK, (cause,), lanes)).owner(cause)


def test_only_a_case_or_a_named_owner_is_led_with():
    """A lane as a whole blames nobody; a quarantine entry names its owner."""
    assert Story(made.cancelled_run()).lead.owner is None
    entry = Cause(code="quarantine-expired", word=Word.HOLD, facts={"id": "x", "expires": "d", "owner": "@q"})
    assert "@q" == Story(made.decision(Word.HOLD, (entry,))).lead.owner


def test_nobody_is_asked_about_an_outage():
    """Whatever the cause, the case or the lane says."""
    story = Story(made.outage())
    assert story.owner(story.lead.cause) is None


def test_a_case_of_another_lane_is_not_taken_for_it():
    """Two lanes may have a case of one id; a cause without a lane takes the first."""
    one, other = made.broken(passed=0), made.broken(passed=3)
    lanes = (
        made.lane((one,), Outcome.FAILS, "x", lane="a"),
        made.lane((other,), Outcome.FAILS, "x", lane="b"),
    )
    story = Story(made.decision(Word.BLOCK, (), lanes))
    cause = Cause(code="case-broken", word=Word.BLOCK, lane="b", case=one.id)
    assert other == story.row(cause)
    assert one == story.row(msgspec.structs.replace(cause, lane=None))
    assert story.row(msgspec.structs.replace(cause, case="gone")) is None
    assert story.row(msgspec.structs.replace(cause, case=None)) is None


def test_a_case_is_called_by_its_name_unless_two_share_it():
    """One id in two lanes is one case."""
    ids = ("a.py::t", "b.py::t", "b.py::u", "plain")
    rows = tuple(made.broken(id=one) for one in ids)
    lanes = tuple(made.lane(rows, Outcome.FAILS, "x", lane=name) for name in ("a", "b"))
    story = Story(made.decision(Word.BLOCK, (), lanes))
    assert ["a.py::t", "b.py::t", "u", "plain"] == [story.short(one) for one in ids]
    assert ["new", "c.py::t"] == [story.short(one) for one in ("c.py::new", "c.py::t")]


def test_what_speaks_against_a_merge_has_a_row_and_a_weight():
    """Causes of lanes and notes do not."""
    story = Story(made.several_defects())
    assert ["test_tone", "test_length", "test_json[de]", "test_cut"] == [
        story.short(row.id) for _, row in story.against
    ]
    assert [] == Story(made.flaky_and_excused()).against
