# SPDX-License-Identifier: Apache-2.0
"""The stage of a rehearsal: a clone of the checkout with one change on top, the forge's account, honest evidence.

What it decides: an honest pull request that the gate must admit. What it leaves: fooling the gate, to ``ways``.

- The stage is a bare clone in a temporary folder; the checkout itself is read and never written.
- Policy, baseline and case ids are the checkout's own where it has them, else a small policy with one lane.
- Everything that a way changes is a value here: facts, index, ledgers, files.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from truegreen.core.baseline import SCHEMA as BASELINE_SCHEMA
from truegreen.core.baseline import Baseline, LaneBaseline
from truegreen.core.canonical import write_json
from truegreen.core.errors import ReachProblem
from truegreen.core.event import EventFacts
from truegreen.core.index import SCHEMA as INDEX_SCHEMA
from truegreen.core.index import Artifact, Attempt, Job, Run, RunIndex
from truegreen.core.policy import BASELINE_FILE, POLICY_FILE, Lane, Policy
from truegreen.core.record import Envelope, Producer, artifact_name, file_name, write_record
from truegreen.core.subject import CommitId, Subject, TreeId
from truegreen.sampling.ledger import Case, Components, Endpoint, LedgerBody, RuleUsed, Sample, Wire

REPO = "example/rehearsal"
RUN_ID = 1001
EARLIER_AT = "2026-01-01T10:00:00Z"
STARTED_AT = "2026-01-01T11:00:00Z"
ISSUED_AT = "2026-01-01T11:30:00Z"
NOW = "2026-01-01T12:00:00Z"
LANE = "model-tests"
CASES = ("tests/llm/cases/labels.yaml::labels", "tests/llm/cases/tone.yaml::tone")
PASSES = 6
"""Passes in a row that certify a case under ``smoke`` in the first sequence."""
PASSES_LATER = 9
"""Passes in a row that certify it in the second."""

FILES: Mapping[str, str] = {
    POLICY_FILE: (
        'schema = "truegreen/policy/v1"\nmode = "enforce"\n\n[check]\nname = "truegreen"\n'
        'workflow = ".github/workflows/truegreen.yml"\nbranches = ["main"]\n\n'
        f'[lanes.{LANE}]\ntests = "tests/llm"\n'
    ),
    "tests/llm/cases/labels.yaml": "id: labels\n",
    "tests/llm/cases/tone.yaml": "id: tone\n",
    "src/app.py": "ANSWER = 1\n",
}


class Git:
    """A bare repository that is written with plumbing alone."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Make an empty bare repository at ``folder``."""
        self.folder = folder
        self._environment = {
            "PATH": environment.get("PATH", os.defpath),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in _PERSON.items()
            },
        }
        folder.mkdir(parents=True)
        self.run("init", "--quiet", "--bare", "--initial-branch=main", ".")

    def run(self, *arguments: str, stdin: bytes = b"") -> str:
        """Output of one git command.

        Raises: ReachProblem ``git-failed``.
        """
        done = subprocess.run(  # noqa: S603 - our own arguments, no shell
            ["git", "-C", str(self.folder), *arguments],  # noqa: S607 - git of this machine
            input=stdin,
            env=self._environment,
            capture_output=True,
            check=False,
            timeout=60,
        )
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").strip()[:200]
            raise ReachProblem(
                "git-failed", f"git {arguments[0]} ended with {done.returncode}, asked 0: {words}"
            )
        return done.stdout.decode("utf-8", "replace").strip()

    def commit(self, files: Mapping[str, str | bytes], parents: tuple[str, ...], branch: str) -> str:
        """A commit that holds exactly ``files``, put on ``branch``."""
        rows = []
        for path, text in sorted(files.items()):
            data = text if isinstance(text, bytes) else text.encode()
            rows.append(f"100644 {self.run('hash-object', '-w', '--stdin', stdin=data)}\t{path}")
        self.run("read-tree", "--empty")
        self.run("update-index", "--add", "--index-info", stdin="\n".join(rows).encode() + b"\n")
        tree = self.run("write-tree")
        marks = [mark for parent in parents for mark in ("-p", parent)]
        made = self.run("commit-tree", tree, *marks, "-m", f"rehearsal of {branch}")
        self.run("update-ref", f"refs/heads/{branch}", made)
        return made


_PERSON = {"NAME": "rehearsal", "EMAIL": "rehearsal@example.invalid", "DATE": "2026-01-01T09:00:00Z"}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One pull request as files: what the forge says, what the clone holds, what the lanes left."""

    git: Git
    """The clone."""
    facts: EventFacts
    """The event."""
    index: RunIndex | None
    """The run index."""
    ledgers: Mapping[str, Any] = field(default_factory=dict)
    """Evidence: path below the evidence folder to an Envelope or to bytes."""
    now: str = NOW
    """The clock."""

    def index_bytes(self) -> bytes | None:
        """The run index as stored."""
        return None if self.index is None else write_json(msgspec.to_builtins(self.index))

    def write(self, folder: Path) -> Path:
        """Write the evidence below ``folder`` as a forge's download leaves it."""
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in self.ledgers.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else write_record(content))
        return folder

    def with_evidence(self, path: str, content: Envelope | bytes) -> Stage:
        """The stage with one file more, or another in its place."""
        return replace(self, ledgers={**self.ledgers, path: content})


