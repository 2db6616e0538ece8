# SPDX-License-Identifier: Apache-2.0
"""A decision says what is so: of a missing file, of an earlier decision, of a working copy, of a clone that fails."""

import os
from dataclasses import replace

import msgspec
import pytest

from truegreen.core.decision import Cause, LaneRow
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.outcome import Outcome, Word
from truegreen.core.policy_read import read_policy
from truegreen.core.record import write_record
from truegreen.gate.bind import Asked
from truegreen.gate.decide import RULES, decide
from truegreen.gate.ground import Unreachable
from truegreen.gate.intake import Evidence, EvidenceFile, Refusal, read_evidence
from truegreen.gate.model import Judged
from truegreen.wiring.gate import decision_record
from truegreen.wiring.rehearsal.events import at_home
from truegreen.wiring.rehearsal.heads import unreadable_new_policy, with_head
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.setting import SMALL, setting
from truegreen.wiring.rehearsal.tricks import without_evidence
from worlds.probes import PROBE_RULES
from worlds.spaces import job, lane, record
from worlds.terrain import NOW, Writer
from worlds.terrain import decided as decided_world
from worlds.world import Attempt, Run, World


def asked_of(stage, git):
    """What the gate is asked on a stage."""
    return Asked(
        facts=stage.facts, git=git, index=stage.index_bytes(), now=stage.now, in_ci=True, version="1"
    )


def test_evidence_that_is_not_there_is_called_by_its_name(actors, tmp_path):
    """Absence has words of its own."""
    evidence = read_evidence([tmp_path / "nowhere"])
    with actors.stage.git.asking() as git:
        made = decide(asked_of(actors.stage, git), evidence)
    assert (Word.HOLD, "evidence-missing") == (made.word, made.code)
    assert "there is no evidence at nowhere" in made.line


def test_an_earlier_decision_among_the_evidence_is_a_note(actors, tmp_path):
    """The gate asked twice over one folder says the same twice."""
    first = decide_stage(actors.stage, tmp_path)
    stage = actors.stage.with_evidence("decision.truegreen.json", decision_record(first, "1"))
    again = decide_stage(stage, tmp_path)
    assert (Word.ADMIT, first.line) == (again.word, again.line)
    assert "decision-beside" in [note.code for note in again.notes]


def test_a_working_copy_is_not_said_to_have_run(actors, tmp_path):
    """No forge saw a run: what is missing was not sampled here."""
    home = at_home(actors)
    made = decide_stage(without_evidence(home), tmp_path, in_ci=False)
    assert (Word.HOLD, "not-sampled-here") == (made.word, made.code)
    assert made.line.endswith("was not sampled in this working copy · run truegreen sample")


def test_a_lane_whose_tests_are_not_there_is_called_that(actors, tmp_path):
    """The policy's path leads nowhere in this commit."""
    kept = {path: text for path, text in actors.files.items() if not path.startswith(actors.lane.tests)}
    head = actors.stage.git.commit(kept, (actors.base,), "change")
    facts = msgspec.structs.replace(actors.stage.facts, head_sha=head)
    made = decide_stage(replace(actors.stage, facts=facts, ledgers={}), tmp_path)
    [tests] = {cause.facts["tests"] for cause in made.causes if cause.code == "empty-lane"}
    assert actors.lane.tests == tests


def test_a_policy_that_the_change_breaks_is_quoted_with_its_line(actors, tmp_path):
    """Whoever broke it sees where."""
    made = decide_stage(unreadable_new_policy(actors), tmp_path)
    [problem] = [c.facts["problem"] for c in made.causes if c.code == "new-policy-unreadable"]
    assert "truegreen.toml:1: schema is 1" in problem


def test_a_new_policy_that_contradicts_its_own_tree_is_told_with_the_file(actors, tmp_path):
    """A pattern that hides what judges would be a configuration error for everybody after the merge."""
    program = actors.setting.program
    hiding = f'{actors.policy.text}irrelevant = ["*.yaml"]\n'
    files = {**actors.files, program: "ANSWER = 1\n", "truegreen.toml": hiding}
    made = decide_stage(with_head(actors, files).stage, tmp_path)
    [problem] = [c.facts["problem"] for c in made.causes if c.code == "new-policy-unreadable"]
    assert 'the pattern "*.yaml" calls' in problem


class _Failing:
    """A clone whose git is too old to merge."""

    def __init__(self, git):
        self._git = git

    def __getattr__(self, name):
        return getattr(self._git, name)

    def merge_tree(self, head, base):
        raise ReachProblem("git-too-old", "this git does not know how to merge-tree")


def test_a_git_that_is_too_old_is_not_called_missing_history(actors):
    """Nobody is sent to fetch what is there."""
    with actors.stage.git.asking() as git:
        made = decide(asked_of(actors.stage, _Failing(git)), Evidence())
    assert (Word.HOLD, "git-failed") == (made.word, made.code)


