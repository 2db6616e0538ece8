# SPDX-License-Identifier: Apache-2.0
"""The body of a sample ledger from what was measured.

What it decides: how samples, exchanges and facts of the run become a ``LedgerBody``, claimed states included.
What it leaves: measuring, to ``measure``; the envelope and the file, to wiring.

- Every collected id is planned and has its row; what was started and never ended is ``invalid``, ``missing``.
- A run that measured everything else and left a case undecided because the endpoint lost it has no redraws left.
- Calls are counted twice, by sample and by exchange; the gate compares the two.
- States are claimed through ``recount``, which the gate uses as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from truegreen.core.digest import Sha256
from truegreen.core.exchange import Exchange
from truegreen.core.wire import WireClass, classify
from truegreen.sampling.engines.messages import Found
from truegreen.sampling.ledger import (
    Case,
    CaseSamples,
    Components,
    Endpoint,
    LedgerBody,
    Link,
    RuleUsed,
    Sample,
    Wire,
)
from truegreen.sampling.recount import NOT_SAMPLED, recounted, rule_used
from truegreen.sampling.schedule import Start
from truegreen.sampling.sequential import FixedRule, Rule
from truegreen.sampling.states import MISSING
from truegreen.sampling.walk import Cause


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a ledger says beside its samples."""

    policy_digest: Sha256
    """Digest of the policy file."""
    ruler: Components
    """What judged."""
    subject: Components
    """What was judged."""
    rule: Rule
    """The stopping rule."""
    j: int | None
    """Which fresh sequence of the pull request this is; None if nobody knows."""
    engine: str
    """Name of the engine."""
    interpreter: str
    """Implementation and version."""
    host: str
    """Host of the endpoint."""
    started_at: str
    """UTC RFC 3339."""
    wall_ms: int
    """Wall clock of sampling."""
    ended: str
    """One of ``ledger.ENDED``."""
    undeclared_inputs: tuple[str, ...] = ()
    """Files that were read and belong neither to ruler nor to subject."""


def ledger_body(  # noqa: PLR0913 - a ledger is made from these
    facts: Facts,
    *,
    cases: Sequence[Found],
    samples: Callable[[str], Sequence[Sample]],
    lost: Callable[[str], Sequence[Sample]],
    missing: Iterable[Start],
    exchanges: Sequence[Exchange],
    claimed: Collection[int],
    chain: Sequence[Link],
) -> LedgerBody:
    """The body; ``samples`` and ``lost`` give this attempt's by case id, ``claimed`` the exchanges that are theirs."""
    by_case: dict[str, list[Sample]] = {}
    for start in missing:
        by_case.setdefault(start.case, []).append(missing_sample(start))
    rows = tuple(
        Case(
            id=found.id,
            blast_radius=found.blast_radius,
            owner=found.owner,
            feature=found.feature,
            golden=found.golden,
            samples=tuple(sorted([*samples(found.id), *by_case.get(found.id, ())], key=lambda one: one.n)),
            lost=tuple(lost(found.id)),
            state=NOT_SAMPLED,
            why="",
        )
        for found in sorted(cases, key=lambda found: found.id)
    )
    body = LedgerBody(
        policy_digest=facts.policy_digest,
        ruler=facts.ruler,
        subject=facts.subject,
        rule=rule_said(facts.rule, facts.j),
        engine=facts.engine,
        interpreter=facts.interpreter,
        endpoint=endpoint_of(facts.host, exchanges),
        wire=wire_of(exchanges, claimed),
        started_at=facts.started_at,
        wall_ms=facts.wall_ms,
        ended=facts.ended,
        planned=tuple(row.id for row in rows),
        cases=rows,
        chain=tuple(chain),
        undeclared_inputs=facts.undeclared_inputs,
    )
    stated = with_states(body)
    if body.ended == "measured" and any(row.why == Cause.TRANSPORT.value for row in stated.cases):
        return with_states(msgspec.structs.replace(body, ended="no-redraws-left"))
    return stated


def with_states(body: LedgerBody) -> LedgerBody:
    """The body with the states that its own samples give under its own rule.

    Raises: EvidenceProblem for numbers that contradict each other.
    """
    found = recounted(body, rule_used(body), j=body.rule.j or 1)
    rows = []
    for row in body.cases:
        one = found[row.id]
        state, why = (one.state.value, one.cause.value) if one else (NOT_SAMPLED, "")
        rows.append(msgspec.structs.replace(row, state=state, why=why))
    return msgspec.structs.replace(body, cases=tuple(rows))


def missing_sample(start: Start) -> Sample:
    """The sample that was started, or was to be drawn again, and never ended."""
    return Sample(n=start.n, bucket="invalid", reason=MISSING, replaces=start.draw - 1)


def own_samples(body: LedgerBody) -> tuple[CaseSamples, ...]:
    """What a later ledger repeats of this one."""
    return tuple(CaseSamples(id=row.id, samples=row.samples, lost=row.lost) for row in body.cases)


def rule_said(rule: Rule, j: int | None) -> RuleUsed:
    """A rule as a ledger names it."""
    if isinstance(rule, FixedRule):
        return RuleUsed(name="fixed", samples=rule.n, cap=0, j=j)
    return RuleUsed(name=rule.name, samples=0, cap=rule.cap, j=j)


def endpoint_of(host: str, exchanges: Iterable[Exchange]) -> Endpoint:
    """Who answered, by what went over the wire."""
    seen = tuple(exchanges)
    return Endpoint(
        host=host,
        models_asked=_named(e.model_asked for e in seen),
        models_served=_named(e.model_served for e in seen),
        fingerprints=_named(e.system_fingerprint for e in seen),
    )


def wire_of(exchanges: Sequence[Exchange], claimed: Collection[int]) -> Wire:
    """What the observer counted."""
    attributed = sum(exchange.id in claimed for exchange in exchanges)
    return Wire(
        calls=len(exchanges),
        attributed=attributed,
        unattributed=len(exchanges) - attributed,
        transport=sum(classify(exchange).kind is WireClass.TRANSPORT for exchange in exchanges),
        prompt_tokens=sum(exchange.usage.prompt_tokens or 0 for exchange in exchanges),
        completion_tokens=sum(exchange.usage.completion_tokens or 0 for exchange in exchanges),
    )


def components(digest: Sha256, parts: Mapping[str, str]) -> Components:
    """A digest with its parts, as a ledger holds them."""
    return Components(digest=digest, components=dict(parts))


def _named(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))
