# SPDX-License-Identifier: Apache-2.0
"""The honest pull request of a rehearsal: everything in order, so that the gate must admit.

What it decides: a base that agrees on every lane's cases, one change on top, and a ledger a lane with as many
passes as its rule asks for. What it leaves: the policy, to ``setting``; fooling the gate, to ``tricks``.

- The clone is a bare one in a temporary folder; the checkout itself is read and never written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from truegreen.core.baseline import LaneBaseline, read_baseline
from truegreen.core.event import EventFacts
from truegreen.core.index import Run
from truegreen.core.lane_digests import blobs_to_digest, lane_digests
from truegreen.core.policy import BASELINE_FILE, Lane, Policy
from truegreen.core.record import Envelope, artifact_name
from truegreen.sampling.ledger import Case, Components, Link
from truegreen.wiring.rehearsal import records, replays
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.clone import Files, Git
from truegreen.wiring.rehearsal.setting import Cast, Setting, setting_of

CHANGED = "ANSWER = 2\n"
"""What the change makes of the program."""


@dataclass(frozen=True, kw_only=True)
class Actors:
    """What the ways of a rehearsal need to make records of their own."""

    setting: Setting
    """Policy, lanes and names."""
    stage: on.Stage
    """The honest stage."""
    base: str
    """Base commit."""
    files: Files
    """Files of the head."""

    @property
    def policy(self) -> Policy:
        """Base's policy."""
        return self.setting.policy

    @property
    def cast(self) -> Cast:
        """The lane that is to be fooled, with its cases."""
        return self.setting.lead

    @property
    def lane(self) -> Lane:
        """The lane that is to be fooled."""
        return self.cast.lane

    def tree_of(self, commit: str) -> str:
        """Tree of a commit of the clone."""
        with self.stage.git.asking() as port:
            return port.tree_of(commit)

    def tested_tree(self, lane: Lane, head: str, base: str) -> str:
        """The tree that an honest job of the lane has checked out."""
        with self.stage.git.asking() as port:
            merged = port.merge_tree(head, base).tree if lane.tree == "merge" else port.tree_of(head)
            return merged or ""

    def digests_of(self, tree: str, lane: Lane | None = None) -> tuple[Components, Components]:
        """(ruler, subject) of a tree of the clone."""
        return digests_of(self.stage.git, tree, self.policy, lane or self.lane)

    def ledger(self, outcomes: str = "", state: str = "", *, cast: Cast | None = None) -> Envelope:
        """A ledger in which every case has these outcomes, or passes; honest unless a state is given."""
        cast = cast or self.cast
        taken = records.samples(outcomes or cast.passing())
        return self.ledger_of(tuple(records.case_row(name, taken, state) for name in cast.ids), cast=cast)

    def ledger_of(  # noqa: PLR0913 - everything that tells one ledger from another
        self,
        rows: tuple[Case, ...],
        attempt: int = 1,
        *,
        cast: Cast | None = None,
        chain: tuple[Link, ...] = (),
        j: int = 1,
        facts: EventFacts | None = None,
        base: str = "",
    ) -> Envelope:
        """An honest ledger with these rows, about the stage's head or that of ``facts``."""
        cast, facts, base = cast or self.cast, facts or self.stage.facts, base or self.base
        tested = self.tested_tree(cast.lane, facts.head_sha, base)
        digests = self.digests_of(tested, cast.lane)
        body = records.ledger_body(self.policy, digests, rows, rule=cast.rule, j=j, chain=chain)
        about = on.in_run_of(cast.lane, facts, self.stage.index)
        subject = records.subject_of(
            about,
            base=base,
            head_tree=self.tree_of(facts.head_sha),
            tested_tree=tested,
            attempt_number=attempt,
        )
        return records.envelope(cast.lane, subject, body)

    def with_honest_evidence(self) -> Actors:
        """The same with a passing ledger of every lane as its only evidence."""
        found = {
            on.evidence_path(cast.lane.name, "all", 1): self.replay(cast.lane)
            if cast.is_replayed
            else self.ledger(cast=cast)
            for cast in self.setting.casts
        }
        return replace(self, stage=replace(self.stage, ledgers=found))

    def replay(self, lane: Lane, *, facts: EventFacts | None = None, **changes: object) -> Envelope:
        """A whole replay of every recording of a lane, about the stage's head; ``changes`` are its session's."""
        facts = facts or self.stage.facts
        tested = self.tested_tree(lane, facts.head_sha, self.base)
        about = on.in_run_of(lane, facts, self.stage.index)
        subject = records.subject_of(
            about, base=self.base, head_tree=self.tree_of(facts.head_sha), tested_tree=tested
        )
        with self.stage.git.asking() as port:
            start = f"{lane.cassettes}/"
            entries = [entry for entry in port.entries(tested) if entry.path.startswith(start)]
            folder = {entry.path.removeprefix(start): port.blob(entry.oid) for entry in entries}
        return replays.envelope(
            lane,
            subject,
            self.policy,
            self.digests_of(tested, lane),
            replays.replay(lane, folder, **changes),
            folder,
        )

    def baselines(self, tree: str) -> Mapping[str, LaneBaseline]:
        """What a change that has this tree agrees on, lane by lane."""
        return {
            cast.lane.name: records.lane_baseline(self.digests_of(tree, cast.lane)[0], cast.ids)
            for cast in self.setting.casts
        }


