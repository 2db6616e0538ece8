# SPDX-License-Identifier: Apache-2.0
"""The honest pull request of a rehearsal: everything in order, so that the gate must admit.

The stage has one base commit and one head commit; its ledger has as many passes as the rule asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from truegreen.core.baseline import read_baseline
from truegreen.core.event import EventFacts
from truegreen.core.index import Run
from truegreen.core.lane_digests import blobs_to_digest, lane_digests
from truegreen.core.policy import BASELINE_FILE, POLICY_FILE, Lane, Policy
from truegreen.core.policy_read import read_policy
from truegreen.core.record import Envelope, artifact_name
from truegreen.forges.git import GitRepository
from truegreen.gate.decide import RULES
from truegreen.sampling.ledger import Case, Components
from truegreen.wiring.rehearsal import stage as on

WORKFLOW = ".github/workflows/truegreen.yml"


@dataclass(frozen=True, kw_only=True)
class Actors:
    """What the ways of a rehearsal need to make records of their own."""

    stage: on.Stage
    """The honest stage."""
    policy: Policy
    """Base's policy."""
    lane: Lane
    """Its one lane."""
    base: str
    """Base commit."""
    files: Mapping[str, str | bytes]
    """Files of the head."""
    environment: Mapping[str, str]
    """Environment for git."""

    def digests_of(self, tree: str) -> tuple[Components, Components]:
        """(ruler, subject) of a tree of the clone."""
        return digests_of(self.stage.git, tree, self.policy, self.lane, self.environment)

    def ledger(self, outcomes: str = "p" * on.PASSES, state: str = "stable-pass") -> Envelope:
        """An honest ledger in which every case has these outcomes."""
        rows = tuple(on.case_row(name, on.samples(outcomes), state) for name in on.CASES)
        return self.ledger_of(rows)

    def ledger_of(self, rows: tuple[Case, ...], attempt: int = 1) -> Envelope:
        """An honest ledger with these rows."""
        facts = self.stage.facts
        tree = self.stage.git.run("rev-parse", f"{facts.head_sha}^{{tree}}")
        body = on.ledger_body(self.policy, self.digests_of(tree), rows, cap=self.lane.cap)
        subject = on.subject_of(
            facts, base=self.base, head_tree=tree, tested_tree=tree, attempt_number=attempt
        )
        return on.envelope(self.lane, subject, body)


def honest(
    folder: Path, environment: Mapping[str, str], files: Mapping[str, str | bytes] = on.FILES
) -> Actors:
    """An honest pull request in a new bare repository below ``folder``."""
    git = on.Git(folder / "clone.git", environment)
    policy = read_policy(_bytes(files[POLICY_FILE]), kinds=RULES.facts())
    lane = policy.lanes[0]
    bare = git.commit(files, (), "main")
    ruler, _ = digests_of(git, git.run("rev-parse", f"{bare}^{{tree}}"), policy, lane, environment)
    agreed = {**files, BASELINE_FILE: on.baseline_text(lane.name, ruler, on.CASES)}
    base = git.commit(agreed, (bare,), "main")
    changed = {**agreed, "src/app.py": "ANSWER = 2\n"}
    head = git.commit(changed, (base,), "change")
    facts = _facts(head, base)
    bare_stage = on.Stage(git=git, facts=facts, index=on.run_index(head, (_run(head, lane),)))
    actors = Actors(
        stage=bare_stage, policy=policy, lane=lane, base=base, files=changed, environment=environment
    )
    path = on.evidence_path(lane.name, "all", 1)
    return replace(actors, stage=bare_stage.with_evidence(path, actors.ledger()))


def digests_of(
    git: on.Git, tree: str, policy: Policy, lane: Lane, environment: Mapping[str, str]
) -> tuple[Components, Components]:
    """(ruler, subject) of a tree, as an honest producer computes them."""
    with GitRepository(git.folder, environment) as port:
        entries = port.entries(tree)
        baseline = next((read_baseline(port.blob(e.oid)) for e in entries if e.path == BASELINE_FILE), None)
        found = lane_digests(
            entries, policy, lane, baseline, port.blob_digests(blobs_to_digest(entries)), port.blob
        )
    return (
        Components(digest=found.ruler.digest, components=found.ruler.components),
        Components(digest=found.subject.digest, components=found.subject.components),
    )


def _facts(head: str, base: str) -> EventFacts:
    return EventFacts(
        event="pull_request",
        repo=on.REPO,
        head_repo=on.REPO,
        pull_request=7,
        head_sha=head,
        base_ref="main",
        base_sha=base,
        group_base=None,
        default_branch="main",
        run_id=on.RUN_ID,
        run_attempt=1,
        workflow=WORKFLOW,
    )


def _run(head: str, lane: Lane) -> Run:
    jobs = (on.job(lane.job),)
    attempt = on.attempt(1, jobs, (artifact_name(lane.name, "all", 1),))
    return on.run(on.RUN_ID, head, (attempt,), workflow=lane.workflow)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
