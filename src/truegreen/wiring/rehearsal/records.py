# SPDX-License-Identifier: Apache-2.0
"""Records as an honest producer writes them, from a few letters a case.

What it decides: ledgers, subjects and baselines whose arithmetic is right. What it leaves: which of them lie on a
stage, to ``honest`` and ``tricks``.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from truegreen.core.baseline import SCHEMA as BASELINE_SCHEMA
from truegreen.core.baseline import Baseline, LaneBaseline
from truegreen.core.canonical import write_json
from truegreen.core.event import EventFacts
from truegreen.core.policy import Lane, Policy
from truegreen.core.record import Envelope, Producer
from truegreen.core.subject import CommitId, Subject, TreeId
from truegreen.sampling.ledger import (
    SCHEMA,
    Case,
    Components,
    Endpoint,
    LedgerBody,
    Link,
    RuleUsed,
    Sample,
    Wire,
)
from truegreen.sampling.recount import claimed_states
from truegreen.sampling.sequential import FixedRule, Rule
from truegreen.wiring.rehearsal.stage import ISSUED_AT, STARTED_AT


def samples(text: str, first: int = 1) -> tuple[Sample, ...]:
    """``"ppf"`` as numbered samples with one call each."""
    buckets = {"p": "pass", "f": "fail", "t": "transport", "i": "invalid", "c": "claimed-transport"}
    reasons = {"p": "", "f": "wrong-answer", "t": "http-429", "i": "missing", "c": "connection-error"}
    return tuple(
        Sample(n=first + at, bucket=buckets[letter], reason=reasons[letter], calls=1)
        for at, letter in enumerate(text)
    )


def case_row(name: str, taken: tuple[Sample, ...], state: str = "") -> Case:
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


def ledger_body(  # noqa: PLR0913 - a ledger is made of these
    policy: Policy,
    digests: tuple[Components, Components],
    cases: tuple[Case, ...],
    *,
    rule: Rule,
    j: int | None = 1,
    chain: tuple[Link, ...] = (),
) -> LedgerBody:
    """A ledger over these rows whose arithmetic is right; rows without a state get the one that they have."""
    calls = sum(sample.calls for case in cases for sample in (*case.samples, *case.lost))
    body = LedgerBody(
        policy_digest=policy.digest,
        ruler=digests[0],
        subject=digests[1],
        rule=_used(rule, j),
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
        chain=chain,
        undeclared_inputs=(),
    )
    found = {} if all(case.state for case in cases) else claimed_states(body)
    rows = (msgspec.structs.replace(case, state=case.state or found[case.id]) for case in cases)
    return msgspec.structs.replace(body, cases=tuple(rows))


def _used(rule: Rule, j: int | None) -> RuleUsed:
    if isinstance(rule, FixedRule):
        return RuleUsed(name=rule.name, samples=rule.n, cap=0, j=j)
    return RuleUsed(name=rule.name, samples=0, cap=rule.cap, j=j)


def envelope(
    lane: Lane, subject: Subject, body: LedgerBody, *, part: str = "all", issued_at: str = ISSUED_AT
) -> Envelope:
    """The record of a ledger."""
    return Envelope(
        schema=SCHEMA,
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


def lane_baseline(
    ruler: Components, ids: tuple[str, ...], previous: LaneBaseline | None = None
) -> LaneBaseline:
    """What a change agrees on for one lane, and what it replaces."""
    return LaneBaseline(
        ruler=ruler.digest,
        components=ruler.components,
        case_ids=ids,
        inputs=(),
        prompts=(),
        endpoint=None,
        models_served=(),
        previous=previous.ruler if previous else None,
        reason="first cases" if previous is None else "other cases",
    )


def baseline_text(lanes: Mapping[str, LaneBaseline]) -> bytes:
    """The committed baseline."""
    return write_json(msgspec.to_builtins(Baseline(schema=BASELINE_SCHEMA, lanes=dict(lanes))))
