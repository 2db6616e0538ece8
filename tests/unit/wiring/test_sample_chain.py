# SPDX-License-Identifier: Apache-2.0
"""Attempts of one pull request: what was measured before is gone on from, and nothing is passed over."""

import json
from textwrap import dedent

import msgspec
import pytest
from sample_kit import POLICY, buckets, git, run, short

from factories.github_event import github_event
from truegreen.core.errors import EvidenceProblem, ReachProblem
from truegreen.core.event import EventFacts
from truegreen.core.index import SCHEMA, Artifact, Attempt, Job, Run, RunIndex
from truegreen.core.record import artifact_name, read_record, write_record
from truegreen.gate.decide import decide
from truegreen.wiring.gate import Request, decided

WORKFLOW = ".github/workflows/truegreen.yml"
LANE = "model-tests"
TESTS = """
    import app


    def test_good():
        assert "yes" == app.ask("good")


    def test_bad():
        assert "yes" == app.ask("bad")
"""


class PullRequest:
    """A repository on a branch with a change, and the forge's account of its runs."""

    def __init__(self, root, folder, environment):
        self.root, self.folder, self.environment = root, folder, environment
        self.base = git(root, "rev-parse", "HEAD")
        git(root, "checkout", "--quiet", "-b", "change")
        self.heads = []
        self.attempts = {}
        self.folders = []

    def push(self, name="prompts/p.txt", text="one"):
        """A commit; None for an empty one."""
        if name is None:
            git(self.root, "commit", "--quiet", "--allow-empty", "--message", "empty")
        else:
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            git(self.root, "add", "--all")
            git(self.root, "commit", "--quiet", "--message", "change")
        self.heads.append(git(self.root, "rev-parse", "HEAD"))
        return self

    def begin(self, run_id, attempt, **more):
        """The lane's job has started in this attempt."""
        minute = 10 * len(self.attempts)
        fields = {"status": "completed", "conclusion": "success", "artifacts": True, "complete": True, **more}
        self.attempts[run_id, attempt] = (self.heads[-1], f"2026-11-29T17:{minute:02d}:00Z", fields)

    def index(self):
        """The run index as a step before would have stored it."""
        runs = []
        for run_id in dict.fromkeys(run_id for run_id, _ in self.attempts):
            mine = {a: row for (r, a), row in self.attempts.items() if r == run_id}
            runs.append(
                Run(
                    run_id=run_id,
                    workflow=WORKFLOW,
                    event="pull_request",
                    head_sha=next(iter(mine.values()))[0],
                    head_repo="octo/app",
                    attempts=tuple(self._attempt(number, *row) for number, row in mine.items()),
                )
            )
        index = RunIndex(
            schema=SCHEMA,
            forge="github",
            repo="octo/app",
            fetched_at="2026-11-29T18:00:00Z",
            head_sha=self.heads[-1],
            pull_requests=(7,),
            earlier_heads=tuple(self.heads[:-1]),
            complete=True,
            runs=tuple(runs),
        )
        path = self.folder / "run-index.json"
        path.write_bytes(msgspec.json.encode(index))
        return path

    @staticmethod
    def _attempt(number, _head, at, fields):
        job = Job(name=LANE, status=fields["status"], conclusion=fields["conclusion"], started_at=at)
        named = Artifact(name=artifact_name(LANE, "all", number), size_bytes=1)
        return Attempt(
            attempt=number,
            started_at=at,
            status=fields["status"],
            conclusion=fields["conclusion"],
            jobs=(job,),
            artifacts=(named,) if fields["artifacts"] else (),
            jobs_complete=True,
            artifacts_complete=fields["complete"],
        )

    def variables(self, run_id, attempt):
        """What the runner exports."""
        facts = EventFacts(
            event="pull_request",
            repo="octo/app",
            head_repo="octo/app",
            pull_request=7,
            head_sha=self.heads[-1],
            base_ref="main",
            base_sha=self.base,
            group_base=None,
            default_branch="main",
            run_id=run_id,
            run_attempt=attempt,
            workflow=WORKFLOW,
        )
        return {**self.environment, **github_event(facts, self.folder)}

    def sample(self, run_id, attempt, *, earlier=True, with_index=True, **asked):
        """One attempt of the lane's job; its artifact is kept."""
        if (run_id, attempt) not in self.attempts:
            self.begin(run_id, attempt, status="in_progress", conclusion=None, artifacts=False)
        sampled = run(
            self.root,
            self.variables(run_id, attempt),
            earlier=tuple(self.folders) if earlier else (),
            run_index=self.index() if with_index else None,
            **asked,
        )
        folder = self.folder / f"{run_id}-{attempt}" / artifact_name(LANE, "all", attempt)
        folder.mkdir(parents=True)
        sampled.path.replace(folder / sampled.path.name)
        self.folders.append(folder.parent)
        head, at, fields = self.attempts[run_id, attempt]
        done = {**fields, "status": "completed", "conclusion": "success", "artifacts": True}
        self.attempts[run_id, attempt] = (head, at, done)
        return sampled.body

    def decide(self, run_id, attempt):
        """What the gate says to everything that was left."""
        decision, _ = decided(
            Request(
                evidence=tuple(self.folders),
                repository=self.root,
                run_index=self.index(),
                subject_from=None,
                policy_from="base",
                only_lane=LANE,
                base=None,
                bundle=None,
                decision=None,
            ),
            self.variables(run_id, attempt),
            "0",
        )
        return decision


