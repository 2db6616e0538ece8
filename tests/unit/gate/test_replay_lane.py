# SPDX-License-Identifier: Apache-2.0
"""What a replay proves: a whole one that missed nothing holds, anything else is named."""

import os
from dataclasses import replace

import msgspec
import pytest

from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.outcome import Word
from truegreen.core.policy_read import read_policy
from truegreen.core.replay_session import Missed
from truegreen.core.seal import new_private_key, public_key, sealed_bytes
from truegreen.gate.decide import RULES
from truegreen.gate.replay_lane import CHECKS
from truegreen.wiring.rehearsal import replays
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.setting import setting

ENVIRONMENT = {"PATH": os.environ["PATH"]}
KEY = new_private_key()
POLICY = f"""
schema = "truegreen/policy/v1"
mode = "enforce"

[cassettes]
authors = ["ana@example.org"]
keys = ["{public_key(KEY)}"]

[lanes.model-tests]
tests = "tests/llm"
no_secrets = "replay"
cassettes = "recordings"

[lanes.replayed]
kind = "contract-check"
tests = "tests/replay"
guard = "landlock"
"""
OTHER = "h1:" + "A" * 43 + "="
"""Digest of another folder: answers that were there for the replay alone."""
MISSED = Missed(code="cassette-missing", key=Sha256("sha256:" + "4" * 64), count=1, template="labels")


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """An honest pull request with a lane that is replayed and one that is sampled."""
    policy = read_policy(POLICY.encode(), kinds=RULES.facts())
    made = honest_under(setting(policy, "main", "a test"), tmp_path_factory.mktemp("stage"), ENVIRONMENT)
    with made.stage.git.asking():
        yield made


@pytest.fixture
def decided(actors, tmp_path):
    """The decision on a replay with other claims, on the honest stage or another."""

    def decide(stage=None, rules=RULES, **changes):
        lane = actors.policy.lane("replayed")
        stage = stage or actors.stage
        record = actors.replay(lane, facts=stage.facts, **changes)
        return decide_stage(stage.with_evidence(path(), record), tmp_path / str(len(changes)), rules)

    return decide


def path(lane="replayed"):
    """Where the record lies."""
    return on.evidence_path(lane, "all", 1)


def codes(decision):
    """What speaks against a merge."""
    return [(cause.code, cause.word) for cause in decision.causes]


def notes(decision):
    """What is disclosed."""
    return {cause.code for cause in decision.notes}


def test_a_whole_replay_holds_and_says_that_it_is_no_sample(decided):
    """The line says it, and so does a note with the guard."""
    made = decided()
    assert (Word.ADMIT, True) == (made.word, "1 recorded answer replayed, not sampled" in made.line)
    (row,) = [row for row in made.lanes if row.lane == "replayed"]
    assert ("contract-check", 1, "namespace", True) == (
        row.kind,
        row.replayed,
        row.guard,
        "replayed-not-sampled" in notes(made),
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"misses": (MISSED,)}, ("recording-missing", Word.BLOCK)),
        ({"complete": False, "incomplete_because": "-k"}, ("replay-incomplete", Word.HOLD)),
        (
            {"complete": False, "incomplete_because": "-k", "misses": (MISSED,)},
            ("replay-incomplete", Word.HOLD),
        ),
        ({"command_exit": None}, ("replay-incomplete", Word.HOLD)),
        ({"command_exit": 1}, ("replay-failed", Word.BLOCK)),
        ({"upstream_calls": 1}, ("replay-reached-out", Word.BLOCK)),
        ({"guard_stops": 2}, ("replay-reached-out", Word.BLOCK)),
        ({"after": OTHER}, ("recordings-changed", Word.BLOCK)),
        ({"before": OTHER}, ("recordings-changed", Word.BLOCK)),
        ({"before": OTHER, "after": OTHER}, ("recordings-changed", Word.BLOCK)),
        ({"before": None, "after": None}, ("recordings-changed", Word.BLOCK)),
        ({"guard": "audit"}, ("guard-too-weak", Word.HOLD)),
        ({"guard": "none"}, ("guard-too-weak", Word.HOLD)),
    ],
)
def test_each_fault_of_a_replay_has_its_own_word(decided, changes, expected):
    """And nothing else speaks."""
    assert [expected] == codes(decided(**changes))


