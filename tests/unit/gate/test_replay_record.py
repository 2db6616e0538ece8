# SPDX-License-Identifier: Apache-2.0
"""Hostile records of replays: each contradiction blocks, what is about something else is stale."""

import os
from dataclasses import replace

import msgspec
import pytest

from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem
from truegreen.core.event import EventFacts
from truegreen.core.outcome import Word
from truegreen.core.policy_read import read_policy
from truegreen.core.record import write_record
from truegreen.gate import replay_record
from truegreen.gate.decide import RULES
from truegreen.gate.replay_record import speaking_kind
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.setting import SMALL, setting

POLICY = SMALL + '\n[lanes.replayed]\nkind = "contract-check"\ntests = "tests/replay"\n'
PATH = on.evidence_path("replayed", "all", 1)
OTHER = "sha256:" + "7" * 64


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """An honest pull request with a lane that is replayed."""
    policy = read_policy(POLICY.encode(), kinds=RULES.facts())
    folder = tmp_path_factory.mktemp("stage")
    made = honest_under(setting(policy, "main", "a test"), folder, {"PATH": os.environ["PATH"]})
    with made.stage.git.asking():
        yield made


@pytest.fixture
def told(actors, tmp_path):
    """Word, code and standing of the record with another body, or with other bytes."""

    def decide(change, rules=RULES):
        record = actors.stage.ledgers[PATH]
        made = change(record)
        stage = actors.stage.with_evidence(PATH, made)
        decision = decide_stage(stage, tmp_path / "evidence", rules)
        standing = next(file.standing for file in decision.files if "replayed" in file.name)
        return decision.word, decision.code, standing

    return decide


def body(**changes):
    """The record with other claims in its body."""
    return lambda record: msgspec.structs.replace(record, body={**record.body, **changes})


def session(**changes):
    """The record with other claims in its session."""
    return lambda record: body(session={**record.body["session"], **changes})(record)


def recording(**changes):
    """The record with another claim about its recording."""
    return lambda record: body(recordings=[{**record.body["recordings"][0], **changes}])(record)


def hit(**changes):
    """The record with another claim about what answered."""
    return lambda record: session(hits=[{**record.body["session"]["hits"][0], **changes}])(record)


def twice(record):
    """The record lists its recording twice."""
    return body(recordings=record.body["recordings"] * 2)(record)


def unused(record):
    """The record says that what it played was not played."""
    return session(unused=[record.body["recordings"][0]["file"]])(record)


def changed_inputs(name, record):
    """Another ruler or subject than the tree gives."""
    claimed = {**record.body[name], "digest": OTHER}
    return body(**{name: claimed})(record)


