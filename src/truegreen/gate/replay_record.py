# SPDX-License-Identifier: Apache-2.0
"""One ``contract-check`` record: does it contradict itself or the tree that it says it was made from?

What it decides: contradictions. What it leaves: what the replay proves, to ``replay_lane``; whether the record may
speak for its lane at all, to ``speaking_kind`` and the checks of ``verify``.

- The recordings that it lists are the ones of the tested tree, byte for byte, with the keys that it says answered.
- A recording is played or unused, not both; every recording is one of them after a whole replay.
- Where a lane says ``no_secrets = "replay"`` and the event has no key, a replay speaks for it, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from truegreen.cassettes.contract_check import Checked, ContractCheckBody
from truegreen.core.event import EventFacts
from truegreen.core.policy import CONTRACT_CHECK, Lane
from truegreen.core.schema import validate
from truegreen.gate.ground import Ground, Unreachable
from truegreen.gate.model import Candidate, Claims, Finding, Link
from truegreen.gate.recordings import recordings_at


def speaking_kind(lane: Lane, facts: EventFacts) -> str:
    """The kind of record that can speak for a lane on this event."""
    return CONTRACT_CHECK if lane.no_secrets is not None and facts.is_keyless else lane.kind


def decode(body: dict[str, Any]) -> ContractCheckBody:
    """The typed body; the kind's schema says what it may hold.

    Raises: EvidenceProblem ``schema-refused``.
    """
    validate("contract-check.v1", body)
    return msgspec.convert(body, ContractCheckBody, strict=True)


def claims(body: ContractCheckBody) -> Claims:
    """What the record was made from, by its own account."""
    return Claims(
        policy=body.policy_digest,
        ruler=body.ruler.digest,
        subject=body.subject.digest,
        ruler_components=body.ruler.components,
        subject_components=body.subject.components,
    )


def links(body: ContractCheckBody) -> tuple[Link, ...]:
    """A replay goes on from nothing."""
    del body
    return ()


def own_samples(body: ContractCheckBody) -> Any:
    """A replay has no samples."""
    del body


def check(candidate: Candidate, ground: Ground) -> Iterator[Finding]:
    """Contradictions, most basic first."""
    body: ContractCheckBody = candidate.body
    yield from _folder(body, candidate.lane)
    yield from _session(body)
    yield from _tree(candidate, ground)


def _contradicts(what: str, claimed: object, found: object) -> Finding:
    return Finding(
        code="replay-contradicts",
        standing="blocked",
        facts={"what": what, "claimed": str(claimed)[:120], "found": str(found)[:120]},
    )


def _folder(body: ContractCheckBody, lane: Lane) -> Iterator[Finding]:
    """A replay of other recordings is ours and about something else."""
    said = body.folder if body.session is None else body.session.cassettes
    for one in (body.folder, said):
        if one != lane.cassettes:
            yield Finding(
                code="stale-folder", standing="stale", facts={"folder": one[:120], "asked": lane.cassettes}
            )


def _session(body: ContractCheckBody) -> Iterator[Finding]:
    """Hits are of listed recordings, and no recording is both played and unused."""
    session = body.session
    if session is None:
        return
    listed = {one.file: one.key for one in body.recordings}
    wrong = next((hit for hit in session.hits if listed.get(hit.file) != hit.key), None)
    if wrong is not None:
        there = listed.get(wrong.file, "no such recording")
        yield _contradicts(f"what {wrong.file} answered", wrong.key, there)
    played, unused = {hit.file for hit in session.hits}, set(session.unused)
    if both := sorted(played & unused):
        yield _contradicts(f"recording {both[0]}", "played", "unused as well")
    elif session.complete and (apart := sorted(set(listed) ^ (played | unused))):
        yield _contradicts("the recordings of a whole replay", "each played or unused", apart[0])
    if session.complete and session.incomplete_because:
        yield _contradicts("the replay", "complete", session.incomplete_because)


def _tree(candidate: Candidate, ground: Ground) -> Iterator[Finding]:
    """The recordings are those of the tested tree."""
    try:
        found = recordings_at(ground, candidate.envelope.subject.tested_tree, candidate.lane.cassettes)
    except Unreachable as err:
        yield Finding(code=err.code, standing="stale", facts=err.facts)
    else:
        yield from _same(candidate.body, found)


def _same(body: ContractCheckBody, found: Checked) -> Iterator[Finding]:
    there = {one.file: (one.digest, one.key) for one in found.recordings}
    said = {one.file: (one.digest, one.key) for one in body.recordings}
    differing = sorted(file for file in {*there, *said} if there.get(file) != said.get(file))
    if differing or len(said) != len(body.recordings):
        file = differing[0] if differing else "a recording that is listed twice"
        yield _contradicts(f"recording {file}", said.get(file), there.get(file))
