# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of one sample ledger: does it contradict itself?

What it decides: contradictions inside one record. What it leaves: what its samples prove, to ``ledger_lane``.

- Every planned id has its row, once. Numbers of a case are distinct over all attempts (refilled slots apart).
- The observer's count of calls is the sum over the samples and what nobody claims.
- The producer's states are the ones that its own samples give under its own rule.
- Links name each earlier attempt once; only ``samples`` links carry samples, and only for planned ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.schema import validate
from truegreen.gate.ground import Ground
from truegreen.gate.model import Candidate, Claims, Finding, Link
from truegreen.sampling.ledger import LedgerBody
from truegreen.sampling.recount import claimed_states


def decode(body: dict[str, Any]) -> LedgerBody:
    """The typed body; the kind's schema says what it may hold.

    Raises: EvidenceProblem ``schema-refused``.
    """
    validate("sample-ledger.v1", body)
    return msgspec.convert(body, LedgerBody, strict=True)


def claims(body: LedgerBody) -> Claims:
    """What the ledger was made from, by its own account."""
    return Claims(
        policy=body.policy_digest,
        ruler=body.ruler.digest,
        subject=body.subject.digest,
        ruler_components=body.ruler.components,
        subject_components=body.subject.components,
    )


def links(body: LedgerBody) -> tuple[Link, ...]:
    """Earlier attempts that the ledger names."""
    return tuple(
        Link(
            run_id=link.run_id,
            run_attempt=link.run_attempt,
            head_sha=link.head_sha,
            standing=link.standing,
            digest=link.digest,
            samples=tuple((case.id, case.samples, case.lost) for case in link.cases),
        )
        for link in body.chain
    )


def own_samples(body: LedgerBody) -> Any:
    """What a later ledger must embed of this one."""
    return tuple((case.id, case.samples, case.lost) for case in body.cases)


def check(candidate: Candidate, ground: Ground) -> Iterator[Finding]:
    """Contradictions inside the ledger, most basic first."""
    del ground
    body: LedgerBody = candidate.body
    yield from _universe(body)
    yield from _calls(body)
    yield from _chain(body)
    yield from _states(body)


def _contradicts(what: str, claimed: object, found: object) -> Finding:
    return Finding(
        code="ledger-contradicts",
        standing="blocked",
        facts={"what": what, "claimed": str(claimed)[:120], "found": str(found)[:120]},
    )


def _universe(body: LedgerBody) -> Iterator[Finding]:
    rows = tuple(case.id for case in body.cases)
    if tuple(sorted(set(body.planned))) != body.planned:
        yield _contradicts("the planned ids", "sorted and distinct", f"{len(body.planned)} ids that are not")
    elif rows != body.planned:
        missing = sorted(set(body.planned) - set(rows))[:1] or sorted(set(rows) - set(body.planned))[:1]
        yield _contradicts(
            "the rows", f"{len(body.planned)} planned ids", missing[0] if missing else "another order"
        )


def _calls(body: LedgerBody) -> Iterator[Finding]:
    counted = sum(sample.calls for case in body.cases for sample in (*case.samples, *case.lost))
    if body.wire.attributed != counted:
        yield Finding(
            code="calls-contradict",
            standing="blocked",
            facts={"claimed": str(counted), "counted": str(body.wire.attributed)},
        )
    elif body.wire.calls != body.wire.attributed + body.wire.unattributed:
        yield Finding(
            code="calls-contradict",
            standing="blocked",
            facts={
                "claimed": str(body.wire.attributed + body.wire.unattributed),
                "counted": str(body.wire.calls),
            },
        )


def _chain(body: LedgerBody) -> Iterator[Finding]:
    pairs = [(link.run_id, link.run_attempt) for link in body.chain]
    if len(set(pairs)) != len(pairs):
        yield _contradicts("the chain", f"{len(set(pairs))} attempts", f"{len(pairs)} links")
    planned = set(body.planned)
    for link in body.chain:
        foreign = [row.id for row in link.cases if row.id not in planned]
        if link.standing == "samples" and foreign:
            yield _contradicts("an earlier attempt's cases", "planned ids", foreign[0])
        if link.standing != "samples" and link.cases:
            yield _contradicts("an earlier attempt", link.standing, f"{len(link.cases)} cases with samples")
        if (link.digest is None) != (link.standing == "left-none"):
            yield _contradicts("an earlier attempt's digest", link.standing, str(link.digest))


def _states(body: LedgerBody) -> Iterator[Finding]:
    """The producer's states against its own samples and rule."""
    try:
        found = claimed_states(body)
        for case in body.cases:
            if found.get(case.id) != case.state:
                yield _contradicts(f"the state of {case.id}", case.state, found.get(case.id))
                return
    except EvidenceProblem as err:
        yield _contradicts("the samples", "numbers that stand once", err.message)
    except UsageProblem as err:
        yield _contradicts("the rule", body.rule.name, err.message)
