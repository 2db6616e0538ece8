# SPDX-License-Identifier: Apache-2.0
"""The gate as CI runs it: a payload, a bare clone, a stored run index and downloaded artifacts."""

import json
import os
import shutil

import msgspec
import pytest

from factories.github_event import github_event
from truegreen.core.canonical import read_json, write_json
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.outcome import Word
from truegreen.core.record import read_record
from truegreen.forges.git import GitRepository
from truegreen.gate.bind import Asked
from truegreen.gate.decide import decide
from truegreen.gate.intake import read_evidence
from truegreen.wiring.gate import Request, decided, replayed
from truegreen.wiring.rehearsal import events, tricks
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.honest import honest

PATH = {"PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request."""
    return honest(tmp_path_factory.mktemp("stage"), PATH)


def without_job(run, name):
    """The run as if it had no job of that name."""
    attempts = tuple(
        msgspec.structs.replace(one, jobs=tuple(job for job in one.jobs if job.name != name))
        for one in run.attempts
    )
    return msgspec.structs.replace(run, attempts=attempts)


@pytest.fixture
def request_for(actors, tmp_path, monkeypatch):
    """What the command line asks, and the environment of the step."""
    monkeypatch.setattr("truegreen.wiring.gate.SystemClock.now", lambda _: on.NOW)

    def made(stage=None, **more):
        stage = stage or actors.stage
        index = tmp_path / "run-index.json"
        index.write_bytes(stage.index_bytes())
        asked = Request(
            evidence=(stage.write(tmp_path / "evidence"),),
            repository=stage.git.folder,
            run_index=index,
            subject_from="github",
            policy_from="base",
            only_lane=None,
            base=None,
            bundle=tmp_path / "bundle.json",
            decision=tmp_path / "decision.truegreen.json",
        )
        return msgspec.structs.replace(asked, **more), PATH | github_event(stage.facts, tmp_path)

    return made


def test_an_honest_pull_request_is_admitted(request_for):
    """Word, exit code and line say so."""
    decision, _ = decided(*request_for(), "1")
    assert (Word.ADMIT, 0) == (decision.word, decision.exit_code)
    assert decision.line.startswith("ADMIT 2 of 2 cases pass")


def test_a_decision_costs_three_processes_of_git(request_for, tmp_path):
    """One conversation about objects; branches and fork are one question each. A head that lags costs a merge more."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/git"
    program.write_text(f'#!/bin/sh\necho "$2" >>{tmp_path}/asked\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    request, environment = request_for()
    decided(request, environment | {"PATH": f"{program.parent}:{PATH['PATH']}"}, "1")
    asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert ["cat-file", "for-each-ref", "merge-base"] == sorted(asked)


def test_the_decision_is_a_record(request_for, tmp_path):
    """It is written once as canonical bytes and reads back as it was made."""
    _, record = decided(*request_for(), "1")
    assert record == (tmp_path / "decision.truegreen.json").read_bytes()
    envelope, _ = read_record(record)
    assert ("truegreen/decision/v1", "gate") == (envelope.schema, envelope.producer.verb)


def test_a_bundle_gives_the_same_bytes_without_the_clone(request_for, tmp_path):
    """Everything that the decision was made from is in it."""
    made, record = decided(*request_for(), "1")
    again, same = replayed(tmp_path / "bundle.json", "1")
    assert (made, record) == (again, same)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("now",), "2026-02-01T12:00:00Z"),
        (("facts", "base_sha"), "d" * 40),
        (("in_ci",), False),
        (("only_lane",), "model-tests"),
    ],
)
def test_a_bundle_that_was_changed_is_noticed(request_for, tmp_path, path, value):
    """Whoever edits an input cannot keep the decision; the place that differs is named."""
    decided(*request_for(), "1")
    file = tmp_path / "bundle.json"
    bundle = read_json(file.read_bytes())
    at = bundle
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    file.write_bytes(write_json(bundle))
    if path == ("facts", "base_sha"):  # a fact that no honest decision depends on
        replayed(file, "1")
        return
    with pytest.raises(EvidenceProblem) as caught:
        replayed(file, "2")
    assert ("replay-differs", True) == (caught.value.code, caught.value.contradictory)


def test_a_question_that_the_bundle_has_no_answer_to_is_a_problem(request_for, tmp_path):
    """A bundle without git's answers decides nothing."""
    decided(*request_for(), "1")
    file = tmp_path / "bundle.json"
    bundle = read_json(file.read_bytes())
    file.write_bytes(write_json({**bundle, "git": {}}))
    with pytest.raises(EvidenceProblem) as caught:
        replayed(file, "1")
    assert "not-in-bundle" == caught.value.code


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"schema":"truegreen/bundle/v1"}', b"[1]", b"not json", b"\xff\xfe"]
)
def test_what_is_no_bundle_is_refused(tmp_path, data):
    """One clear line, never a traceback."""
    file = tmp_path / "bundle.json"
    file.write_bytes(data)
    with pytest.raises(EvidenceProblem):
        replayed(file, "1")