@pytest.fixture
def pull_request(repository, environment, tmp_path):
    """A change to a prompt under two model tests."""
    root = repository({"tests/llm/test_model.py": TESTS, "prompts/p.txt": "zero"})
    return PullRequest(root, tmp_path, environment).push()


def test_without_an_index_nothing_is_gone_on_from(pull_request):
    """And nobody claims to know which sequence this is."""
    body = pull_request.sample(1, 1, with_index=False)
    assert ((), None) == (body.chain, body.rule.j)


def test_a_second_attempt_goes_on_where_the_first_stopped(pull_request):
    """A final failure is not asked again, a pass is not bought twice; the first attempt's samples are repeated."""
    first = pull_request.sample(1, 1)
    assert ((), 1) == (first.chain, first.rule.j)
    second = pull_request.sample(1, 2)
    assert 0 == second.wire.calls
    assert {"test_good": [], "test_bad": []} == buckets(second)
    (link,) = second.chain
    assert ("samples", 1, 1, pull_request.heads[0]) == (
        link.standing,
        link.run_id,
        link.run_attempt,
        link.head_sha,
    )
    assert {case.id: case.samples for case in first.cases} == {case.id: case.samples for case in link.cases}
    assert {case.id: case.state for case in first.cases} == {case.id: case.state for case in second.cases}


def test_an_undecided_case_is_continued_by_number(pull_request):
    """A cap in the first attempt: the second goes on with the next number."""
    policy = pull_request.root / "truegreen.toml"
    policy.write_text(policy.read_text() + "max_calls = 3\n")
    pull_request.push(None)
    git(pull_request.root, "commit", "--quiet", "--all", "--message", "cap")
    git(pull_request.root, "branch", "--force", "main", "HEAD")
    pull_request.heads[-1] = git(pull_request.root, "rev-parse", "HEAD")
    first = pull_request.sample(1, 1, slots=1)
    second = pull_request.sample(1, 2, slots=1)
    assert 3 == first.wire.calls == second.wire.calls
    numbers = {
        short(case.id): [one.n for one in case.samples] + [one.n for one in again.samples]
        for case, again in zip(first.cases, second.cases, strict=True)
    }
    assert all(told == list(range(1, len(told) + 1)) for told in numbers.values())
    assert 6 == sum(len(told) for told in numbers.values())


def test_the_policy_is_the_one_of_the_base(pull_request):
    """A change to the policy lands by itself, and is judged by the policy that it changes."""
    before = pull_request.sample(1, 1)
    policy = pull_request.root / "truegreen.toml"
    policy.write_text(policy.read_text() + "max_calls = 1\n")
    git(pull_request.root, "commit", "--quiet", "--all", "--message", "a weaker policy")
    pull_request.push(None)
    after = pull_request.sample(2, 1)
    assert before.policy_digest == after.policy_digest
    assert "measured" == after.ended


def test_an_empty_commit_goes_on_and_another_prompt_is_a_sequence_of_its_own(pull_request):
    """The first key's samples are named beside it as another's."""
    pull_request.sample(1, 1)
    pull_request.push(None)
    same = pull_request.sample(2, 1)
    assert (["samples"], 1, 0) == ([link.standing for link in same.chain], same.rule.j, same.wire.calls)
    pull_request.push(text="two")
    other = pull_request.sample(3, 1)
    assert ([], 2) == ([link.standing for link in other.chain], other.rule.j)
    assert other.wire.calls > 0


def test_an_attempt_that_left_nothing_is_named_so(pull_request):
    """Its complete list of artifacts has none of the lane; it has spent a sequence, as the gate counts it."""
    pull_request.begin(1, 1, conclusion="failure", artifacts=False)
    body = pull_request.sample(1, 2)
    assert [("left-none", None)] == [(link.standing, link.digest) for link in body.chain]
    assert 2 == body.rule.j


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"artifacts": True}, "earlier-missing"),
        ({"artifacts": False, "complete": False}, "earlier-missing"),
        ({"status": "in_progress", "conclusion": None}, "earlier-still-running"),
    ],
)
def test_an_attempt_that_cannot_be_accounted_for_stops_the_run(pull_request, fields, code):
    """Before any call: a ledger that ignores it would be worth nothing."""
    pull_request.begin(1, 1, **fields)
    with pytest.raises(ReachProblem) as caught:
        pull_request.sample(1, 2)
    assert code == caught.value.code


