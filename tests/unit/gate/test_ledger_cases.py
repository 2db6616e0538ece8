# SPDX-License-Identifier: Apache-2.0
"""What the pooled samples of each case prove, and what follows: word, cause, note and row."""

from dataclasses import replace

import msgspec
import pytest

from truegreen.core.canonical import MAX_SAFE_INTEGER
from truegreen.core.outcome import Outcome, Word
from truegreen.core.policy import BASELINE_FILE, QUARANTINE_FILE
from truegreen.core.policy_read import read_policy
from truegreen.gate.decide import RULES
from truegreen.report.as_json import read_decision
from truegreen.sampling.ledger import CaseSamples, Link, RuleUsed
from truegreen.wiring.gate import decision_record
from truegreen.wiring.rehearsal import records
from truegreen.wiring.rehearsal.chains import link, second_attempt
from truegreen.wiring.rehearsal.heads import with_head
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.records import baseline_text, case_row, samples
from truegreen.wiring.rehearsal.run import decide_stage, try_trick
from truegreen.wiring.rehearsal.setting import SMALL, setting
from truegreen.wiring.rehearsal.tricks import body_of, every_case, path_of, put, record_of, rows, with_body

FLAKY = "pppppfpppfppppfff"
"""Works mostly and not always: 12 of 17, and not certain before; a lane of two cases."""


def told(decision):
    """(code, word) of every cause."""
    return [(cause.code, cause.word) for cause in decision.causes]


def entry(actors, expires="2026-01-10"):
    """A live entry for the first case."""
    return (
        'schema = "truegreen/quarantine/v1"\n[[entry]]\n'
        f'id = "{actors.cast.ids[0]}"\nlane = "{actors.lane.name}"\nowner = "@a"\nreason = "varies"\n'
        f'ticket = "T-1"\nsince = 2025-12-30\nexpires = {expires}\n'
    )


def flaky(actors):
    """The first case works mostly, the second always."""
    first, second = actors.cast.ids
    taken = samples(FLAKY), samples(actors.cast.passing())
    return rows(actors, (case_row(first, taken[0]), case_row(second, taken[1])))


def quarantined(actors):
    """The flaky case is in base's quarantine."""
    files = {**actors.files, QUARANTINE_FILE: entry(actors)}
    before = {**files, actors.setting.program: "ANSWER = 1\n"}
    base = actors.stage.git.commit(before, (actors.base,), "main")
    return flaky(with_head(replace(actors, base=base), files))


def test_passing_cases_are_rows_with_what_they_prove(decided, actors):
    """How many of how many, the bound and its words; nothing is told against them."""
    made = decided(lambda actors: actors.stage)
    [lane] = made.lanes
    assert (Word.ADMIT, Outcome.HOLDS, "holds") == (made.word, lane.outcome, lane.code)
    assert [(name, 6, 6, "stable-pass", "merge") for name in actors.cast.ids] == [
        (row.id, row.passed, row.asked, row.state, row.then) for row in lane.cases
    ]
    assert all(0.5 <= row.bound_low <= 1.0 and row.proves for row in lane.cases)


def test_a_flaky_case_holds_until_a_live_entry_of_base_excuses_it(decided, actors):
    """The excuse is a note with its end."""
    before, after = decided(flaky), decided(quarantined)
    assert [("case-flaky", Word.HOLD)] == told(before)
    [note] = [note for note in after.notes if note.code == "case-quarantined"]
    assert (Word.ADMIT, "2026-01-10T00:00:00Z") == (after.word, note.facts["expires"])
    assert (
        "2026-01-10T00:00:00Z" == next(row for row in after.lanes[0].cases if row.excused_until).excused_until
    )


