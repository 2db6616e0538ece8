# SPDX-License-Identifier: Apache-2.0
"""Writes a world as files and asks the real gate about them.

One repository a policy, in the simulator that passes the adapter's suite; evidence is written into a folder and read by
the real intake; the run index goes in as bytes.
"""

import datetime as dt
from dataclasses import replace
from functools import lru_cache

import msgspec

from simulators.git import SimulatedGit
from truegreen.core.canonical import write_json
from truegreen.core.digest import sha256_of
from truegreen.core.event import EventFacts
from truegreen.core.index import Artifact, Attempt, Job, Run, RunIndex
from truegreen.core.lane_digests import blobs_to_digest, lane_digests
from truegreen.core.policy_read import read_policy
from truegreen.core.record import Envelope, Producer, artifact_name, file_name, write_record
from truegreen.core.subject import Subject
from truegreen.gate.bind import Asked
from truegreen.gate.decide import decide
from truegreen.gate.intake import read_evidence
from truegreen.sampling.ledger import CaseSamples, Components, Link
from truegreen.sampling.sequential import smoke
from truegreen.wiring.rehearsal.records import baseline_text, case_row, lane_baseline, ledger_body, samples
from worlds.probes import CASE, PROBE_RULES, ProbeBody, ProbeLink
from worlds.world import LEDGER, OF_PULL_REQUEST, RAN, TWICE

REPO = "example/worlds"
WORKFLOW = ".github/workflows/truegreen.yml"
ELSEWHERE = ".github/workflows/advice.yml"
NUMBER = 7
DAWN = dt.datetime(2026, 1, 1, 6, 0, tzinfo=dt.UTC)
NOW = "2026-01-02T00:00:00Z"
EARLIER = ("same", "other", "pr", "pr-behind", "lost")
"""Heads that the forge lists as earlier heads of the pull request, or as the queue's."""
NOTHING = Components(digest="sha256:" + "9" * 64, components={})
LOST, NOWHERE = "b" * 40, "c" * 40
"""A commit that the clone does not have, and its tree."""
TESTS = "tests/probe.py"
PROGRAM = "src/app.py"
SAMPLES = {"holds": "p" * 12, "fails": "ff", "unknown": "", "flaky": "pppppfpppfppppfff"}
"""Outcomes as samples of one case: certain in every sequence, certain to fail, none, works mostly and not always."""


