# SPDX-License-Identifier: Apache-2.0
"""Every way to fool the gate fails, fails for its own reason, and works once its defences are switched off."""

import os

import pytest

from factories.defences import CHECKS, naive_intake, rules_without
from truegreen.core.outcome import Word
from truegreen.gate.intake import read_evidence
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import decide_stage, try_way
from truegreen.wiring.rehearsal.ways import WAYS

ENVIRONMENT = {"PATH": os.environ["PATH"]}
BY_ID = {way.id: way for way in WAYS}


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request for all rows: tricks put the clone's branches back."""
    return honest(tmp_path_factory.mktemp("stage"), ENVIRONMENT)


def answer(decision):
    """Word and leading code."""
    return (decision.word, decision.code)


def test_an_honest_pull_request_is_admitted(actors, tmp_path):
    """Without this no other row proves anything."""
    assert (Word.ADMIT, "all-lanes-hold") == answer(decide_stage(actors.stage, tmp_path, ENVIRONMENT))


@pytest.mark.parametrize("name", BY_ID)
def test_each_way_gets_its_own_answer(name, actors, tmp_path):
    """Being stopped by something else is not being stopped."""
    way = BY_ID[name]
    assert (way.word, way.code) == answer(try_way(way, actors, tmp_path / "evidence", ENVIRONMENT))


@pytest.mark.parametrize("name", BY_ID)
def test_each_way_works_without_its_defences(name, actors, tmp_path):
    """A row that stays red without its defences would prove nothing about them."""
    way = BY_ID[name]
    intake = naive_intake if "strict_archives" in way.defences else read_evidence
    made = try_way(way, actors, tmp_path / "evidence", ENVIRONMENT, rules_without(*way.defences), intake)
    assert (Word.ADMIT, "all-lanes-hold") == answer(made)


def test_no_two_rows_share_a_name():
    """Rows are named in reports."""
    assert len(WAYS) == len(BY_ID)


NAMED = sorted({name for way in WAYS for name in way.defences} & {name for _, name in CHECKS})


def said(decision):
    """Everything that a decision says, by code."""
    return (decision.word, [cause.code for cause in (*decision.causes, *decision.notes)])


@pytest.mark.parametrize("name", NAMED)
def test_a_missing_check_is_noticed(name, actors, tmp_path):
    """Taking one check away changes what at least one of the rows that name it says."""
    mine = [way for way in WAYS if name in way.defences]
    noticed = [
        way.id
        for way in mine
        if said(try_way(way, actors, tmp_path / "with" / way.id, ENVIRONMENT))
        != said(try_way(way, actors, tmp_path / "without" / way.id, ENVIRONMENT, rules_without(name)))
    ]
    assert noticed
