# SPDX-License-Identifier: Apache-2.0
"""A ledger as other forms: counted again for people and programs, and in the article's own fields.

What it decides: these two forms. What it leaves: reading the record, to wiring; the summary's words, to
``summary``.

- Nothing that the producer claims is repeated as found: states, tallies and bounds are counted again.
- The article's form drops what it has no field for; its denominator has every numbered sample, as ours has.
"""

from __future__ import annotations

from typing import Any

import msgspec

from truegreen.sampling.ledger import Case, LedgerBody
from truegreen.sampling.recount import NOT_SAMPLED, attempts_of, recounted, rule_used
from truegreen.sampling.states import CaseState, State

VIEW_SCHEMA = "truegreen/ledger-view/v1"
DIGEST_CHARS = 12
"""Digits of a digest that the article shows."""
ARTICLE_STATES = {
    State.STABLE_PASS: "stable-pass",
    State.NEVER_PASSED: "stable-fail",
    State.MOSTLY_PASSING: "flaky",
    State.MOSTLY_FAILING: "flaky",
    State.INCONCLUSIVE: "inconclusive",
}


def recount_view(body: LedgerBody) -> dict[str, Any]:
    """Each case counted again, with what its samples prove, and the run's own facts.

    Raises: EvidenceProblem for numbers that contradict each other.
    """
    states = recounted(body, rule_used(body), j=body.rule.j or 1)
    return {
        "schema": VIEW_SCHEMA,
        "rule": msgspec.to_builtins(body.rule),
        "ended": body.ended,
        "endpoint": msgspec.to_builtins(body.endpoint),
        "wire": msgspec.to_builtins(body.wire),
        "wall_ms": body.wall_ms,
        "ruler": body.ruler.digest,
        "subject": body.subject.digest,
        "attempts": 1 + sum(link.standing == "samples" for link in body.chain),
        "cases": {case.id: _case_view(case, states[case.id]) for case in body.cases},
    }


def article_view(body: LedgerBody) -> dict[str, Any]:
    """The fields of the article's ``model-ledger.json``.

    Raises: EvidenceProblem for numbers that contradict each other.
    """
    states = recounted(body, rule_used(body), j=body.rule.j or 1)
    cases = {case.id: _article_case(body, case, states[case.id]) for case in body.cases if not case.golden}
    return {
        "fixture_digest": body.ruler.digest.partition(":")[2][:DIGEST_CHARS],
        "runs_per_case": max((row["runs"] for row in cases.values()), default=0),
        "flaky": sorted(name for name, row in cases.items() if row["state"] == "flaky"),
        "cases": cases,
    }


def _case_view(case: Case, found: CaseState | None) -> dict[str, Any]:
    bounds = found.bounds if found else None
    return {
        "state": found.state.value if found else NOT_SAMPLED,
        "cause": found.cause.value if found else "",
        "tally": msgspec.to_builtins(found.tally) if found else None,
        "low": bounds.low if bounds else None,
        "high": bounds.high if bounds else None,
        "proves": found.words if found else "not sampled",
        "blast_radius": case.blast_radius,
        "owner": case.owner,
        "feature": case.feature,
        "golden": case.golden,
    }


def _article_case(body: LedgerBody, case: Case, found: CaseState | None) -> dict[str, Any]:
    samples = [one for attempt in attempts_of(body, case.id) for one in attempt]
    passes = sum(one.bucket == "pass" for one in samples)
    return {
        "passes": passes,
        "runs": len(samples),
        "pass_rate": round(passes / len(samples), 2) if samples else 0.0,
        "state": ARTICLE_STATES[found.state] if found else NOT_SAMPLED,
    }
