# SPDX-License-Identifier: Apache-2.0
"""Record kinds of the worlds: one a rule of attempts, with an outcome in plain words instead of samples.

A probe's body says what it was made from, how its part ended (``holds``, ``fails``, ``unknown``, or ``flaky``, which
only a live entry of the quarantine excuses) and, in a pool, what it embeds of earlier attempts. They go through the
same table as the kinds of the product: ``decide.Rules.kinds``.
"""

import msgspec

from truegreen.core.decision import Cause, LaneRow
from truegreen.core.errors import EvidenceProblem
from truegreen.core.outcome import Outcome, Word
from truegreen.gate.decide import RULES
from truegreen.gate.model import Claims, Judged, Kind, Link

CASE = "tests/probe::one"
"""The case that the quarantine of a world names."""


class ProbeLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a pooling probe says of an earlier attempt."""

    run_id: int
    run_attempt: int
    head_sha: str
    standing: str
    digest: str | None
    outcome: str | None


class ProbeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a probe."""

    policy: str
    ruler: str
    subject: str
    ruler_components: dict[str, str]
    subject_components: dict[str, str]
    outcome: str
    chain: tuple[ProbeLink, ...] = ()


def decode(body):
    """The typed body."""
    try:
        return msgspec.convert(body, ProbeBody, strict=True)
    except msgspec.ValidationError as err:
        raise EvidenceProblem("schema-refused", f"no probe: {err}") from err


def claims(body):
    """What the probe was made from."""
    return Claims(
        policy=body.policy,
        ruler=body.ruler,
        subject=body.subject,
        ruler_components=body.ruler_components,
        subject_components=body.subject_components,
    )


def check(candidate, ground):
    """A probe cannot contradict itself."""
    return iter(())


def links(body):
    """Earlier attempts that it names."""
    return tuple(
        Link(
            run_id=one.run_id,
            run_attempt=one.run_attempt,
            head_sha=one.head_sha,
            standing=one.standing,
            digest=one.digest,
            samples=one.outcome,
        )
        for one in body.chain
    )


def own_samples(body):
    """What a later probe embeds of this one."""
    return body.outcome


def judge(evidence, ground):
    """Fails if a part fails or embeds a failure; holds if every part holds or is excused."""
    lane = evidence.lane
    excused = lane.role == "required" and ground.quarantine.excused_until(lane.name, CASE) is not None
    causes = []
    for candidate in evidence.newest:
        embedded = {one.outcome for one in candidate.body.chain if one.standing == "samples"}
        if candidate.body.outcome == "fails" or "fails" in embedded:
            causes.append(Cause(code="case-broken", word=Word.BLOCK, lane=lane.name, case=CASE))
        elif candidate.body.outcome == "unknown":
            causes.append(Cause(code="case-inconclusive", word=Word.HOLD, lane=lane.name, case=CASE))
        elif candidate.body.outcome == "flaky" and not excused:
            causes.append(Cause(code="case-flaky", word=Word.HOLD, lane=lane.name, case=CASE))
    words = {cause.word for cause in causes}
    outcome = Outcome.FAILS if Word.BLOCK in words else Outcome.UNKNOWN if words else Outcome.HOLDS
    row = LaneRow(
        lane=lane.name, kind=lane.kind, role=lane.role, seal=lane.seal, outcome=outcome, code="holds"
    )
    return Judged(row=row, causes=tuple(causes), notes=())


def _probe(name, attempt, parts):
    return Kind(
        name=name,
        writer="probe",
        model_backed=False,
        attempt=attempt,
        parts=parts,
        decode=decode,
        claims=claims,
        check=check,
        judge=judge,
        links=links,
        own_samples=own_samples,
    )


PROBES = {
    kind.name: kind
    for kind in (
        _probe("probe-pool", "pool", ("all",)),
        _probe("probe-exact", "exact", ("all",)),
        _probe("probe-carry", "carry-over", ("all",)),
        _probe("probe-pool-parts", "pool", ("a", "b")),
        _probe("probe-exact-parts", "exact", ("a", "b")),
        _probe("probe-carry-parts", "carry-over", ("a", "b")),
    )
}
"""Every probe, by name."""
PROBE_RULES = msgspec.structs.replace(RULES, kinds={**RULES.kinds, **PROBES})
"""The gate's own rules with the probes in its table of kinds."""
