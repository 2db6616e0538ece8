# SPDX-License-Identifier: Apache-2.0
"""Which earlier pushes and other runs count, on real commits: what was wrong before is no fault of the head of now."""

import os
from dataclasses import replace

import msgspec
import pytest

from truegreen.core.errors import ReachProblem
from truegreen.core.outcome import Word
from truegreen.core.policy import BASELINE_FILE
from truegreen.core.policy_read import read_policy
from truegreen.gate.bind import Asked
from truegreen.gate.decide import RULES, decide
from truegreen.gate.ground import unreachable
from truegreen.gate.intake import read_evidence
from truegreen.wiring.rehearsal import records
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.chains import with_earlier_head
from truegreen.wiring.rehearsal.events import queued
from truegreen.wiring.rehearsal.honest import honest, honest_under
from truegreen.wiring.rehearsal.run import try_trick
from truegreen.wiring.rehearsal.setting import SMALL, setting
from truegreen.wiring.rehearsal.tricks import PUSH_RUN, index, own_run, path_of

PATH = {"PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request, judged on its merge."""
    return honest(tmp_path_factory.mktemp("stage"), PATH)


@pytest.fixture
def said(tmp_path):
    """Word, leading code and every code of the decision on a trick."""

    def decided(trick, actors):
        made = try_trick(trick, actors, tmp_path / "evidence")
        return made.word, made.code, [cause.code for cause in made.causes]

    return decided


def with_files(actors, before, j, outcomes=None):
    """The pull request had a head of these files before, and the head of now is measured in the j-th sequence."""
    earlier = actors.stage.git.commit(before, (actors.base,), actors.setting.branch("before"))
    return after(actors, earlier, j, outcomes)


def after(actors, earlier, j, outcomes=None):
    """The stage of a head that follows an earlier one, honest about its sequence."""
    stage = with_earlier_head(actors, earlier)
    rows = tuple(
        records.case_row(name, records.samples(outcomes or actors.cast.passing(j)))
        for name in actors.cast.ids
    )
    return stage.with_evidence(path_of(actors), actors.ledger_of(rows, j=j))


def resolved(actors, text):
    """The base changed the program as the change did, and the head merged it in with ``text`` as the outcome."""
    program = actors.setting.program
    newer = {**actors.files, program: "ANSWER = 3\n"}
    base = actors.stage.git.commit(newer, (actors.base,), actors.setting.base_ref)
    moved = replace(actors, base=base)
    earlier = actors.stage.facts.head_sha
    files = {**actors.files, program: text}
    git = actors.stage.git
    head = git.commit_tree(git.tree(files), (earlier, base), actors.setting.branch("change"))
    facts = msgspec.structs.replace(moved.stage.facts, head_sha=head, base_sha=base)
    listed = moved.stage.index
    runs = tuple(msgspec.structs.replace(run, head_sha=head) for run in listed.runs)
    listed = msgspec.structs.replace(listed, head_sha=head, runs=runs)
    moved = replace(moved, stage=replace(moved.stage, facts=facts, index=listed), files=files)
    return moved.with_honest_evidence(), earlier


def test_an_earlier_push_that_conflicts_by_now_is_another_key(actors, said):
    """The author merged the base in and solved the conflict: nothing holds, and one sequence is spent."""

    def trick(actors):
        return after(*resolved(actors, "ANSWER = 4\n"), j=2)

    assert (Word.ADMIT, "all-lanes-hold", []) == said(trick, actors)


def test_solving_a_conflict_by_going_back_is_no_fresh_start(actors, said):
    """The earlier push conflicts and its own tree is the one of now: its failures still count."""

    def trick(actors):
        return after(*resolved(actors, "ANSWER = 2\n"), j=1)

    assert (Word.HOLD, "attempt-unaccounted") == said(trick, actors)[:2]


BROKEN = {
    "a baseline that nobody can read": {BASELINE_FILE: "{"},
    "a name that no digest takes": {"back\\slash": "x"},
    "a lane without tests": None,
    "a file that judges and is called irrelevant": {"tests/llm/notes.md": "x"},
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_earlier_push_that_gives_no_key_is_another_key(what, said, tmp_path):
    """What was wrong with it then was mended since; it spends one sequence and holds nothing."""
    policy = read_policy(f'{SMALL}irrelevant = ["*.md"]\n'.encode(), kinds=RULES.facts())
    actors = honest_under(setting(policy, "main", "here"), tmp_path / "stage", PATH)
    wrong = BROKEN[what]
    before = {**actors.files, **(wrong or {})}
    if wrong is None:
        before = {path: text for path, text in before.items() if not path.startswith("tests/")}
    assert (Word.ADMIT, "all-lanes-hold", []) == said(lambda actors: with_files(actors, before, j=2), actors)


def test_an_earlier_push_that_was_not_fetched_is_named(actors, said):
    """Force-pushed away: the clone lacks it, and the decision names what to fetch, once."""

    def trick(actors):
        return after(actors, "c" * 40, j=1)

    assert (Word.HOLD, "earlier-push-not-fetched", ["earlier-push-not-fetched"]) == said(trick, actors)


def test_an_earlier_push_without_a_run_of_the_lane_need_not_be_there(actors, said):
    """Nothing was measured on it."""

    def trick(actors):
        return index(actors, lambda listed: msgspec.structs.replace(listed, earlier_heads=("c" * 40,)))

    assert (Word.ADMIT, "all-lanes-hold", []) == said(trick, actors)


def test_in_a_queue_a_push_that_conflicts_by_now_is_no_member(actors, said):
    """The group's tree is not what it gives."""

    def trick(actors):
        moved, earlier = resolved(actors, "ANSWER = 4\n")
        group = queued(moved)
        run = on.run(
            999,
            earlier,
            (on.attempt(1, (on.job(on.job_of(actors.lane)),), ()),),
            workflow=actors.lane.workflow,
        )
        listed = group.stage.index
        heads = (earlier, *listed.earlier_heads)
        listed = msgspec.structs.replace(listed, earlier_heads=heads, runs=(run, *listed.runs))
        cases = tuple(
            records.case_row(name, records.samples(group.cast.passing(3))) for name in group.cast.ids
        )
        stage = replace(group.stage, index=listed)
        return stage.with_evidence(path_of(group), group.ledger_of(cases, j=3))

    assert Word.ADMIT == said(trick, actors)[0]


def test_a_push_that_measured_another_tree_is_no_member(actors, said):
    """The base moved, so that a push of the commit checks out other files than the pull request's merge."""

    def trick(actors):
        program = f"{actors.setting.program}.other"
        base = actors.stage.git.commit(
            {**actors.files, actors.setting.program: "ANSWER = 1\n", program: "1\n"},
            (actors.base,),
            actors.setting.base_ref,
        )
        facts = msgspec.structs.replace(actors.stage.facts, base_sha=base)
        moved = replace(actors, base=base, stage=replace(actors.stage, facts=facts)).with_honest_evidence()
        return replace(moved.stage, index=_pushed(moved))

    assert (Word.ADMIT, "all-lanes-hold", []) == said(trick, actors)


def _pushed(actors):
    """The forge's list with a push of the head beside the pull request's run."""
    jobs = (on.job(on.job_of(actors.lane), started_at=on.EARLIER_AT),)
    run = on.run(
        PUSH_RUN,
        actors.stage.facts.head_sha,
        (on.attempt(1, jobs, (), on.EARLIER_AT),),
        workflow=actors.lane.workflow,
        event="push",
    )
    listed = actors.stage.index
    return msgspec.structs.replace(listed, runs=(run, *listed.runs))


def test_a_run_of_an_event_that_no_lane_samples_is_no_member(actors, said):
    """A dispatch of the workflow on the same commit measures nothing that a gate could read."""

    def trick(actors):
        listed = _pushed(actors)
        runs = tuple(
            msgspec.structs.replace(run, event="workflow_dispatch") if run.run_id == PUSH_RUN else run
            for run in listed.runs
        )
        return replace(actors.stage, index=msgspec.structs.replace(listed, runs=runs))

    assert (Word.ADMIT, "all-lanes-hold", []) == said(trick, actors)


def test_a_queue_needs_an_index_of_its_pull_requests(actors, said):
    """Without them nobody knows what was measured before the queue."""

    def trick(actors):
        return index(queued(actors), lambda listed: msgspec.structs.replace(listed, pull_requests=()))

    assert (Word.HOLD, "attempts-unknown") == said(trick, actors)[:2]


def test_a_lane_whose_job_was_not_listed_holds(actors, said):
    """An attempt that has ended without the job never started it."""

    def trick(actors):
        return own_run(
            actors,
            lambda run: msgspec.structs.replace(
                run, attempts=(msgspec.structs.replace(run.attempts[0], jobs=()),)
            ),
        )

    assert "never-started" in said(trick, actors)[2]


@pytest.mark.parametrize(
    ("code", "asked"),
    [("missing-object", "missing-object"), ("git-too-old", "git-failed"), ("object-too-large", "git-failed")],
)
def test_a_failure_of_git_is_not_called_missing_history(code, asked):
    """Whoever reads the decision is not sent to fetch what is there."""
    told = unreachable(ReachProblem(code, "words"))
    assert (asked, {"problem": "words"}) == (told.code, told.facts)


class _Broken:
    """A clone that answers so many questions and then fails, every time."""

    def __init__(self, git, answered):
        self._git, self._left, self.has_failed = git, answered, False

    def __getattr__(self, name):
        def ask(*arguments):
            self._left -= 1
            if self._left < 0:
                self.has_failed = True
                raise ReachProblem("git-failed", "git ended with 128, asked 0")
            return getattr(self._git, name)(*arguments)

        return ask


@pytest.mark.parametrize("has_push", [True, False])
def test_a_git_that_fails_while_earlier_heads_are_compared_holds(actors, tmp_path, has_push):
    """Whichever question it is: an answer that is not there is no key."""
    moved, earlier = resolved(actors, "ANSWER = 4\n")
    try:
        stage = after(moved, earlier, j=2)
        if has_push:
            stage = replace(stage, index=_pushed(replace(moved, stage=stage)))
        evidence = read_evidence([stage.write(tmp_path / "evidence")])
        words, has_failed = [], True
        with stage.git.asking() as git:
            while has_failed:
                port = _Broken(git, len(words))
                asked = Asked(
                    facts=stage.facts,
                    git=port,
                    index=stage.index_bytes(),
                    now=stage.now,
                    in_ci=True,
                    version="1",
                )
                words.append(decide(asked, evidence).word)
                has_failed = port.has_failed
    finally:
        actors.stage.git.branch("main", actors.base)
    assert {Word.HOLD} == set(words[:-1])
    assert (Word.HOLD if has_push else Word.ADMIT) is words[-1]


def test_two_earlier_pushes_with_one_key_spend_one_sequence(actors, said):
    """What was tried twice is one thing that was tried."""

    def trick(actors):
        files = {**actors.files, actors.setting.program: "ANSWER = 5\n"}
        git = actors.stage.git
        one = git.commit(files, (actors.base,), "one")
        two = git.commit(files, (one,), "two")
        stage = after(actors, one, j=2)
        again = on.run(
            999,
            two,
            (on.attempt(1, (on.job(on.job_of(actors.lane)),), ()),),
            workflow=actors.lane.workflow,
        )
        listed = stage.index
        return replace(
            stage,
            index=msgspec.structs.replace(
                listed, earlier_heads=(*listed.earlier_heads, two), runs=(again, *listed.runs)
            ),
        )

    assert (Word.ADMIT, "all-lanes-hold", []) == said(trick, actors)