def test_a_replay_that_asked_nothing_proves_nothing(actors, decided):
    """Zero answers are never green; every recording is unused as well."""
    assert {"nothing-replayed", "recordings-unused"} == {
        code for code, _ in codes(decided(hits=(), unused=(_file(actors),)))
    }


def test_the_demanded_guard_is_enough(decided):
    """The same one or a stronger one."""
    assert [] == codes(decided(guard="landlock"))


def _file(actors, folder="cassettes"):
    return next(
        name.removeprefix(f"{folder}/")
        for name in actors.files
        if name.startswith(f"{folder}/") and name.endswith(".json") and name.count("/") == 1
    )


def with_files(actors, changes, author="ana@example.org", folder="cassettes"):
    """The stage on a head with other files; None takes one away."""
    files = {**actors.files, **{f"{folder}/{name}": data for name, data in changes.items()}}
    files = {name: data for name, data in files.items() if data is not None}
    head = actors.stage.git.commit(files, (actors.base,), actors.setting.branch("change"), author=author)
    facts = msgspec.structs.replace(actors.stage.facts, head_sha=head)
    index = actors.stage.index
    runs = tuple(msgspec.structs.replace(run, head_sha=head) for run in index.runs)
    index = msgspec.structs.replace(index, head_sha=head, runs=runs)
    stage = replace(actors.stage, facts=facts, index=index)
    moved = replace(actors, stage=stage, files=files)
    return moved.with_honest_evidence()


def recorded(tmp_path, *exchanges):
    """Files of a folder with these exchanges beside the honest one."""
    return replays.recordings(tmp_path / "more", ((replays.request(), replays.answer()), *exchanges))


MORE = (replays.request("and now?"), replays.answer())


def test_a_recording_of_a_listed_author_counts(actors, tmp_path):
    """The base's policy lists the address."""
    moved = with_files(actors, recorded(tmp_path, MORE))
    assert [] == codes(decide_stage(moved.stage, tmp_path / "evidence"))


def test_a_recording_of_another_author_holds_and_names_it(actors, tmp_path):
    """With the address and the commit."""
    moved = with_files(actors, recorded(tmp_path, MORE), author="eve@example.net")
    made = decide_stage(moved.stage, tmp_path / "evidence")
    assert [("recording-unvouched", Word.HOLD)] == codes(made)
    assert "eve@example.net" in made.line


def sealed(files, private=KEY, name="one", says="urn:truegreen:recording:v1"):
    """The files with a seal over those that are new."""
    digests = {file: sha256_of(data) for file, data in files.items()}
    seal = sealed_bytes(digests, predicate_type=says, predicate={}, private_key=private)
    return {**files, f"seals/{name}.dsse.json": seal}


def test_a_sealed_recording_counts_whoever_commits_it(actors, tmp_path):
    """By a key that the base's policy lists; another key proves nothing."""
    files = recorded(tmp_path, MORE)
    moved = with_files(actors, sealed(files), author="eve@example.net")
    assert [] == codes(decide_stage(moved.stage, tmp_path / "evidence"))
    moved = with_files(actors, sealed(files, new_private_key()), author="eve@example.net")
    assert [("recording-unvouched", Word.HOLD)] == codes(decide_stage(moved.stage, tmp_path / "again"))


def test_another_statement_by_a_listed_key_vouches_for_nothing(actors, tmp_path):
    """A release that the same key signed says nothing about who recorded."""
    files = sealed(recorded(tmp_path, MORE), says="https://slsa.dev/provenance/v1")
    moved = with_files(actors, files, author="eve@example.net")
    assert [("recording-unvouched", Word.HOLD)] == codes(decide_stage(moved.stage, tmp_path / "evidence"))


def test_a_forged_seal_blocks(actors, tmp_path):
    """It names a listed key that did not sign these bytes."""
    files = sealed(recorded(tmp_path, MORE))
    name = "seals/one.dsse.json"
    files[name] = files[name].replace(b'"sig":"', b'"sig":"AAAA')
    moved = with_files(actors, files)
    assert [("seal-forged", Word.BLOCK)] == codes(decide_stage(moved.stage, tmp_path / "evidence"))