def lanes_of(*roles):
    """Exact lanes of these roles, and one run in which their jobs ran."""
    found = tuple(lane("exact", role, f"lane-{at}") for at, role in enumerate(roles))
    return found, (Run(1, (Attempt(0, tuple(map(job, found))),)),)


def of_world(world, **more):
    """The decision on a world, asked otherwise than as a whole."""
    writer = Writer(world)
    asked = Asked(
        facts=writer.facts(),
        git=writer.land.git,
        index=writer.index(),
        now=NOW,
        in_ci=True,
        version="1",
        **more,
    )
    files = tuple(
        EvidenceFile(container="one", name=name, data=data) for name, data in writer.evidence().items()
    )
    return decide(asked, Evidence(files=files), PROBE_RULES)


@pytest.mark.parametrize("outcome", ["holds", "fails", "unknown", "flaky", None])
@pytest.mark.parametrize("wrong", ["", "repo", "policy", "ruler", "kind"])
def test_advice_changes_nothing(outcome, wrong):
    """Present, absent, failing, forged: the word, the exit and the line are the ones without it."""
    found, runs = lanes_of("required", "advisory")
    mine = record(found[0])
    theirs = (record(found[1], outcome=outcome, wrong=wrong),) if outcome else ()
    without, beside = of_world(World(found, runs, (mine,))), of_world(World(found, runs, (mine, *theirs)))
    assert (without.word, without.exit_code, without.line) == (beside.word, beside.exit_code, beside.line)
    assert [] == [cause for cause in beside.causes if cause.lane == "lane-1"]


def test_advice_is_told():
    """As a note, with the lane's own outcome in its row."""
    found, runs = lanes_of("required", "advisory")
    left = (record(found[0]), record(found[1], outcome="fails"))
    made, absent = of_world(World(found, runs, left)), of_world(World(found, runs, left[:1]))
    assert ["case-broken"] == [note.code for note in made.notes if note.lane == "lane-1"]
    assert (Outcome.FAILS, Outcome.NOT_ASKED) == (made.lanes[1].outcome, absent.lanes[1].outcome)


@pytest.mark.parametrize(
    ("role", "outcome", "word", "exit_code", "starts"),
    [
        ("required", "holds", Word.ADMIT, 0, "HOLDS"),
        ("required", "fails", Word.BLOCK, 1, "FAILS"),
        ("consulted", "unknown", Word.HOLD, 3, "UNKNOWN"),
        ("advisory", "fails", Word.BLOCK, 1, "FAILS"),
        ("advisory", None, Word.HOLD, 3, "UNKNOWN"),
        ("advisory", "holds", Word.ADMIT, 0, "HOLDS"),
    ],
)
def test_one_lane_alone_is_never_said_to_be_admitted(role, outcome, word, exit_code, starts):
    """HOLDS, FAILS or UNKNOWN; whatever its role, and whatever other lanes left."""
    found, runs = lanes_of("required", role)
    left = record(found[0], outcome="fails"), *((record(found[1], outcome=outcome),) if outcome else ())
    made = of_world(World(found, runs, left), only_lane="lane-1")
    assert (word, exit_code, ["lane-1"]) == (made.word, made.exit_code, [row.lane for row in made.lanes])
    assert made.line.startswith(starts)


def test_a_lane_that_the_policy_lacks_cannot_be_asked_about():
    """A typing mistake is no decision."""
    found, runs = lanes_of("required")
    with pytest.raises(UsageProblem, match="no lane 'lane-9', it has lane-0") as caught:
        of_world(World(found, runs), only_lane="lane-9")
    assert "unknown-lane-asked" == caught.value.code


@pytest.mark.parametrize(
    ("is_contradictory", "word", "code"),
    [(False, Word.HOLD, "archive-refused"), (True, Word.BLOCK, "archive-contradicts")],
)
def test_an_artifact_that_is_refused_weighs_by_itself(is_contradictory, word, code, actors, asked):
    """Beside a full set too, and in a question about one lane."""
    full = read_of(actors)
    refusal = Refusal(
        container="a", name="a.zip", code="archive-cut", message="cut", contradictory=is_contradictory
    )
    for only_lane in (None, actors.lane.name):
        made = decide(asked(only_lane=only_lane), Evidence(files=full, refusals=(refusal,)))
        assert (word, code) == (made.word, made.code)


def read_of(actors):
    """The honest evidence, as files."""
    return tuple(
        EvidenceFile(container="one", name=name, data=write_record(envelope))
        for name, envelope in actors.stage.ledgers.items()
    )


def judging(outcome, *causes):
    """The rules with an exact kind that says this, whatever it is shown."""

    def judge(evidence, ground):
        if outcome is None:
            raise Unreachable("missing-object", problem="gone")
        lane = evidence.lane
        row = LaneRow(
            lane=lane.name, kind=lane.kind, role=lane.role, seal=lane.seal, outcome=outcome, code="any"
        )
        return Judged(row=row, causes=causes, notes=())

    kind = msgspec.structs.replace(PROBE_RULES.kinds["probe-exact"], judge=judge)
    return msgspec.structs.replace(PROBE_RULES, kinds={**PROBE_RULES.kinds, kind.name: kind})


