# SPDX-License-Identifier: Apache-2.0
"""What earlier attempts measured of the same thing, so that this one goes on and does not start afresh.

What it decides: how each earlier started attempt is named, which samples are gone on from, and which fresh
sequence of the pull request this is. What it leaves: judging the chain, to the gate, which applies the same
functions to the same index.

- An earlier attempt has its record (``samples`` with this key, ``other-key`` with another), or its complete
  artifact list has none of the lane (``left-none``). Anything else stops the run: an attempt that cannot be
  accounted for would make this ledger worthless.
- A replay (``contract-check``) of an earlier attempt judged something else: it is named ``other-key``.
- A record that is expired or was not fetched is known if a later attempt's record embeds it.
- Without a run index nobody knows which attempts there are: nothing is gone on from, and alpha holds for this
  run alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem, ReachProblem
from truegreen.core.index import read_index
from truegreen.core.policy import CONTRACT_CHECK
from truegreen.core.record import Envelope, artifact_name, kind_of, read_record
from truegreen.gate import ledger_record
from truegreen.gate.expected import Started, expect, sequence_number
from truegreen.gate.ground import Ground, Unreachable
from truegreen.gate.intake import Evidence, read_evidence
from truegreen.gate.kinds import SAMPLE_LEDGER
from truegreen.sampling.ledger import LedgerBody, Link, Sample
from truegreen.sampling.ledger_build import own_samples
from truegreen.sampling.sequential import Rule
from truegreen.sampling.states import joined
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.sample_ground import KIND, SampleGround
from truegreen.wiring.sample_request import SampleRequest

Attempt = tuple[int, int]
"""Run and attempt."""


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """The record of an earlier attempt."""

    envelope: Envelope
    digest: Sha256
    body: LedgerBody


@dataclass(frozen=True, kw_only=True)
class Chain:
    """What this run goes on from."""

    links: tuple[Link, ...] = ()
    """Every earlier started attempt, oldest first."""
    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    """Case id to the samples of all attempts with this key, joined."""
    planned: frozenset[str] = frozenset()
    """Ids that those attempts planned; empty if there is none."""
    j: int | None = None
    """Which fresh sequence of the pull request this is."""

    def check_ids(self, ids: tuple[str, ...]) -> None:
        """The same ruler and subject give the same cases.

        Raises: EvidenceProblem ``unstable-id``.
        """
        differing = sorted(self.planned ^ set(ids)) if self.planned else []
        if differing:
            raise EvidenceProblem(
                "unstable-id",
                f"{len(differing)} ids differ from an earlier attempt at the same files, the first is {differing[0]}",
                hint="give each parameter an explicit id that does not change from run to run",
            )


def read_chain(request: SampleRequest, ground: SampleGround, rule: Rule) -> Chain:
    """The chain of this run.

    Raises: EvidenceProblem or ReachProblem for an index or a record that cannot be read, and for an attempt
    that cannot be accounted for.
    """
    if request.run_index is None:
        return Chain(j=1 if ground.facts.local else None)
    gate = _gate_ground(request, ground)
    expected = expect(ground.lane, SAMPLE_LEDGER, request.part, ground.subject.base_sha, gate)
    if expected.problems or expected.two_jobs:
        what = expected.two_jobs or expected.problems[0][0]
        raise ReachProblem("attempts-unknown", f"which attempts came before cannot be told: {what}")
    records = _records(request, ground)
    older = _older(expected.started, ground)
    replays = _replays(request, ground)
    links = tuple(
        _replayed(one, replays[_attempt(one)])
        if _attempt(one) in replays
        else _link(one, ground, request.part, records)
        for one in older
    )
    return Chain(
        links=links,
        samples=_joined(links, rule),
        planned=_planned(links, records),
        j=_sequence(ground, gate, links),
    )


def _gate_ground(request: SampleRequest, ground: SampleGround) -> Ground:
    if request.run_index is None:
        raise ReachProblem("attempts-unknown", "no run index was given")
    try:
        data = request.run_index.read_bytes()
    except OSError as err:
        raise ReachProblem("file-unreadable", f"{request.run_index} cannot be read: {err.strerror}") from err
    return Ground(
        facts=ground.facts,
        policy=ground.policy,
        mode=ground.policy.mode,
        tip=ground.subject.base_sha,
        head_tree=ground.subject.tested_tree if ground.facts.local else ground.subject.head_tree,
        index=read_index(data),
        git=ground.git,
        now=SystemClock().now(),
    )


def _older(started: Iterable[Started], ground: SampleGround) -> list[Started]:
    """Started attempts before this one.

    Raises: ReachProblem ``earlier-still-running``.
    """
    here = (ground.subject.run_id, ground.subject.run_attempt)
    every = list(started)
    ours = next((one.order for one in every if _attempt(one) == here), None)
    older = [one for one in every if _attempt(one) != here and (ours is None or one.order < ours)]
    for one in older:
        if one.job.running:
            raise ReachProblem(
                "earlier-still-running",
                f"attempt {one.attempt.attempt} of run {one.run.run_id} started before this one and has not ended",
                hint="wait for it, then re-run this job",
            )
    return older


def _link(one: Started, ground: SampleGround, part: str, records: Mapping[Attempt, Earlier]) -> Link:
    run_id, attempt = _attempt(one)
    head = one.run.head_sha
    there = records.get((run_id, attempt))
    if there is not None:
        digests = ground.digests
        is_same = (there.body.ruler.digest, there.body.subject.digest) == (
            digests.ruler.digest,
            digests.subject.digest,
        )
        return Link(
            run_id=run_id,
            run_attempt=attempt,
            head_sha=head,
            standing="samples" if is_same else "other-key",
            digest=there.digest,
            cases=own_samples(there.body) if is_same else (),
        )
    if one.attempt.artifacts_complete and not one.has_artifact(ground.lane.name, part):
        return Link(
            run_id=run_id, run_attempt=attempt, head_sha=head, standing="left-none", digest=None, cases=()
        )
    embedded = _embedded(run_id, attempt, ground, records)
    if embedded is not None:
        return embedded
    raise ReachProblem(
        "earlier-missing",
        f"attempt {attempt} of run {run_id} may have left a ledger, and none was given",
        hint=f"fetch the artifact {artifact_name(ground.lane.name, part, attempt)} of run {run_id} and name it with --earlier",
    )


def _embedded(
    run_id: int, attempt: int, ground: SampleGround, records: Mapping[Attempt, Earlier]
) -> Link | None:
    """What a record with this key says of an attempt whose own record is not there."""
    digests = ground.digests
    for earlier in records.values():
        body = earlier.body
        if (body.ruler.digest, body.subject.digest) != (digests.ruler.digest, digests.subject.digest):
            continue
        for link in body.chain:
            if (link.run_id, link.run_attempt) == (run_id, attempt) and link.standing == "samples":
                return link
    return None


def _records(request: SampleRequest, ground: SampleGround) -> dict[Attempt, Earlier]:
    """Ledgers of this lane's part among the evidence that was given.

    Raises: EvidenceProblem for a file that is refused, or ``earlier-twice``.
    """
    found: dict[Attempt, Earlier] = {}
    for envelope, digest in _given(request, ground, KIND):
        key = (envelope.subject.run_id, envelope.subject.run_attempt)
        if key in found and found[key].digest != digest:
            raise EvidenceProblem(
                "earlier-twice",
                f"two records say that they are attempt {key[1]} of run {key[0]}",
                contradictory=True,
            )
        found[key] = Earlier(envelope=envelope, digest=digest, body=ledger_record.decode(envelope.body))
    return found


def _replays(request: SampleRequest, ground: SampleGround) -> dict[Attempt, Sha256]:
    """Replays of this lane's part among the evidence that was given, by attempt, if it may be replayed at all."""
    if ground.lane.no_secrets is None:
        return {}
    given = _given(request, ground, CONTRACT_CHECK)
    return {(envelope.subject.run_id, envelope.subject.run_attempt): digest for envelope, digest in given}