@pytest.mark.parametrize(
    ("now", "code"),
    [
        ("2025-12-29T23:59:59Z", "case-flaky"),
        ("2026-01-01T12:00:00Z", "all-lanes-hold"),
        ("2026-01-09T23:59:59Z", "all-lanes-hold"),
        ("2026-01-10T00:00:00Z", "quarantine-expired"),
    ],
)
def test_an_entry_excuses_from_its_first_instant_to_the_one_before_its_end(actors, tmp_path, now, code):
    """The instant of expiry is expired, and from then on it holds everybody."""
    stage = quarantined(actors)
    issued = min(now, record_of(actors).issued_at)
    jobs = [job for run in stage.index.runs for job in run.attempts[0].jobs]
    early = tuple(msgspec.structs.replace(job, started_at=issued) for job in jobs)
    [run] = stage.index.runs
    attempt = msgspec.structs.replace(run.attempts[0], jobs=early)
    listed = msgspec.structs.replace(stage.index, runs=(msgspec.structs.replace(run, attempts=(attempt,)),))
    path = path_of(actors)
    record = msgspec.structs.replace(stage.ledgers[path], issued_at=issued)
    stage = replace(stage.with_evidence(path, record), index=listed, now=now)
    try:
        assert code == decide_stage(stage, tmp_path).code
    finally:
        actors.stage.git.branch("main", actors.base)


@pytest.mark.parametrize(("passes", "code"), [(6, "interrupted"), (9, "all-lanes-hold")])
def test_an_attempt_that_left_nothing_spends_a_sequence(actors, decided, passes, code):
    """Nine passes in a row where six are certain in the first sequence."""

    def left_none(actors):
        chain = (link(actors, "left-none"),)
        cases = tuple(case_row(name, samples("p" * passes)) for name in actors.cast.ids)
        stage = second_attempt(actors, actors.ledger_of(cases, 2, chain=chain, j=2))
        [run] = stage.index.runs
        first = msgspec.structs.replace(run.attempts[0], artifacts=())
        run = msgspec.structs.replace(run, attempts=(first, run.attempts[1]))
        return replace(stage, index=msgspec.structs.replace(stage.index, runs=(run,)))

    assert code == decided(left_none).code


def test_a_consulted_lane_is_not_excused(tmp_path):
    """Quarantine is for required lanes; a consulted one may stop a merge and its excuse lifts nothing."""
    text = SMALL + '[lanes.advice]\ntests = "evals"\nrole = "consulted"\n'
    policy = read_policy(text.encode(), kinds=RULES.facts())
    actors = honest_under(setting(policy, "main", "here"), tmp_path / "stage", {"PATH": "/usr/bin:/bin"})
    advice = actors.setting.casts[1]
    listed = entry(actors).replace(actors.cast.ids[0], advice.ids[0]).replace('"model-tests"', '"advice"')
    files = {**actors.files, QUARANTINE_FILE: listed}
    before = {**files, actors.setting.program: "ANSWER = 1\n"}
    base = actors.stage.git.commit(before, (actors.base,), "main")
    head = with_head(replace(actors, base=base), files)
    taken = case_row(advice.ids[0], samples(FLAKY)), case_row(advice.ids[1], samples("p" * 6))
    stage = head.stage.with_evidence(
        "truegreen.advice.all.1/advice.all.1.truegreen.json", head.ledger_of(taken, cast=advice)
    )
    made = decide_stage(stage, tmp_path / "evidence")
    assert [("case-flaky", Word.HOLD)] == told(made)


def test_numbers_that_the_base_s_rule_does_not_allow_contradict(actors, decided):
    """Under the producer's own rule a missing sample may be filled again; under the base's it stands."""
    first = tuple(CaseSamples(id=name, samples=samples("pi"), lost=()) for name in actors.cast.ids)

    def refilled(actors):
        honest = body_of(record_of(actors))
        named = Link(
            run_id=1001,
            run_attempt=1,
            head_sha=actors.stage.facts.head_sha,
            standing="samples",
            digest="sha256:" + "5" * 64,
            cases=first,
        )
        taken = samples("p" * 4, first=2)
        cases = tuple(case_row(name, taken, "stable-pass") for name in actors.cast.ids)
        wire = msgspec.structs.replace(honest.wire, calls=8, attributed=8)
        fixed = RuleUsed(name="fixed", samples=5, cap=0, j=1)
        return with_body(actors, rule=fixed, cases=cases, chain=(named,), wire=wire)

    made = decided(refilled)
    assert Word.BLOCK is made.word
    assert ("ledger-contradicts", Word.BLOCK) in told(made)


