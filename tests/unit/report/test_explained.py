# SPDX-License-Identifier: Apache-2.0
"""What belongs to an explanation."""

import shlex

import msgspec

from factories import decisions as made
from truegreen.core.decision import Cause
from truegreen.core.outcome import Outcome, Word
from truegreen.report.explained import (
    MOST_EVIDENCE,
    explain_cause,
    explain_code,
    explain_decision,
    shown_plain,
)
from truegreen.report.reasons import catalogue
from truegreen.report.story import Story


def _lead(decision):
    return explain_decision(Story(decision))[0]


def test_a_code_is_explained_with_the_names_of_its_facts():
    """No decision, no evidence; every weight that it may have."""
    told = explain_code(catalogue()["case-high-blast"])
    assert ("block or hold", (), {}) == (told.word, told.evidence, told.facts)
    assert "CASE is unsteady (PASSED of ASKED) on a high-risk path" == told.sentence(shown_plain)
    assert ("truegreen sample --check CASE",) == told.commands()


def test_every_code_can_be_explained():
    """No sentence of the catalogue lacks a fact that it names."""
    for reason in catalogue().values():
        told = explain_code(reason)
        assert "?" not in told.sentence(shown_plain) + told.paragraph(shown_plain) + " ".join(told.commands())


def test_the_leading_cause_comes_first_and_notes_last():
    """All of them, each once."""
    told = explain_decision(Story(made.several_defects()))
    assert [
        "case-broken",
        "case-broken",
        "tests-removed",
        "case-flaky",
        "case-invalid",
        "topology-editable",
    ] == [one.reason.code for one in told]
    assert "note" == told[-1].word


def test_a_case_rests_on_its_counts_the_attempt_and_the_file():
    """Which samples, which run, which bytes."""
    told = _lead(made.broken_case())
    assert [
        {
            "case": "tests/llm/test_notes.py::test_tone",
            "passed": 0,
            "asked": 5,
            "state": "never-passed",
            "proves": "works at most 46 % of the time (95 % sure)",
            "in bucket fail": 5,
            "in bucket pass": 0,
            "expected and got": 'expected key "tone"; got {"mood": "fine"}',
        },
        {
            "lane": "model-tests",
            "part": "all",
            "run": made.RUN,
            "attempt": 2,
            "standing": "present",
            "record": made.digest("a"),
        },
        {
            "file": "model-tests.all.2.truegreen.json",
            "in": "truegreen.model-tests.all.2.zip",
            "standing": "accepted",
            "digest": made.digest("a"),
        },
    ] == list(told.evidence)
    assert "@ana" == told.owner


def test_a_missing_record_rests_on_the_attempt_that_lacks_it():
    """Nothing is there to have a digest."""
    [piece] = _lead(made.cancelled_run()).evidence
    assert ("missing", False) == (piece["standing"], "record" in piece)


def test_a_cause_about_a_file_rests_on_that_file_only():
    """Other files of the lane did nothing wrong; the code says why this one does not count."""
    decision = made.forged_tally()
    decision = msgspec.structs.replace(decision, files=(made.seen(name="other"), *decision.files))
    files = [piece for piece in _lead(decision).evidence if "file" in piece]
    assert [("model-tests.all.2.truegreen.json", "ledger-contradicts")] == [
        (f["file"], f["code"]) for f in files
    ]


def test_a_cause_about_a_part_rests_on_that_part_only():
    """Attempts of other parts are not its evidence."""
    members = (made.member(part="one"), made.member(part="two"))
    lanes = (made.lane((), Outcome.UNKNOWN, "missing-record", members=members),)
    decision = made.decision(Word.HOLD, (made.of_lane("missing-record", part="two"),), lanes, files=())
    assert ["two"] == [piece["part"] for piece in _lead(decision).evidence]


def test_an_admit_rests_on_the_records_of_the_required_lanes():
    """An advisory lane's record is not why it could be."""
    lanes = (
        made.lane(made.good(2), Outcome.HOLDS, "holds"),
        made.lane(
            (), Outcome.HOLDS, "holds", lane="extra", role="advisory", members=(made.member(lane="extra"),)
        ),
    )
    told = _lead(made.decision(Word.ADMIT, (), lanes))
    assert ["model-tests"] == [piece["lane"] for piece in told.evidence if "lane" in piece]
    assert ("admit", "") == (told.word, told.action)


def test_much_evidence_is_named_in_part_and_counted():
    """A decision of very many attempts still has an explanation that one can read."""
    members = tuple(made.member(run_id=number) for number in range(MOST_EVIDENCE + 5))
    lanes = (made.lane((), Outcome.UNKNOWN, "never-started", members=members),)
    told = _lead(made.decision(Word.HOLD, (made.of_lane("never-started"),), lanes, files=()))
    assert (MOST_EVIDENCE, 5) == (len(told.evidence), told.left_out)


def test_an_explanation_does_not_send_its_reader_to_itself():
    """The line's advice to read on is left out here."""
    assert ["fix it", "steady or quarantine it", "press Re-run all jobs"] == [
        _lead(decision).action for decision in (made.broken_case(), made.flaky_case(), made.outage())
    ]


def test_a_command_takes_a_hostile_id_as_one_word():
    """Pasted into a shell it runs nothing of the id."""
    row = made.broken(id=made.HOSTILE)
    cause = made.of_case(row, Word.BLOCK)
    decision = made.decision(Word.BLOCK, (cause,), (made.lane((row,), Outcome.FAILS, "case-broken"),))
    [command] = explain_cause(Story(decision), cause).commands()
    assert ["truegreen", "sample", "--check"] == shlex.split(command)[:3]
    assert 4 == len(shlex.split(command))
    assert command.isprintable()


def test_a_code_that_nobody_knows_is_explained_as_such():
    """A decision of a newer version: its weight stands, its words are missing."""
    cause = Cause(code="bus-late", word=Word.BLOCK, facts={"problem": "x"})
    told = _lead(made.decision(Word.BLOCK, (cause,)))
    assert ("block", "this version does not know the reason bus-late: x") == (
        told.word,
        told.sentence(shown_plain),
    )