def test_a_bundle_of_another_schema_is_refused(request_for, tmp_path):
    """A later form is not guessed at."""
    decided(*request_for(), "1")
    file = tmp_path / "bundle.json"
    bundle = read_json(file.read_bytes())
    file.write_bytes(write_json({**bundle, "schema": "truegreen/bundle/v2"}))
    with pytest.raises(EvidenceProblem) as caught:
        replayed(file, "1")
    assert "bad-bundle" == caught.value.code


def test_one_lane_alone_is_never_an_admit(request_for):
    """It says HOLDS, and an unknown lane is a usage error."""
    request, environment = request_for(only_lane="model-tests")
    decision, _ = decided(request, environment, "1")
    assert decision.line.startswith("HOLDS ")
    with pytest.raises(UsageProblem) as caught:
        decided(msgspec.structs.replace(request, only_lane="nobody"), environment, "1")
    assert "unknown-lane-asked" == caught.value.code


def test_no_run_index_is_no_green(request_for):
    """Without the forge's list nobody knows which attempts there were."""
    request, environment = request_for(run_index=None)
    decision, _ = decided(request, environment, "1")
    assert (Word.HOLD, 3, "attempts-unknown") == (decision.word, decision.exit_code, decision.code)


def test_evidence_that_is_not_there_holds(request_for, tmp_path):
    """A path that does not exist is absence, not a usage error."""
    request, environment = request_for(evidence=(tmp_path / "nowhere",))
    decision, _ = decided(request, environment, "1")
    assert (Word.HOLD, 3) == (decision.word, decision.exit_code)


@pytest.mark.parametrize("name", ["nothing.json", ".", "pipe"])
def test_what_is_no_file_is_named_and_never_waited_for(request_for, tmp_path, name):
    """As run index, as bundle, and as the working copy's policy."""
    os.mkfifo(tmp_path / "pipe")
    for call in (
        lambda: replayed(tmp_path / name, "1"),
        lambda: decided(*request_for(run_index=tmp_path / name), "1"),
    ):
        with pytest.raises(ReachProblem) as caught:
            call()
        assert "file-unreadable" == caught.value.code
    with pytest.raises(UsageProblem) as caught:
        decided(*request_for(policy_from="worktree"), "1")
    assert "no-policy" == caught.value.code


def test_a_policy_of_the_working_copy_never_counts_in_ci(actors, request_for, tmp_path):
    """It holds, whatever it says."""
    work = tmp_path / "work"
    work.mkdir()
    on_disk = actors.stage.git.run("rev-parse", "--git-dir")
    assert on_disk
    request, environment = request_for(policy_from="worktree", repository=actors.stage.git.folder)
    (actors.stage.git.folder / "truegreen.toml").write_text(actors.policy.text, encoding="utf-8")
    try:
        decision, _ = decided(request, environment, "1")
    finally:
        (actors.stage.git.folder / "truegreen.toml").unlink()
    assert (3, "policy-in-worktree") == (decision.exit_code, decision.code)


def test_the_embedded_texts_are_the_base_s(request_for, actors):
    """Policy, table and quarantine of a decision can be read from it."""
    decision, _ = decided(*request_for(), "1")
    assert actors.policy.text == decision.embedded["policy"]
    assert "sample-ledger" in decision.embedded["tables"]
    assert decision.embedded["quarantine"] is None
    assert json.loads(decision.embedded["baseline"])["lanes"]


def test_a_check_of_another_name_is_told(request_for, actors):
    """The policy's name is what the forge must show; a note, because the forge alone requires it."""
    decision, _ = decided(*request_for(), "1")
    assert "check-not-shown" not in [note.code for note in decision.notes]
    stage = tricks.index(
        actors,
        lambda index: msgspec.structs.replace(
            index, runs=tuple(without_job(run, "truegreen") for run in index.runs)
        ),
    )
    decision, _ = decided(*request_for(stage), "1")
    assert (Word.ADMIT, True) == (decision.word, "check-not-shown" in [note.code for note in decision.notes])


def at_home(actors, folder, **more):
    """Code of a decision at home about evidence of one commit, with the facts of what lies there now."""
    home = events.at_home(actors).stage
    facts = msgspec.structs.replace(home.facts, **more)
    with GitRepository(home.git.folder, PATH) as git:
        asked = Asked(facts=facts, git=git, index=None, now=home.now, in_ci=False, version="0")
        made = decide(asked, read_evidence([home.write(folder)]))
    return made.word, made.code


def test_at_home_files_that_were_edited_after_sampling_are_told_as_such(actors, tmp_path):
    """Nobody merges anything there, so that no word is said of git's versions."""
    other = actors.stage.git.run("rev-parse", f"{actors.base}^{{tree}}")
    assert (Word.ADMIT, "all-lanes-hold") == at_home(actors, tmp_path)
    assert (Word.HOLD, "files-changed") == at_home(actors, tmp_path, dirty=True, head_tree=other)


def test_at_home_evidence_of_another_commit_is_only_old(actors, tmp_path):
    """After a commit or a rebase nobody has to find out who wrote it."""
    assert (Word.HOLD, "stale-head") == at_home(actors, tmp_path, head_sha=actors.base)