def test_a_removed_recording_holds(actors, tmp_path):
    """Fewer recordings are a smaller universe."""
    more = with_files(actors, recorded(tmp_path, MORE))
    gone = next(name for name in more.files if name not in actors.files and name.startswith("cassettes/"))
    base = actors.stage.git.commit(more.files, (actors.base,), "main", author="ana@example.org")
    try:
        files = {name: data for name, data in more.files.items() if name != gone}
        later = replace(actors, base=base, files=files)
        moved = with_files(later, {}, author="eve@example.net")
        made = decide_stage(moved.stage, tmp_path / "evidence")
        assert ("recording-unvouched", Word.HOLD) in codes(made)
    finally:
        actors.stage.git.branch("main", actors.base)


def test_what_the_record_leaves_out_is_found_in_the_tree(actors, tmp_path):
    """The gate reads the recordings itself: an answer that breaks its contract blocks, told or not."""
    bad = (replays.request("and now?"), replays.answer("no json"))
    moved = with_files(actors, recorded(tmp_path, bad))
    record = moved.stage.ledgers[path()]
    quiet = msgspec.structs.replace(record, body={**record.body, "findings": []})
    made = decide_stage(moved.stage.with_evidence(path(), quiet), tmp_path / "evidence")
    assert [("contract-broken", Word.BLOCK)] == codes(made)


def test_what_only_the_record_says_counts_too(actors, tmp_path):
    """A finding more can only hold or block."""
    record = actors.stage.ledgers[path()]
    wrong = {
        "code": "recording-secret",
        "weight": "fails",
        "file": "x",
        "place": "",
        "template": "",
        "owner": "",
        "problem": "",
    }
    said = msgspec.structs.replace(record, body={**record.body, "findings": [wrong]})
    made = decide_stage(actors.stage.with_evidence(path(), said), tmp_path / "evidence")
    assert [("recording-secret", Word.BLOCK)] == codes(made)


def test_notes_about_recordings_are_disclosed(actors, tmp_path):
    """A loose contract weighs nothing and is told."""
    loose = {"contracts/labels.json": b'{"type": "object", "required": ["label"]}'}
    made = decide_stage(with_files(actors, loose).stage, tmp_path / "evidence")
    assert ([], True) == (codes(made), "contract-loose" in notes(made))


def test_a_recording_that_nothing_played_whole_holds(actors, tmp_path):
    """Two answers of which one was played: the code makes a call less."""
    files = recorded(tmp_path, (replays.request(), replays.answer('{"label": "no"}')))
    moved = with_files(actors, files)
    lane = actors.policy.lane("replayed")
    hits = tuple(msgspec.structs.replace(hit, count=1) for hit in replays.replay(lane, files).hits)
    record = moved.replay(lane, hits=hits)
    made = decide_stage(moved.stage.with_evidence(path(), record), tmp_path / "evidence")
    assert [("recordings-unused", Word.HOLD)] == codes(made)


def test_a_check_without_a_replay_satisfies_nothing(actors, tmp_path):
    """Reading recordings is not replaying them."""
    record = actors.stage.ledgers[path()]
    bare = msgspec.structs.replace(record, body={**record.body, "session": None})
    made = decide_stage(actors.stage.with_evidence(path(), bare), tmp_path / "evidence")
    assert [("nothing-replayed", Word.HOLD)] == codes(made)


def keyless(actors, **changes):
    """The same pull request from a fork, or with other facts."""
    said = {"head_repo": "somebody/fork"} | changes
    facts = msgspec.structs.replace(actors.stage.facts, **said)
    index = actors.stage.index
    runs = tuple(msgspec.structs.replace(run, head_repo=facts.head_repo) for run in index.runs)
    stage = replace(actors.stage, facts=facts, index=msgspec.structs.replace(index, runs=runs))
    moved = replace(actors, stage=stage).with_honest_evidence()
    lane = actors.policy.lane("model-tests")
    return moved, moved.stage.with_evidence(path("model-tests"), moved.replay(lane))


