# SPDX-License-Identifier: Apache-2.0
"""What evidence must be about: base, policies, effective mode, announcements; and the exit codes that follow."""

from dataclasses import replace

import msgspec
import pytest

from truegreen.core.errors import UsageProblem
from truegreen.core.outcome import Word
from truegreen.core.policy import BASELINE_FILE, POLICY_FILE, QUARANTINE_FILE, REMOVED_FILE
from truegreen.gate.bind import bind
from truegreen.gate.decide import RULES
from truegreen.wiring.rehearsal.events import at_home, pushed, queued
from truegreen.wiring.rehearsal.heads import with_head
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.tricks import index

ENFORCE = 'mode = "enforce"'
OBSERVE = 'mode = "observe"'


@pytest.fixture
def bound(actors, asked):
    """What binding finds on a stage; the branches are put back."""

    def about(stage=None, **more):
        try:
            return bind(asked(stage, **more), RULES.kinds, RULES.facts())
        finally:
            actors.stage.git.branch("main", actors.base)

    return about


def codes(causes):
    """What is told, by code."""
    return [cause.code for cause in causes]


def put_policy(actors, text, branch="main"):
    """A newer commit of a branch whose policy is ``text``, or that has none."""
    kept = {path: content for path, content in actors.files.items() if path != POLICY_FILE}
    files = {**kept, actors.setting.program: "ANSWER = 1\n"} | ({POLICY_FILE: text} if text else {})
    actors.stage.git.commit(files, (actors.base,), branch)


def test_an_honest_pull_request_is_bound(actors, bound):
    """Base, mode and topology are named; nothing holds."""
    made = bound()
    assert ([], "enforce", "editable", actors.base) == (made.causes, made.mode, made.topology, made.tip)
    assert {"policy", "default_policy", "baseline"} <= {name for name, text in made.texts.items() if text}


@pytest.mark.parametrize("field", ["base_ref", "default_branch"])
def test_a_branch_that_the_clone_lacks_holds(actors, bound, field):
    """Whatever the mode was: without the branch nobody knows it."""
    facts = msgspec.structs.replace(actors.stage.facts, **{field: "gone"})
    made = bound(replace(actors.stage, facts=facts))
    assert (["missing-object"], None, "enforce") == (codes(made.causes), made.ground, made.mode)


def test_a_head_that_shares_no_commit_with_the_base_holds(actors, bound):
    """There is no change to look at."""
    head = actors.stage.git.commit(actors.files, (), "stranger")
    facts = msgspec.structs.replace(actors.stage.facts, head_sha=head)
    assert "missing-object" in codes(bound(replace(actors.stage, facts=facts)).causes)


MODES = [
    # base, default, word of an honest pull request, exit of a hold
    (OBSERVE, OBSERVE, 0),
    (ENFORCE, OBSERVE, 3),
    (OBSERVE, ENFORCE, 3),
    (ENFORCE, ENFORCE, 3),
    ("", ENFORCE, 3),
    ("", OBSERVE, 0),
    ("", "", 0),
    (OBSERVE, "", 0),
    (ENFORCE, "", 3),
]


@pytest.mark.parametrize(("base", "default", "exit_code"), MODES)
def test_the_stricter_mode_of_base_and_default_branch_decides_the_exit(
    actors, tmp_path, base, default, exit_code
):
    """Observe says the word and exits 0; without any policy the first pull request is not red."""
    text = actors.policy.text
    texts = [text.replace(ENFORCE, mode) if mode else "" for mode in (base, default)]
    listed = [one.replace('branches = ["main"]', 'branches = ["main", "next"]') for one in texts]
    put_policy(actors, listed[0], "next")
    put_policy(actors, listed[1], "main")
    facts = msgspec.structs.replace(actors.stage.facts, base_ref="next")
    try:
        made = decide_stage(replace(actors.stage, facts=facts, ledgers={}), tmp_path)
    finally:
        actors.stage.git.branch("main", actors.base)
    assert (Word.HOLD, exit_code) == (made.word, made.exit_code)


def test_an_observed_block_exits_0(actors, tmp_path):
    """An unlisted base blocks by word, not by exit."""
    put_policy(actors, actors.policy.text.replace(ENFORCE, OBSERVE), "main")
    actors.stage.git.run("update-ref", "refs/heads/weak", "refs/heads/main")
    facts = msgspec.structs.replace(actors.stage.facts, base_ref="weak")
    try:
        made = decide_stage(replace(actors.stage, facts=facts), tmp_path)
    finally:
        actors.stage.git.branch("main", actors.base)
    assert (Word.BLOCK, "base-not-gated", 0) == (made.word, made.code, made.exit_code)


def test_what_could_pass_for_ci_s_word_keeps_its_exit_in_observe_mode(actors, tmp_path):
    """A working copy's decision is worth nothing there."""
    put_policy(actors, actors.policy.text.replace(ENFORCE, OBSERVE), "main")
    try:
        made = decide_stage(at_home(actors).stage, tmp_path)
    finally:
        actors.stage.git.branch("main", actors.base)
    assert ("observe", "local-in-ci", 3) == (made.mode, made.code, made.exit_code)


