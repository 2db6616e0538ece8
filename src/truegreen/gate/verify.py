# SPDX-License-Identifier: Apache-2.0
"""Does this record speak of what is being decided, and does it contradict nothing that the gate knows?

What it decides: for each evidence file, one standing. What it leaves: whether enough records are there, to
``complete``; what they say, to ``decide``.

- Bytes first: strict JSON, known schema, no unknown field. What the reader refuses holds, whatever lane it
  names; what contradicts itself (a key twice) blocks.
- Then the checks of ``CHECKS`` in order; the first that speaks decides. Each is one function, so that a test
  can take one away and show which hostile record would then count.
- Foreign, forged or contradictory blocks; ours but about something else is stale: it satisfies nothing.
- Records of advisory lanes and of lanes that base lacks are notes, whatever they are; so is an earlier decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from truegreen.core.decision import SCHEMA as DECISION
from truegreen.core.decision import SeenFile
from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.record import Envelope, kind_of, read_record
from truegreen.gate.ground import Ground
from truegreen.gate.intake import Evidence, EvidenceFile
from truegreen.gate.model import Candidate, Finding, Kind
from truegreen.gate.replay_record import speaking_kind
from truegreen.gate.verify_binding import FOREIGN_CHECKS, STALE_CHECKS
from truegreen.gate.verify_inputs import INPUT_CHECKS

Check = Callable[[Candidate, Ground], Finding | None]
Reader = Callable[[bytes], tuple[Envelope, Sha256]]


def kind_matches(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record is of the kind that can speak for the lane on this event."""
    asked = speaking_kind(candidate.lane, ground.facts)
    if candidate.kind.name == asked:
        return None
    return Finding(code="wrong-kind", standing="stale", facts={"kind": candidate.kind.name, "asked": asked})


def kind_arithmetic(candidate: Candidate, ground: Ground) -> Finding | None:
    """The kind finds no contradiction inside the record."""
    return next(iter(candidate.kind.check(candidate, ground)), None)


CHECKS: tuple[Check, ...] = (
    *FOREIGN_CHECKS,
    kind_matches,
    *STALE_CHECKS,
    *INPUT_CHECKS,
    kind_arithmetic,
)
"""Every check of one record, in order: what is foreign or denies its run blocks, whatever else it is."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What verify made of the evidence."""

    accepted: tuple[Candidate, ...]
    """Records that may count."""
    readable: tuple[Candidate, ...]
    """Every record that could be read and names a lane of the policy, accepted or not."""
    findings: tuple[tuple[SeenFile, Finding, str | None], ...]
    """File, finding and lane for every file that does not count."""
    files: tuple[SeenFile, ...]
    """Every file, in the evidence's order."""


def verify(
    evidence: Evidence,
    ground: Ground,
    kinds: Mapping[str, Kind],
    *,
    checks: tuple[Check, ...] = CHECKS,
    read: Reader = read_record,
) -> Verified:
    """Put every evidence file through the reader and the checks."""
    accepted: list[Candidate] = []
    readable: list[Candidate] = []
    findings: list[tuple[SeenFile, Finding, str | None]] = []
    files: list[SeenFile] = []
    for file in evidence.files:
        found = _read(file, ground, kinds, read)
        if isinstance(found, Finding):
            files.append(_seen(file, found))
            findings.append((files[-1], found, None))
            continue
        readable.append(found)
        finding = _first(found, ground, checks)
        files.append(_seen(file, finding))
        if finding is None:
            accepted.append(found)
        else:
            findings.append((files[-1], finding, found.lane.name))
    return Verified(
        accepted=tuple(accepted), readable=tuple(readable), findings=tuple(findings), files=tuple(files)
    )


def _seen(file: EvidenceFile, finding: Finding | None) -> SeenFile:
    return SeenFile(
        container=file.container,
        name=file.name,
        digest=sha256_of(file.data),
        standing=finding.standing if finding else "accepted",
        code=finding.code if finding else "",
    )


def _first(candidate: Candidate, ground: Ground, checks: tuple[Check, ...]) -> Finding | None:
    """The first finding against a record; for an advisory lane it weighs nothing."""
    finding = next((found for check in checks if (found := check(candidate, ground))), None)
    if finding is not None and candidate.lane.role == "advisory":
        return msgspec.structs.replace(finding, standing="note")
    return finding


def _read(file: EvidenceFile, ground: Ground, kinds: Mapping[str, Kind], read: Reader) -> Candidate | Finding:
    """The record in a file, or why it cannot be one."""
    try:
        envelope, digest = read(file.data)
        if envelope.schema == DECISION:
            return Finding(code="decision-beside", standing="note")
        named = kind_of(envelope.schema)
        kind = kinds.get(named[0]) if named else None
        if kind is None or named is None or named[1] != 1:
            return Finding(code="unknown-schema", standing="refused", facts={"schema": envelope.schema[:80]})
        body = kind.decode(envelope.body)
    except EvidenceProblem as err:
        facts: dict[str, str | int] = {"problem": err.message, "error": err.code}
        if err.contradictory:
            return Finding(code="duplicate-key", standing="blocked", facts=facts)
        if err.code == "schema-refused":
            return Finding(code="schema-refused", standing="refused", facts=facts)
        return Finding(code="unreadable", standing="refused", facts=facts)
    lane = ground.policy.lane(envelope.lane)
    if lane is None:
        return Finding(code="unknown-lane", standing="note", facts={"lane": envelope.lane})
    return Candidate(
        container=file.container,
        name=file.name,
        digest=digest,
        envelope=envelope,
        body=body,
        lane=lane,
        kind=kind,
    )
