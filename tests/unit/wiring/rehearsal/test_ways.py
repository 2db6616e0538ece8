# SPDX-License-Identifier: Apache-2.0
"""Every way to fool the gate fails, fails for its own reason, and works once its defences are switched off."""

import pytest

from factories.defences import CHECKS
from truegreen.core.outcome import Word
from truegreen.report.explained import explain_code, explain_decision, shown_plain
from truegreen.report.reasons import catalogue
from truegreen.report.sentence import MISSING
from truegreen.report.story import Story
from truegreen.report.text import text_of
from truegreen.wiring.rehearsal.ways import WAYS

BY_ID = {way.id: way for way in WAYS}
NAMED = sorted({name for way in WAYS for name in way.defences} & {name for _, name in CHECKS})
"""Checks that stand in the way of at least one row."""


def answer(decision):
    """Word and leading code."""
    return (decision.word, decision.code)


def asserted(name, decision):
    """What the tests above ask of a row's decision: word, code, and what is told of the hostile file."""
    return (*answer(decision), BY_ID[name].told in {file.code for file in decision.files})


@pytest.mark.parametrize("name", BY_ID)
def test_each_way_gets_its_own_answer(name, tried):
    """Being stopped by something else is not being stopped."""
    assert (BY_ID[name].word, BY_ID[name].code) == answer(tried(name))


@pytest.mark.parametrize("name", BY_ID)
def test_no_sentence_lacks_a_fact(name, tried):
    """What a decision says is whole, in each of its sentences."""
    decision = tried(name)
    story = Story(decision)
    told = (*explain_decision(story), *map(explain_code, catalogue().values()))
    assert MISSING not in text_of(decision)
    assert [] == [
        one.reason.code for one in told if MISSING in one.sentence(shown_plain) + one.paragraph(shown_plain)
    ]


@pytest.mark.parametrize("name", [way.id for way in WAYS if way.told])
def test_each_hostile_file_is_called_what_it_is(name, tried):
    """What keeps a record from counting is told of the file itself, not only of the lane that misses it."""
    assert BY_ID[name].told in {file.code for file in tried(name).files}


@pytest.mark.parametrize("name", BY_ID)
def test_each_way_works_without_its_defences(name, tried):
    """A row that stays red without its defences would prove nothing about them."""
    assert (Word.ADMIT, "all-lanes-hold") == answer(tried(name, *BY_ID[name].defences))


@pytest.mark.parametrize("name", NAMED)
def test_a_missing_check_is_noticed(name, tried):
    """Taking one check away turns at least one row of ``test_each_way_gets_its_own_answer`` or its neighbour red."""
    mine = [way.id for way in WAYS if name in way.defences]
    assert any(asserted(way, tried(way)) != asserted(way, tried(way, name)) for way in mine)


def test_no_two_rows_share_a_name():
    """Rows are named in reports."""
    assert len(WAYS) == len(BY_ID)