def test_a_record_that_another_embeds_need_not_be_fetched(pull_request):
    """The second attempt's ledger repeats the first's."""
    first = pull_request.sample(1, 1)
    pull_request.sample(1, 2)
    del pull_request.folders[0]
    third = pull_request.sample(1, 3)
    assert [(1, "samples"), (2, "samples")] == [(link.run_attempt, link.standing) for link in third.chain]
    assert first.cases[0].samples == third.chain[0].cases[0].samples


def test_two_records_of_one_attempt_contradict_each_other(pull_request):
    """Whichever is the true one."""
    pull_request.sample(1, 1)
    (folder,) = pull_request.folders
    path = next(folder.rglob("*.truegreen.json"))
    other = pull_request.folder / "other" / path.parent.name
    other.mkdir(parents=True)
    (other / path.name).write_bytes(path.read_bytes().replace(b'"wall_ms":', b'"wall_ms":1'))
    pull_request.folders.append(other.parent)
    with pytest.raises(EvidenceProblem) as caught:
        pull_request.sample(1, 2)
    assert "earlier-twice" == caught.value.code
    assert caught.value.contradictory


def test_a_refused_file_among_the_earlier_records_stops_the_run(pull_request):
    """Half a record is no record."""
    pull_request.sample(1, 1)
    path = next(pull_request.folders[0].rglob("*.truegreen.json"))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(EvidenceProblem):
        pull_request.sample(1, 2)


def test_ids_that_change_between_attempts_at_the_same_files_are_unstable(pull_request):
    """An id that holds the time of collection."""
    root = pull_request.root
    text = """
    import time

    import pytest


    @pytest.mark.parametrize("at", [time.time_ns()])
    def test_one(at):
        pass
    """
    (root / "tests" / "llm" / "test_time.py").write_text(dedent(text))
    pull_request.push()
    pull_request.sample(1, 1)
    with pytest.raises(EvidenceProblem) as caught:
        pull_request.sample(1, 2)
    assert "unstable-id" == caught.value.code


def test_the_gate_accepts_the_chain(pull_request):
    """Nothing in the records of two attempts contradicts what the gate recomputes."""
    pull_request.sample(1, 1)
    pull_request.sample(1, 2)
    decision = pull_request.decide(1, 2)
    codes = {cause.code for cause in decision.causes}
    assert {"case-broken", "no-baseline"} == codes, json.dumps(msgspec.to_builtins(decision.causes), indent=1)
    assert {"accepted"} == {file.standing for file in decision.files}
    assert decide is not None


def test_records_that_were_written_are_the_ones_that_are_read(pull_request):
    """The record names run, attempt, tree and base as the event has them."""
    pull_request.sample(1, 1)
    path = next(pull_request.folders[0].rglob("*.truegreen.json"))
    envelope, _ = read_record(path.read_bytes())
    subject = envelope.subject
    assert (1, 1, pull_request.heads[0], pull_request.base) == (
        subject.run_id, subject.run_attempt, subject.head_sha, subject.base_sha,
    )  # fmt: skip
    assert git(pull_request.root, "rev-parse", "HEAD^{tree}") == subject.tested_tree


@pytest.mark.parametrize("may_replay", [True, False])
def test_an_attempt_that_was_replayed_judged_something_else(repository, environment, tmp_path, may_replay):
    """Where the policy lets it be replayed it is named with another key, and the gate agrees; elsewhere it is missing."""
    files = {"tests/llm/test_model.py": TESTS, "prompts/p.txt": "zero"}
    if may_replay:
        files["truegreen.toml"] = dedent(POLICY) + 'no_secrets = "replay"\n'
    folder = tmp_path / "forge"
    folder.mkdir()
    pull_request = PullRequest(repository(files), folder, environment).push()
    pull_request.sample(1, 1)
    path = next(pull_request.folders[0].rglob("*.truegreen.json"))
    envelope, _ = read_record(path.read_bytes())
    body = {name: envelope.body[name] for name in ("policy_digest", "ruler", "subject")}
    replay = {**body, "folder": "cassettes", "recordings": [], "findings": [], "session": None}
    made = msgspec.structs.replace(envelope, schema="truegreen/contract-check/v1", body=replay)
    path.write_bytes(write_record(made))
    if not may_replay:
        with pytest.raises(ReachProblem) as caught:
            pull_request.sample(1, 2)
        assert "earlier-missing" == caught.value.code
        return
    second = pull_request.sample(1, 2)
    assert [("other-key", ())] == [(link.standing, link.cases) for link in second.chain]
    codes = {cause.code for cause in pull_request.decide(1, 2).causes}
    assert set() == codes & {"attempt-unaccounted", "chain-contradicts", "wrong-kind"}