CONTRADICTIONS = {
    "another digest of a recording": recording(digest=OTHER),
    "another key of a recording": recording(key=OTHER),
    "a recording that is not there": recording(file="zz.json"),
    "no recordings at all": body(recordings=[]),
    "a recording twice": twice,
    "a hit of a recording that is not listed": hit(file="zz.json"),
    "a hit with another key": hit(key=OTHER),
    "a recording both played and unused": unused,
    "a whole replay that says why it is not": session(incomplete_because="interrupted"),
    "an unused recording that is not listed": session(unused=["zz.json"]),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_contradicts_itself_or_the_tree_blocks(told, name):
    """Whatever else the record says."""
    assert (Word.BLOCK, "replay-contradicts", "blocked") == told(CONTRADICTIONS[name])


@pytest.mark.parametrize("name", ["ruler", "subject"])
def test_other_inputs_than_the_tree_gives_block(told, name):
    """Digests are recomputed, as for a ledger."""
    assert (Word.BLOCK, f"{name}-mismatch", "blocked") == told(lambda record: changed_inputs(name, record))


@pytest.mark.parametrize(
    "change",
    [body(folder="elsewhere"), session(cassettes="elsewhere")],
)
def test_a_replay_of_another_folder_is_stale(told, change):
    """Ours, and about something else: it satisfies nothing."""
    assert (Word.HOLD, "stale-folder", "stale") == told(change)


def test_a_replay_under_another_policy_is_stale(told):
    """As for every record."""
    assert (Word.HOLD, "stale-policy", "stale") == told(body(policy_digest=OTHER))


REFUSED = {
    "a field more": body(more=1),
    "a weight that nobody knows": body(
        findings=[
            {
                "code": "x",
                "weight": "fine",
                "file": "",
                "place": "",
                "template": "",
                "owner": "",
                "problem": "",
            }
        ]
    ),
    "a guard that nobody knows": session(guard="hope"),
    "a count below zero": session(upstream_calls=-1),
    "a session of another version": session(schema="truegreen/replay-session/v2"),
    "no session field": lambda r: msgspec.structs.replace(
        r, body={name: value for name, value in r.body.items() if name != "session"}
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_schema_does_not_know_is_refused(told, name):
    """It holds, whatever it says."""
    assert (Word.HOLD, "schema-refused", "refused") == told(REFUSED[name])


@pytest.mark.parametrize(
    ("bytes_of", "code"),
    [
        (lambda record: write_record(record)[:-5], "unreadable"),
        (
            lambda record: write_record(record).replace(b'"guard":', b'"guard":"none","guard":', 1),
            "duplicate-key",
        ),
    ],
)
def test_damaged_bytes_never_count(told, bytes_of, code):
    """A cut record holds, a key that stands twice blocks."""
    assert code == told(bytes_of)[1]


def test_a_record_that_is_gone_or_cut_anywhere_is_never_admitted(actors, tmp_path):
    """Removing or damaging a member of the expected set never turns green."""
    data = write_record(actors.stage.ledgers[PATH])
    places = sorted({len(data) * part // 60 for part in range(60)} | {len(data) - 1})
    words = {
        decide_stage(actors.stage.with_evidence(PATH, data[:place]), tmp_path / str(place)).word
        for place in places
    }
    assert words <= {Word.HOLD, Word.BLOCK}
    gone = replace(actors.stage, ledgers={k: v for k, v in actors.stage.ledgers.items() if k != PATH})
    made = decide_stage(gone, tmp_path / "gone")
    assert (Word.HOLD, "missing-record") == (made.word, made.code)


def test_two_replays_of_one_attempt_contradict_each_other(actors, tmp_path):
    """One that failed and one that passes: nobody chooses between them."""
    record = actors.stage.ledgers[PATH]
    failed = session(command_exit=1)(record)
    stage = actors.stage.with_evidence(f"again/{PATH.rpartition('/')[2]}", failed)
    made = decide_stage(stage, tmp_path / "evidence")
    assert (Word.BLOCK, True) == (made.word, "two-records" in {cause.code for cause in made.causes})


def test_a_gate_without_a_reader_holds(actors, tmp_path, monkeypatch):
    """Nobody handed in how recordings are read: they are unknown."""
    monkeypatch.setattr("truegreen.wiring.rehearsal.run.checked", None)
    made = decide_stage(actors.stage, tmp_path / "evidence")
    assert (Word.HOLD, "recordings-unread") == (made.word, made.code)


def test_a_check_without_a_replay_contradicts_nothing(told):
    """It says of itself that there was none, and that holds."""
    assert (Word.HOLD, "nothing-replayed", "accepted") == told(body(session=None))


def test_only_one_contradiction_of_a_kind_is_told(told):
    """The first is enough to block."""
    change = session(complete=False, incomplete_because="-k", unused=[], hits=[])
    assert (Word.HOLD, "replay-incomplete", "accepted") == told(change)


def test_a_replay_has_neither_links_nor_samples(actors):
    """It goes on from nothing, and nothing goes on from it."""
    decoded = replay_record.decode(actors.stage.ledgers[PATH].body)
    assert ((), None) == (replay_record.links(decoded), replay_record.own_samples(decoded))
    with pytest.raises(EvidenceProblem):
        replay_record.decode({})


def test_which_kind_speaks_depends_on_the_lane_and_the_event(actors):
    """A replay speaks for a sampled lane only where it says so and there is no key."""
    facts = actors.stage.facts
    fork = msgspec.structs.replace(facts, head_repo="fork/n")
    plain = actors.policy.lane("model-tests")
    lane = msgspec.structs.replace(plain, no_secrets="replay")
    assert isinstance(facts, EventFacts)
    assert ["sample-ledger", "contract-check", "sample-ledger", "contract-check"] == [
        speaking_kind(lane, facts),
        speaking_kind(lane, fork),
        speaking_kind(plain, fork),
        speaking_kind(actors.policy.lane("replayed"), facts),
    ]


def test_no_digest_of_a_test_is_real():
    """What is made up here cannot meet a digest of the stage."""
    assert Sha256(OTHER).startswith("sha256:777")