def clock(minutes):
    """An instant of the world's day."""
    return (DAWN + dt.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def policy_text(lanes):
    """The policy that has these lanes."""
    rows = ['schema = "truegreen/policy/v1"', 'mode = "enforce"', "[check]", f'workflow = "{WORKFLOW}"']
    for lane in lanes:
        rows += [
            f"[lanes.{lane.name}]",
            f'kind = "{lane.kind}"',
            f'role = "{lane.role}"',
            f'runs = "{lane.runs}"',
        ]
        rows += [f'tests = "{TESTS}"', f'job = "{lane.name} {{part}}"', f'base = "{lane.base}"']
    return "\n".join(rows) + "\n"


def entries(lanes, expires):
    """A quarantine that names the case of every lane."""
    rows = ['schema = "truegreen/quarantine/v1"']
    for lane in lanes:
        rows += ["[[entry]]", f'id = "{CASE}"', f'lane = "{lane.name}"', 'owner = "@a"', 'reason = "varies"']
        rows += ['ticket = "T-1"', "since = 2025-12-20", f"expires = {expires}"]
    return "\n".join(rows).encode() + b"\n"


class Terrain:
    """The repository of all worlds with these lanes and this quarantine."""

    def __init__(self, lanes, quarantine, event, builder=None, port=None):
        builder = builder or SimulatedGit()
        self.git = port or builder
        text = policy_text(lanes).encode()
        self.policy = read_policy(text, kinds=PROBE_RULES.facts())
        files = {"truegreen.toml": text, TESTS: b"1\n", PROGRAM: b"1\n"}
        self._digests = {}
        ledgers = [lane.name for lane in lanes if lane.kind == LEDGER]
        if ledgers:
            tree = builder.add_tree(files)
            rulers = {name: self.components(name, tree)[0] for name in ledgers}
            files["truegreen.baseline.json"] = baseline_text(
                {name: lane_baseline(ruler, (CASE,)) for name, ruler in rulers.items()}
            )
        expires = "2025-12-31" if quarantine == "expired" else "2026-01-10"
        excuse = {} if quarantine == "none" else {"truegreen.quarantine.toml": entries(lanes, expires)}
        head = {} if quarantine == "dropped" else excuse
        self.root = builder.commit({**files, **excuse}, branch="main")
        self.base = builder.commit(
            {**files, **excuse, "README.md": b"1\n"}, parents=(self.root,), branch="main"
        )
        changed = {**files, **head, "README.md": b"1\n", PROGRAM: b"2\n"}
        self.commits = {
            "head": builder.commit(changed, parents=(self.base,), message="head"),
            "same": builder.commit(changed, parents=(self.base,), message="same"),
            "other": builder.commit({**changed, PROGRAM: b"3\n"}, parents=(self.base,), message="other"),
            "group": builder.commit(changed, parents=(self.base,), message="group"),
            "stranger": builder.commit(changed, parents=(self.base,), message="stranger"),
            "nobody": builder.commit({**changed, PROGRAM: b"4\n"}, parents=(self.base,), message="nobody"),
            "side": builder.commit({**files, "side": b"1\n"}, parents=(self.root,), message="side"),
            "lost": LOST,
        }
        old = {path: text for path, text in changed.items() if path != "README.md"}
        self.commits["pr-behind"] = builder.commit(old, parents=(self.root,), message="pr")
        self.commits["pr"] = self.commits["head"]
        if event == "push":
            builder.commit(changed, parents=(self.base,), branch="main", message="head")
        self.lanes = {lane.name: lane for lane in lanes}

    def components(self, lane, tree):
        """(ruler, subject) with their components."""
        key = (lane, tree)
        if key not in self._digests:
            listed = self.git.entries(tree)
            found = lane_digests(
                listed,
                self.policy,
                self.policy.lane(lane),
                None,
                self.git.blob_digests(blobs_to_digest(listed)),
                self.git.blob,
            )
            self._digests[key] = tuple(
                Components(digest=one.digest, components=one.components)
                for one in (found.ruler, found.subject)
            )
        return self._digests[key]

    def commit_of(self, head, event):
        """The commit that a word of the world means."""
        return self.commits["group" if event == "merge_group" and head == "head" else head]


@lru_cache(maxsize=256)
def terrain(lanes, quarantine, event):
    """The terrain of a world: made once."""
    return Terrain(lanes, quarantine, event)


class Writer:
    """One world as files."""

    def __init__(self, world, land=None):
        self.world = world
        self.land = land or terrain(world.lanes, world.quarantine, world.event)
        self.runs = {run.id: run for run in world.runs}

    def facts(self):
        """The event."""
        event = self.world.event
        gate = self.runs.get(self.world.gate_run)
        attempts = len(gate.attempts) if gate else 1
        head = self.land.commit_of("head", event)
        return EventFacts(
            event=event,
            repo=REPO,
            head_repo=REPO,
            pull_request=NUMBER if event == "pull_request" else None,
            head_sha=head,
            base_ref="main",
            base_sha=self.land.base,
            group_base=self.land.base if event == "merge_group" else None,
            default_branch="main",
            run_id=self.world.gate_run,
            run_attempt=attempts + (1 if self.world.index == "old" else 0),
            workflow=WORKFLOW,
        )

    def index(self):
        """The run index as stored, or None."""
        world = self.world
        if world.index == "none":
            return None
        head = self.land.commit_of("head", world.event)
        earlier = dict.fromkeys(self.land.commits[run.head] for run in world.runs if run.head in EARLIER)
        listed = RunIndex(
            schema="truegreen/run-index/v1",
            forge="github",
            repo=REPO.upper(),  # a forge's names have no case
            fetched_at=NOW,
            head_sha=self.land.commits["nobody"] if world.index == "other-head" else head,
            pull_requests=(8,) if world.index == "no-pr" else (NUMBER,),
            earlier_heads=tuple(earlier),
            complete=world.index != "short",
            runs=tuple(map(self._run, world.runs)),
        )
        return write_json(msgspec.to_builtins(listed))

    def _run(self, run):
        event = self._event_of(run)
        return Run(
            run_id=run.id,
            workflow=WORKFLOW if run.workflow == "lanes" else ELSEWHERE,
            event=event,
            head_sha=self.land.commit_of(run.head, self.world.event),
            head_repo="example/fork" if run.is_of_fork else REPO,
            attempts=tuple(self._attempt(number, one) for number, one in enumerate(run.attempts, start=1)),
        )

    def _event_of(self, run):
        """What started a run."""
        if run is not None and run.is_push:
            return "push"
        return "pull_request" if run is not None and run.head in OF_PULL_REQUEST else self.world.event

    def _attempt(self, number, attempt):
        return Attempt(
            attempt=number,
            started_at=clock(attempt.at),
            status="completed" if attempt.ended else "in_progress",
            conclusion="success" if attempt.ended else None,
            jobs=tuple(self._job(job, attempt.at) for job in attempt.jobs),
            artifacts=tuple(
                Artifact(name=artifact_name(job.lane, job.part, number), size_bytes=9)
                for job in attempt.jobs
                if job.artifact
            ),
            jobs_complete=self.world.index != "jobs-short",
            artifacts_complete=attempt.lists_artifacts,
        )

    def _job(self, job, at):
        status = {"waiting": "queued", "running": "in_progress"}.get(job.state, "completed")
        ends = {
            "skipped": "skipped",
            "lost": "cancelled",
            "failed": "failure",
            "done": "success",
            "carried": "success",
        }
        return Job(
            name=f"{job.lane} {job.part}",
            status=status,
            conclusion=ends.get(job.state),
            started_at=clock(at) if job.state in (*RAN, "carried") else None,
            carried_over=job.state == "carried",
        )

    def evidence(self):
        """File name to bytes."""
        found = {}
        for number, record in enumerate(self.world.records):
            name = file_name(record.lane, record.part, record.attempt)
            found[f"{number}-{record.run}-{name}"] = self.bytes_of(record)
        return found

    def bytes_of(self, record):
        """One file."""
        data = write_record(self._envelope(record))
        match record.wrong:
            case "empty":
                return b""
            case "cut":
                return data[:-7]
            case "not-utf8":
                return data.replace(b"probe", b"prob\xff", 1)
            case "field":
                return data.replace(b'{"body":', b'{"aside":1,"body":', 1)
            case wrong if wrong == TWICE:
                return data.replace(b'"lane":', b'"lane":"other","lane":', 1)
        return data

    def _envelope(self, record):
        wrong = record.wrong
        kind = self.land.lanes[record.lane].kind if record.lane in self.land.lanes else "probe-exact"
        if wrong == "kind":
            kind = "probe-carry" if kind != "probe-carry" else "probe-exact"
        start = self._start(record)
        issued = {"early": clock(start - 60), "future": "2026-01-02T01:00:00Z"}.get(wrong, clock(start + 1))
        subject = self._subject(record)
        return Envelope(
            schema="truegreen/probe-of-nobody/v1" if wrong == "schema" else f"truegreen/{kind}/v1",
            lane=record.lane,
            part="extra" if wrong == "part" else record.part,
            subject=subject,
            producer=Producer(name="probe", version="1", verb="probe"),
            issued_at=issued,
            body=msgspec.to_builtins(self._body(record, subject.tested_tree)),
        )

    def _start(self, record):
        run = self.runs.get(record.run)
        attempts = run.attempts if run else ()
        return attempts[record.attempt - 1].at if 0 < record.attempt <= len(attempts) else 0

    def _subject(self, record):
        wrong, land, world = record.wrong, self.land, self.world
        run = self.runs.get(record.run)
        word = run.head if run else "head"
        head = land.commits["nobody"] if wrong == "head" else land.commit_of(word, world.event)
        event = self._event_of(run)
        base = {"push": head, "merge_group": land.base}.get(
            event, land.root if word == "pr-behind" else land.base
        )
        base = {"off-branch": land.commits["side"], "behind": land.root}.get(wrong, base)
        tested = land.git.merge_tree(head, base).tree if word != "lost" else NOWHERE
        number = NUMBER if event == "pull_request" else None
        return Subject(
            repo={"repo": "example/elsewhere", "local": "local"}.get(wrong, REPO.title()),
            head_repo="example/fork" if wrong == "fork" or (run and run.is_of_fork) else REPO,
            pull_request=8 if wrong == "pull-request" else number,
            head_sha=head,
            base_ref="weak" if wrong == "base-ref" else "main",
            base_sha=base,
            head_tree=land.git.tree_of(head) if word != "lost" else NOWHERE,
            tested_tree=land.git.tree_of(land.root) if wrong == "tree" else tested,
            run_id=9999 if wrong == "run" else record.run,
            run_attempt=record.attempt + 50 if wrong == "attempt" else record.attempt,
            workflow=ELSEWHERE if wrong == "workflow" or (run and run.workflow == "else") else WORKFLOW,
            event={"event": "pull_request" if event == "push" else "push", "local": "local"}.get(
                wrong, event
            ),
            dirty=wrong == "dirty",
        )

    def _body(self, record, tree):
        lane = record.lane if record.lane in self.land.lanes else next(iter(self.land.lanes))
        if self.land.lanes[lane].kind == LEDGER:
            return self._ledger(record, lane, tree)
        ruler, judged = self.land.components(lane, tree) if tree != NOWHERE else (NOTHING, NOTHING)
        forged = "sha256:" + "0" * 64
        return ProbeBody(
            policy=forged if record.wrong == "policy" else self.land.policy.digest,
            ruler=forged if record.wrong == "ruler" else ruler.digest,
            subject=forged if record.wrong == "subject" else judged.digest,
            ruler_components=ruler.components,
            subject_components={} if record.wrong == "components" else judged.components,
            outcome=record.outcome,
            chain=tuple(ProbeLink(*self._named(said, record), outcome=said.outcome) for said in record.chain),
        )

    def _ledger(self, record, lane, tree):
        """The product's own ledger with the samples that mean the record's outcome."""
        first, chain = 1, []
        for said in record.chain:
            taken = samples(SAMPLES[said.outcome], first) if said.standing == "samples" else ()
            first += len(taken)
            run_id, attempt, head, standing, digest = self._named(said, record)
            cases = (CaseSamples(id=CASE, samples=taken, lost=()),) if said.standing == "samples" else ()
            chain.append(
                Link(
                    run_id=run_id,
                    run_attempt=attempt,
                    head_sha=head,
                    standing=standing,
                    digest=digest,
                    cases=cases,
                )
            )
        body = ledger_body(
            self.land.policy,
            self.land.components(lane, tree),
            (case_row(CASE, samples(SAMPLES[record.outcome], first)),),
            rule=smoke(),
            chain=tuple(chain),
        )
        forged = "sha256:" + "0" * 64
        return msgspec.structs.replace(body, policy_digest=forged) if record.wrong == "policy" else body

    def _named(self, said, record):
        """Run, attempt, head, standing and digest of an earlier attempt as a record names it."""
        run = self.runs.get(said.run)
        there = next(
            (
                one
                for one in self.world.records
                if one.place == (said.run, said.attempt, record.lane, record.part) and one != record
            ),
            None,
        )
        digest = "sha256:" + "5" * 64
        if there is not None and said.is_its_record:
            whole = (
                there if there.is_readable else replace(there, wrong="")
            )  # as it was before it was damaged
            digest = sha256_of(self.bytes_of(whole))
        head = self.land.commit_of(run.head if run else "head", self.world.event)
        return (said.run, said.attempt, head, said.standing, None if said.standing == "left-none" else digest)


def decided(world, folder, rules=PROBE_RULES, land=None):
    """The real gate's decision on a world whose evidence is written into ``folder``, in place of what was there."""
    writer = Writer(world, land)
    for old in folder.iterdir():
        old.unlink()
    for name, data in writer.evidence().items():
        (folder / name).write_bytes(data)
    asked = Asked(
        facts=writer.facts(),
        git=writer.land.git,
        index=writer.index(),
        now=NOW,
        in_ci=True,
        version="worlds",
    )
    return decide(asked, read_evidence([folder]), rules)