def honest(folder: Path, environment: Mapping[str, str], checkout: Path | None = None) -> Actors:
    """An honest pull request in a new bare repository below ``folder``, under the checkout's policy.

    Raises: UsageProblem as ``setting_of`` does.
    """
    return honest_under(setting_of(checkout, environment), folder, environment)


def honest_under(setting: Setting, folder: Path, environment: Mapping[str, str]) -> Actors:
    """An honest pull request under a setting."""
    git = Git(folder / "clone.git", environment, setting.default_branch)
    with git.asking():
        plain = {**setting.files(), **_recordings(setting, folder)}
        bare = git.commit(plain, (), setting.base_ref)
        stage = on.Stage(git=git, facts=_facts(setting, bare, bare), index=None)
        actors = Actors(setting=setting, stage=stage, base=bare, files=plain)
        agreed = records.baseline_text(actors.baselines(actors.tree_of(bare)))
        files = {**plain, BASELINE_FILE: agreed}
        base = git.commit(files, (bare,), setting.base_ref)
        git.branch(setting.default_branch, base)
        changed = {**files, setting.program: CHANGED}
        head = git.commit(changed, (base,), setting.branch("change"))
        index = on.run_index(head, tuple(_runs(setting, head)))
        stage = replace(stage, facts=_facts(setting, head, base), index=index)
        return replace(actors, stage=stage, base=base, files=changed).with_honest_evidence()


def _recordings(setting: Setting, folder: Path) -> Files:
    """Recordings and contracts of every lane that may be replayed."""
    names = dict.fromkeys(cast.lane.cassettes for cast in setting.casts if cast.lane.replays)
    made = replays.recordings(folder / "recorded") if names else {}
    return {f"{name}/{path}": data for name in names for path, data in made.items()}


def digests_of(git: Git, tree: str, policy: Policy, lane: Lane) -> tuple[Components, Components]:
    """(ruler, subject) of a tree, as an honest producer computes them."""
    with git.asking() as port:
        entries = port.entries(tree)
        baseline = next((read_baseline(port.blob(e.oid)) for e in entries if e.path == BASELINE_FILE), None)
        found = lane_digests(
            entries, policy, lane, baseline, port.blob_digests(blobs_to_digest(entries)), port.blob
        )
    return (
        Components(digest=found.ruler.digest, components=found.ruler.components),
        Components(digest=found.subject.digest, components=found.subject.components),
    )


def _facts(setting: Setting, head: str, base: str) -> EventFacts:
    return EventFacts(
        event="pull_request",
        repo=on.REPO,
        head_repo=on.REPO,
        pull_request=on.PULL_REQUEST,
        head_sha=head,
        base_ref=setting.base_ref,
        base_sha=base,
        group_base=None,
        default_branch=setting.default_branch,
        run_id=on.RUN_ID,
        run_attempt=1,
        workflow=setting.lead.lane.workflow,
    )


def _runs(setting: Setting, head: str) -> Iterator[Run]:
    """One run a workflow; the gate runs in the first, beside the lane that is to be fooled."""
    lead = setting.lead.lane.workflow
    workflows = dict.fromkeys((lead, *(cast.lane.workflow for cast in setting.casts)))
    for number, workflow in enumerate(workflows):
        lanes = [cast.lane for cast in setting.casts if cast.lane.workflow == workflow]
        jobs = tuple(on.job(name) for name in dict.fromkeys(on.job_of(lane) for lane in lanes))
        if workflow == setting.policy.check.workflow and setting.policy.check.name not in {
            j.name for j in jobs
        }:
            jobs += (on.job(setting.policy.check.name, status="in_progress", conclusion=None),)
        left = tuple(artifact_name(lane.name, "all", 1) for lane in lanes)
        yield on.run(on.RUN_ID + number, head, (on.attempt(1, jobs, left),), workflow=workflow)