def _given(request: SampleRequest, ground: SampleGround, kind: str) -> Iterator[tuple[Envelope, Sha256]]:
    """Records of one kind of this lane's part among the evidence that was given.

    Raises: EvidenceProblem for a file that is refused.
    """
    evidence = read_evidence(request.earlier) if request.earlier else Evidence(files=(), refusals=())
    for refusal in evidence.refusals:
        raise EvidenceProblem(
            "earlier-unreadable",
            f"{refusal.name} among the earlier records is refused: {refusal.message} [{refusal.code}]",
            contradictory=refusal.contradictory,
        )
    for file in evidence.files:
        envelope, digest = read_record(file.data)
        is_ours = (envelope.lane, envelope.part) == (ground.lane.name, request.part)
        if is_ours and kind_of(envelope.schema) == (kind, 1):
            yield envelope, digest


def _replayed(one: Started, digest: Sha256) -> Link:
    """An earlier attempt that was a replay."""
    run_id, attempt = _attempt(one)
    return Link(
        run_id=run_id,
        run_attempt=attempt,
        head_sha=one.run.head_sha,
        standing="other-key",
        digest=digest,
        cases=(),
    )


def _joined(links: Iterable[Link], rule: Rule) -> dict[str, tuple[Sample, ...]]:
    attempts: dict[str, list[tuple[Sample, ...]]] = {}
    for link in links:
        for case in link.cases:
            attempts.setdefault(case.id, []).append(case.samples)
    return {case_id: joined(samples, rule) for case_id, samples in attempts.items()}


def _planned(links: Iterable[Link], records: Mapping[Attempt, Earlier]) -> frozenset[str]:
    pooled = [records.get((link.run_id, link.run_attempt)) for link in links if link.standing == "samples"]
    return frozenset(case_id for one in pooled if one is not None for case_id in one.body.planned)


def _sequence(ground: SampleGround, gate: Ground, links: Iterable[Link]) -> int | None:
    """The sequence number; every attempt that left nothing has spent one, as the gate counts it."""
    try:
        fresh = sequence_number(ground.lane, ground.subject.base_sha, gate)
    except Unreachable:
        return None
    return fresh + sum(1 for link in links if link.standing == "left-none")


def _attempt(one: Started) -> Attempt:
    return one.run.run_id, one.attempt.attempt