@pytest.mark.parametrize(
    ("outcomes", "code", "blames"),
    [("t", "endpoint-outage", False), ("i" * 7, "case-invalid", True)],
)
def test_an_outage_is_told_once_for_the_lane(decided, outcomes, code, blames):
    """However many cases the endpoint lost; what the cases themselves spoilt is told of each."""
    made = decided(lambda actors: every_case(actors, outcomes))
    assert [code] * (2 if blames else 1) == [cause.code for cause in made.causes]


def agreed_on(actors, host, *models):
    """The head's baseline names this endpoint and these models."""
    lanes = actors.baselines(actors.tree_of(actors.base))
    named = msgspec.structs.replace(lanes[actors.lane.name], endpoint=host, models_served=models)
    text = baseline_text({**lanes, actors.lane.name: named})
    return with_head(actors, {**actors.files, BASELINE_FILE: text}).stage


@pytest.mark.parametrize(
    ("host", "models", "code"),
    [
        ("models.example.invalid", ("m", "n"), None),
        ("models.example.invalid", ("n",), "model-changed"),
        ("elsewhere.example.invalid", ("m",), "endpoint-changed"),
    ],
)
def test_another_endpoint_or_model_is_another_distribution(decided, host, models, code):
    """Told once, with what was agreed and what answered."""
    made = decided(lambda actors: agreed_on(actors, host, *models))
    assert ([code] if code else []) == [cause.code for cause in made.causes]
    assert all(("m", host) == (c.facts["served"], c.facts["agreed_endpoint"]) for c in made.causes)


def test_what_the_producer_did_not_know_is_disclosed(decided, actors):
    """No run index at sampling; files that no digest covers, three of them named."""
    rule = msgspec.structs.replace(body_of(record_of(actors)).rule, j=None)
    paths = tuple(f"/tmp/{number}" for number in range(5))
    made = decided(lambda actors: with_body(actors, rule=rule, undeclared_inputs=paths))
    notes = [note.code for note in made.notes]
    assert (Word.ADMIT, 1, 3) == (
        made.word,
        notes.count("sequences-unknown"),
        notes.count("undeclared-input"),
    )


def test_a_golden_case_is_for_people(decided, actors):
    """It has no row, and it cannot carry a lane alone."""

    def golden(actors):
        found = body_of(record_of(actors)).cases
        return put(actors, actors.ledger_of(tuple(msgspec.structs.replace(c, golden=True) for c in found)))

    made = decided(golden)
    assert ((), "nothing-sampled") == (made.lanes[0].cases, made.code)


def test_the_first_failing_answer_is_repeated(decided, actors):
    """Expected and got, bounded."""
    failing = tuple(msgspec.structs.replace(s, detail="x" * 400) for s in samples("ff"))

    def broken(actors):
        taken = samples(actors.cast.passing())
        return rows(actors, (case_row(actors.cast.ids[0], failing), case_row(actors.cast.ids[1], taken)))

    [cause] = decided(broken).causes
    assert ("case-broken", "x" * 300, actors.cast.ids[0]) == (cause.code, cause.facts["detail"], cause.case)


def test_the_worst_case_stands_first_and_calls_are_pooled(decided, actors):
    """Block before hold before merge; what earlier attempts asked is counted."""

    def mixed(actors):
        first, second = actors.cast.ids
        return rows(actors, (case_row(first, samples("p" * 6)), case_row(second, samples("ff"))))

    made = decided(mixed)
    assert ([actors.cast.ids[1], actors.cast.ids[0]], 8) == (
        [row.id for row in made.lanes[0].cases],
        made.lanes[0].calls,
    )


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
