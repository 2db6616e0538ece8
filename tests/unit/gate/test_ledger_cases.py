# SPDX-License-Identifier: Apache-2.0
"""What a decision takes over from a ledger, however large the ledger says it is."""

import os
from dataclasses import replace

import msgspec
import pytest

from truegreen.core.canonical import MAX_SAFE_INTEGER
from truegreen.core.outcome import Word
from truegreen.report.as_json import read_decision
from truegreen.wiring.gate import decision_record
from truegreen.wiring.rehearsal import records
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import try_trick
from truegreen.wiring.rehearsal.tricks import body_of, record_of, rows, with_body


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request."""
    return honest(tmp_path_factory.mktemp("stage"), {"PATH": os.environ["PATH"]})


def test_a_lane_names_its_seal(actors, tmp_path):
    """Whoever reads an admit sees that nobody signed the records."""
    made = try_trick(lambda actors: actors.stage, actors, tmp_path / "x")
    assert [(Word.ADMIT, "unsigned")] == [(made.word, lane.seal) for lane in made.lanes]


def test_counts_that_no_record_can_hold_still_give_a_decision(actors, tmp_path):
    """Tokens that add up beyond what a record can say are shown as the most that it can."""

    def trick(actors):
        wire = body_of(record_of(actors)).wire
        wire = msgspec.structs.replace(
            wire, prompt_tokens=MAX_SAFE_INTEGER, completion_tokens=MAX_SAFE_INTEGER
        )
        return with_body(actors, wire=wire)

    made = try_trick(trick, actors, tmp_path / "x")
    again, _ = read_decision(decision_record(made, "1"))
    assert (made, [MAX_SAFE_INTEGER]) == (again, [lane.tokens for lane in made.lanes])


def test_calls_that_no_record_can_hold_still_give_a_decision(actors, tmp_path):
    """The samples' sum is told as text."""

    def trick(actors):
        cases = tuple(_calling(case) for case in body_of(record_of(actors)).cases)
        return with_body(actors, cases=cases)

    made = try_trick(trick, actors, tmp_path / "x")
    assert (Word.BLOCK, "calls-contradict") == (made.word, made.code)
    assert made == read_decision(decision_record(made, "1"))[0]


def _calling(case):
    """A case whose samples made as many calls as a record can say."""
    taken = tuple(msgspec.structs.replace(one, calls=MAX_SAFE_INTEGER) for one in case.samples)
    return msgspec.structs.replace(case, samples=taken)


def test_a_name_that_many_causes_share_is_repeated_in_short(actors, tmp_path):
    """A model that calls itself a megabyte does not fill the decision."""

    def trick(actors):
        failing = records.samples(actors.cast.failing())
        stage = rows(actors, tuple(records.case_row(name, failing) for name in actors.cast.ids))
        used = body_of(record_of(actors)).endpoint
        used = msgspec.structs.replace(used, models_served=("m" * 1_000_000,), host="h" * 1_000_000)
        return with_body(replace(actors, stage=stage), endpoint=used)

    made = try_trick(trick, actors, tmp_path / "x")
    assert (Word.BLOCK, "case-broken") == (made.word, made.code)
    assert {300} == {
        len(cause.facts[name]) for cause in made.causes if cause.case for name in ("served", "endpoint")
    }