def test_a_policy_that_cannot_be_read_issues_no_decision(actors, bound):
    """A configuration error, with branch, file and line."""
    put_policy(actors, 'schema = "truegreen/policy/v1"\nmode = 1\n[lanes.a]\ntests = "a"\n')
    with pytest.raises(UsageProblem, match=r"main:truegreen\.toml:2"):
        bound()


def test_a_working_folder_s_policy_counts_at_home_and_is_told(actors, bound):
    """In CI it holds."""
    policy = actors.policy.text.encode()
    home, in_ci = (bound(worktree_policy=policy, in_ci=is_ci) for is_ci in (False, True))
    assert ("policy-in-worktree" in codes(home.notes), []) == (True, home.causes)
    assert ["policy-in-worktree"] == codes(in_ci.causes)


def test_a_working_copy_is_told_at_home_and_held_in_ci(actors, bound):
    """It never counts there."""
    stage = at_home(actors).stage
    home, in_ci = (bound(stage, in_ci=is_ci) for is_ci in (False, True))
    assert ("local" in codes(home.notes), []) == (True, home.causes)
    assert ["local-in-ci"] == codes(in_ci.causes)


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"schema": "truegreen/run-index/v2"}'])
def test_a_run_index_that_cannot_be_read_holds(actors, asked, data):
    """It is not taken for an empty one."""
    told = asked()
    made = bind(msgspec.structs.replace(told, index=data), RULES.kinds, RULES.facts())
    assert (["attempts-unknown"], None) == (codes(made.causes), made.ground.index)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (REMOVED_FILE, "removed-unreadable"),
        (QUARANTINE_FILE, "quarantine-unreadable"),
    ],
)
def test_an_announcement_that_cannot_be_read_holds(actors, bound, path, code):
    """It is not taken for none."""
    assert [code] == codes(bound(with_head(actors, {**actors.files, path: "="}).stage).causes)


def test_a_baseline_that_cannot_be_read_excuses_no_harness(actors, bound):
    """Where a lane needs it, the lane says so; here it names no input and no prompt."""
    files = {**actors.files, BASELINE_FILE: "{", actors.policy.check.workflow: "on: push\n"}
    head = actors.stage.git.commit(files, (actors.base,), "change")
    facts = msgspec.structs.replace(actors.stage.facts, head_sha=head)
    assert ["harness-and-code"] == codes(bound(replace(actors.stage, facts=facts)).causes)


def test_harness_alone_is_no_mixture(actors, bound):
    """Documents and announcements beside it are no other code."""
    files = {**actors.files, actors.policy.check.workflow: "on: push\n", "docs/gate.md": "x\n"}
    before = {**files, actors.setting.program: "ANSWER = 1\n"}
    assert [] == bound(with_head(actors, before).stage).causes


def test_a_queue_is_asked_commit_by_commit(actors, bound):
    """Two pull requests may bring harness and code one after the other; one may not bring both."""
    workflow = {actors.policy.check.workflow: "on: push\n"}
    one = {**actors.files, actors.setting.program: "ANSWER = 1\n", **workflow}
    two = {**actors.files, **workflow}
    assert [] == bound(queued(actors, (one, two)).stage).causes
    assert ["harness-and-code"] == codes(bound(queued(actors, (two,)).stage).causes)


def test_a_push_is_not_asked_about_its_harness(actors, bound):
    """It is merged already."""
    files = {**actors.files, actors.policy.check.workflow: "on: push\n"}
    assert [] == bound(pushed(with_head(actors, files)).stage).causes


def test_a_check_that_the_forge_does_not_show_is_a_note(actors, bound):
    """Nobody can require a check of another name."""
    name = actors.policy.check.name
    [run] = actors.stage.index.runs
    [attempt] = run.attempts
    others = tuple(job for job in attempt.jobs if job.name != name)
    runs = (msgspec.structs.replace(run, attempts=(msgspec.structs.replace(attempt, jobs=others),)),)
    without = index(actors, lambda listed: msgspec.structs.replace(listed, runs=runs))
    unlisted = index(actors, lambda listed: msgspec.structs.replace(listed, runs=()))
    told = [codes(bound(stage).notes) for stage in (None, without, unlisted)]
    assert [["topology-editable"], ["topology-editable", "check-not-shown"], ["topology-editable"]] == told


def test_the_quarantine_of_the_merge_counts(actors, bound):
    """An entry that base gained after the head was branched off does not read as dropped."""
    entry = (
        'schema = "truegreen/quarantine/v1"\n[[entry]]\n'
        f'id = "{actors.cast.ids[0]}"\nlane = "{actors.lane.name}"\nowner = "@a"\nreason = "varies"\n'
        'ticket = "T-1"\nsince = 2025-12-30\nexpires = 2026-01-10\n'
    )
    before = {**actors.files, actors.setting.program: "ANSWER = 1\n", QUARANTINE_FILE: entry}
    actors.stage.git.commit(before, (actors.base,), "main")
    made = bound()
    assert "2026-01-10T00:00:00Z" == made.ground.quarantine.excused_until(
        actors.lane.name, actors.cast.ids[0]
    )
