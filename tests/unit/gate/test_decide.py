# SPDX-License-Identifier: Apache-2.0
"""A decision says what is so: of a missing file, of an earlier decision, of a working copy, of a clone that fails."""

import os
from dataclasses import replace

import msgspec
import pytest

from truegreen.core.errors import ReachProblem
from truegreen.core.outcome import Word
from truegreen.gate.bind import Asked
from truegreen.gate.decide import decide
from truegreen.gate.intake import Evidence, read_evidence
from truegreen.wiring.gate import decision_record
from truegreen.wiring.rehearsal.events import at_home
from truegreen.wiring.rehearsal.heads import unreadable_new_policy
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.tricks import without_evidence


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request."""
    return honest(tmp_path_factory.mktemp("stage"), {"PATH": os.environ["PATH"]})


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