@pytest.mark.parametrize(
    ("outcome", "word", "code"),
    [
        (Outcome.HOLDS, Word.ADMIT, "all-lanes-hold"),
        (Outcome.UNKNOWN, Word.HOLD, "lane-not-holding"),
        (Outcome.NOT_ASKED, Word.HOLD, "lane-not-holding"),
        (Outcome.FAILS, Word.BLOCK, "lane-not-holding"),
        (None, Word.HOLD, "missing-object"),
    ],
)
def test_what_does_not_hold_is_never_admitted_for_want_of_a_reason(outcome, word, code, tmp_path):
    """Unknown never rounds up, and a failure without a cause blocks."""
    found, runs = lanes_of("required")
    made = decided_world(World(found, runs, (record(found[0]),)), tmp_path, judging(outcome))
    assert (word, code) == (made.word, made.code)


def test_the_last_catch_is_what_keeps_a_silent_lane_out(tmp_path):
    """Without it a kind that gives no reason would be taken for one that holds."""
    found, runs = lanes_of("required")
    rules = msgspec.structs.replace(judging(Outcome.UNKNOWN), unknown_holds=False)
    assert Word.ADMIT is decided_world(World(found, runs, (record(found[0]),)), tmp_path, rules).word


def test_a_failure_blocks_beside_a_hold(tmp_path):
    """The heavier word, though the kind gave no cause for it."""
    found, runs = lanes_of("required")
    held = Cause(code="case-inconclusive", word=Word.HOLD, lane="lane-0")
    made = decided_world(World(found, runs, (record(found[0]),)), tmp_path, judging(Outcome.FAILS, held))
    assert (Word.BLOCK, Outcome.FAILS) == (made.word, made.lanes[0].outcome)


def test_stale_evidence_beside_a_full_set_is_a_note(tmp_path):
    """It satisfies nothing and hurts nobody."""
    found, runs = lanes_of("required")
    old = record(found[0], wrong="run")
    made = decided_world(World(found, runs, (record(found[0]), old)), tmp_path)
    assert (Word.ADMIT, ["run-not-in-index"]) == (
        made.word,
        [note.code for note in made.notes if note.code == "run-not-in-index"],
    )


def test_causes_are_told_heaviest_first(tmp_path):
    """A block found later leads a hold found before."""
    found, runs = lanes_of("required", "required")
    left = (record(found[0], outcome="unknown"), record(found[1], outcome="fails"))
    made = decided_world(World(found, runs, left), tmp_path)
    assert [Word.BLOCK, Word.HOLD] == [cause.word for cause in made.causes]


def test_the_same_evidence_policy_tip_and_clock_give_the_same_bytes(actors, tmp_path):
    """Whatever the order in which files were written."""
    stage = replace(actors.stage, ledgers=dict(reversed(actors.stage.ledgers.items())))
    one, two = decide_stage(actors.stage, tmp_path / "one"), decide_stage(stage, tmp_path / "one")
    assert decision_record(one, "1") == decision_record(two, "1")


def test_a_change_that_adds_a_file_which_the_policy_hides_holds(tmp_path):
    """Base's policy calls it irrelevant, and it lies beside the tests: the change is told, and nothing else stands still."""
    text = SMALL + 'irrelevant = ["*.md"]\n'
    policy = read_policy(text.encode(), kinds=RULES.facts())
    actors = honest_under(setting(policy, "main", "here"), tmp_path / "stage", {"PATH": os.environ["PATH"]})
    files = {**actors.files, "tests/llm/notes.md": "x"}
    head = actors.stage.git.commit(files, (actors.base,), "change")
    facts = msgspec.structs.replace(actors.stage.facts, head_sha=head)
    made = decide_stage(replace(actors.stage, facts=facts), tmp_path / "evidence")
    assert (Word.HOLD, True) == (made.word, "digests-unknown" in {cause.code for cause in made.causes})
    told = next(cause for cause in made.causes if cause.code == "digests-unknown")
    assert '"*.md" calls "tests/llm/notes.md" irrelevant' in told.facts["problem"]


class _Broken:
    """A clone that answers ``asked`` questions and then fails."""

    def __init__(self, git, asked):
        self._git, self._left = git, asked

    def __getattr__(self, name):
        def ask(*arguments):
            self._left -= 1
            if self._left < 0:
                raise ReachProblem("git-failed", "git ended with 128, asked 0")
            return getattr(self._git, name)(*arguments)

        return ask


def test_a_git_that_fails_at_any_question_holds(actors, asked):
    """Whichever question it is: never a traceback, never an admit."""
    words, answered = [], 0
    while not words or words[-1] is not Word.ADMIT:
        with actors.stage.git.asking() as git:
            made = decide(asked(git=_Broken(git, answered)), Evidence(files=read_of(actors)))
        words.append(made.word)
        answered += 1
    assert {Word.HOLD} == {*words[:-1]}
    assert answered > 10