def evidence_path(lane: str, part: str, attempt: int) -> str:
    """Where the record of a lane's part lies below the evidence folder."""
    return f"{artifact_name(lane, part, attempt)}/{file_name(lane, part, attempt)}"


def job(name: str, *, started_at: str = STARTED_AT, conclusion: str | None = "success", **more: Any) -> Job:
    """One job of the run index."""
    return Job(name=name, status="completed", conclusion=conclusion, started_at=started_at, **more)


def attempt(
    number: int, jobs: tuple[Job, ...], artifacts: tuple[str, ...], started_at: str = STARTED_AT
) -> Attempt:
    """One attempt of a run."""
    return Attempt(
        attempt=number,
        started_at=started_at,
        status="completed",
        conclusion="success",
        jobs=jobs,
        artifacts=tuple(Artifact(name=name, size_bytes=100) for name in artifacts),
        jobs_complete=True,
        artifacts_complete=True,
    )


def run(
    run_id: int, head: str, attempts: tuple[Attempt, ...], *, workflow: str, event: str = "pull_request"
) -> Run:
    """One workflow run."""
    return Run(
        run_id=run_id, workflow=workflow, event=event, head_sha=head, head_repo=REPO, attempts=attempts
    )


def run_index(
    head: str, runs: tuple[Run, ...], *, earlier: tuple[str, ...] = (), numbers: tuple[int, ...] = (7,)
) -> RunIndex:
    """A complete run index."""
    return RunIndex(
        schema=INDEX_SCHEMA,
        forge="github",
        repo=REPO,
        fetched_at=NOW,
        head_sha=head,
        pull_requests=numbers,
        earlier_heads=earlier,
        complete=True,
        runs=runs,
    )


def samples(text: str, first: int = 1) -> tuple[Sample, ...]:
    """``"ppf"`` as numbered samples with one call each."""
    buckets = {"p": "pass", "f": "fail", "t": "transport", "i": "invalid", "c": "claimed-transport"}
    reasons = {"p": "", "f": "wrong-answer", "t": "http-429", "i": "missing", "c": "connection-error"}
    return tuple(
        Sample(n=first + at, bucket=buckets[letter], reason=reasons[letter], calls=1)
        for at, letter in enumerate(text)
    )


def case_row(name: str, taken: tuple[Sample, ...], state: str) -> Case:
    """One row of a ledger."""
    return Case(
        id=name,
        blast_radius="normal",
        owner="@owner",
        feature=None,
        golden=False,
        samples=taken,
        lost=(),
        state=state,
        why="",
    )


def ledger_body(
    policy: Policy,
    digests: tuple[Components, Components],
    cases: tuple[Case, ...],
    *,
    j: int | None = 1,
    cap: int,
) -> LedgerBody:
    """A ledger over these rows whose arithmetic is right."""
    calls = sum(sample.calls for case in cases for sample in case.samples)
    return LedgerBody(
        policy_digest=policy.digest,
        ruler=digests[0],
        subject=digests[1],
        rule=RuleUsed(name="smoke", samples=0, cap=cap, j=j),
        engine="serial",
        interpreter="CPython 3.11.7",
        endpoint=Endpoint(
            host="models.example.invalid", models_asked=("m",), models_served=("m",), fingerprints=()
        ),
        wire=Wire(
            calls=calls,
            attributed=calls,
            unattributed=0,
            transport=0,
            prompt_tokens=10 * calls,
            completion_tokens=calls,
        ),
        started_at=STARTED_AT,
        wall_ms=1000,
        ended="measured",
        planned=tuple(case.id for case in cases),
        cases=cases,
        chain=(),
        undeclared_inputs=(),
    )


def envelope(
    lane: Lane, subject: Subject, body: LedgerBody, *, part: str = "all", issued_at: str = ISSUED_AT
) -> Envelope:
    """The record of a ledger."""
    return Envelope(
        schema="truegreen/sample-ledger/v1",
        lane=lane.name,
        part=part,
        subject=subject,
        producer=Producer(name="truegreen", version="0", verb="sample"),
        issued_at=issued_at,
        body=msgspec.to_builtins(body),
    )


def subject_of(
    facts: EventFacts, *, base: str, head_tree: str, tested_tree: str, attempt_number: int = 1
) -> Subject:
    """The subject that an honest job would state."""
    return Subject(
        repo=facts.repo,
        head_repo=facts.head_repo,
        pull_request=facts.pull_request,
        head_sha=CommitId(facts.head_sha),
        base_ref=facts.base_ref,
        base_sha=CommitId(base),
        head_tree=TreeId(head_tree),
        tested_tree=TreeId(tested_tree),
        run_id=facts.run_id,
        run_attempt=attempt_number,
        workflow=facts.workflow,
        event=facts.event,
    )


def baseline_text(lane: str, ruler: Components, ids: tuple[str, ...]) -> bytes:
    """A committed baseline for one lane."""
    agreed = LaneBaseline(
        ruler=ruler.digest,
        components=ruler.components,
        case_ids=ids,
        inputs=(),
        prompts=(),
        endpoint=None,
        models_served=(),
        previous=None,
        reason="first cases",
    )
    return write_json(msgspec.to_builtins(Baseline(schema=BASELINE_SCHEMA, lanes={lane: agreed})))


__all__ = ["BASELINE_FILE", "CASES", "FILES", "LANE", "NOW", "Git", "Stage"]