@pytest.mark.parametrize("changes", [{}, {"head_repo": on.REPO, "actor": "dependabot[bot]"}])
def test_without_a_key_a_replay_stands_in_for_samples(actors, tmp_path, changes):
    """From a fork or started by Dependabot, where the lane says so."""
    _, stage = keyless(actors, **changes)
    made = decide_stage(stage, tmp_path / "evidence")
    assert (Word.ADMIT, []) == (made.word, codes(made))
    assert "2 recorded answers replayed, not sampled" in made.line
    assert {"contract-check"} == {row.kind for row in made.lanes}


def test_with_a_key_a_replay_is_no_sample(actors, tmp_path):
    """Twenty replays of one recording are one answer: the lane holds."""
    record = actors.replay(actors.policy.lane("model-tests"))
    made = decide_stage(actors.stage.with_evidence(path("model-tests"), record), tmp_path / "evidence")
    assert [("wrong-kind", Word.HOLD)] == codes(made)


def test_without_a_key_a_ledger_does_not_count(actors, tmp_path):
    """Where no key is, nothing can have been sampled."""
    moved, _ = keyless(actors)
    made = decide_stage(moved.stage, tmp_path / "evidence")
    assert [("wrong-kind", Word.HOLD)] == codes(made)


def test_the_ruler_of_a_sampled_lane_is_agreed_for_replays_too(actors, tmp_path):
    """Tests that changed without their baseline hold, replayed or sampled."""
    edited = {**actors.files, actors.cast.files[0]: "id: labels\nexpect: {}\n"}
    moved = with_files(replace(actors, files=edited), {})
    moved, stage = keyless(moved)
    made = decide_stage(stage, tmp_path / "evidence")
    assert [("ruler-changed", Word.HOLD)] == codes(made)


def test_on_a_change_from_a_fork_only_seals_count(actors, tmp_path):
    """Anybody can write a listed address into a commit."""
    files = recorded(tmp_path, MORE)
    moved = with_files(actors, files)
    moved, stage = keyless(moved)
    made = decide_stage(stage, tmp_path / "evidence")
    assert ([("recording-unvouched", Word.HOLD)], True) == (codes(made), "authors-of-forks" in notes(made))
    moved, stage = keyless(with_files(actors, sealed(files), author="eve@example.net"))
    assert [] == codes(decide_stage(stage, tmp_path / "again"))


def test_in_a_queue_a_miss_holds(actors, tmp_path):
    """Two changes that were replayed apart may ask something new together."""
    group = msgspec.structs.replace(
        actors.stage.facts, event="merge_group", group_base=actors.base, pull_request=None
    )
    runs = tuple(msgspec.structs.replace(run, event="merge_group") for run in actors.stage.index.runs)
    index = msgspec.structs.replace(actors.stage.index, runs=runs)
    stage = replace(actors.stage, facts=group, index=index)
    moved = replace(actors, stage=stage).with_honest_evidence()
    record = moved.replay(actors.policy.lane("replayed"), misses=(MISSED,))
    made = decide_stage(moved.stage.with_evidence(path(), record), tmp_path / "evidence")
    assert ("needs-recording", Word.HOLD) in codes(made)
    assert Word.HOLD is made.word


FAULTS = {
    "something_was_replayed": {"session": None},
    "replay_was_whole": {"command_exit": None},
    "nothing_left": {"upstream_calls": 1},
    "recordings_stayed": {"before": OTHER, "after": OTHER},
    "guard_is_enough": {"guard": "audit"},
    "every_request_was_recorded": {"misses": (MISSED,)},
    "command_held": {"command_exit": 1},
}


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "something_was_replayed"])
def test_a_check_that_is_taken_away_is_missed(decided, name):
    """Without it the same replay is admitted: nothing else stands in its way."""
    from functools import partial

    from truegreen.gate.kinds import CONTRACT_CHECK
    from truegreen.gate.replay_lane import judge

    kept = tuple(check for check in CHECKS if check.__name__ != name)
    kind = msgspec.structs.replace(CONTRACT_CHECK, judge=partial(judge, checks=kept))
    rules = msgspec.structs.replace(RULES, kinds={**RULES.kinds, "contract-check": kind})
    assert (Word.ADMIT, []) == ((made := decided(rules=rules, **FAULTS[name])).word, codes(made))
