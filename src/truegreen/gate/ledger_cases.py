# SPDX-License-Identifier: Apache-2.0
"""What the pooled samples of each case prove, and what follows for the merge.

What it decides: each case's state under the base's rule and its row of the merge table. What it leaves: the
rows, to ``sampling/merge.toml``; the lane's universe, to ``ledger_lane``.

- States are recomputed from samples, under the rule of the base's policy and the sequence number that the run
  index gives; the producer's claims are not read here.
- A golden case is for people to read: it has no row here, and its place in the ruler keeps it honest.
- A cause tells k of n, what the bound proves, and the first failing answer; it blames nobody for an outage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from truegreen.core.canonical import MAX_SAFE_INTEGER
from truegreen.core.decision import CaseRow, Cause, LaneRow
from truegreen.core.errors import EvidenceProblem
from truegreen.core.outcome import Outcome, Word
from truegreen.core.table import Row
from truegreen.gate.ground import Ground
from truegreen.gate.ledger_lane import CHECKS, LaneCheck, View, view_of
from truegreen.gate.model import Judged, LaneEvidence
from truegreen.sampling.ledger import Case, Sample
from truegreen.sampling.merge import row_for
from truegreen.sampling.recount import NOT_SAMPLED, recounted, suite_of
from truegreen.sampling.sequential import named
from truegreen.sampling.states import CaseState

WORDS = {"merge": None, "hold": Word.HOLD, "block": Word.BLOCK}
"""What a row of the merge table says, as the gate's words."""
QUARANTINED = "case-quarantined"
TOLD_ONCE = frozenset({"ruler-changed"})
"""Codes that the lane's own checks tell, so that they are not repeated case by case."""
GROUPED = {
    "case-outage": "endpoint-outage",
    "endpoint-changed": "endpoint-changed",
    "model-changed": "model-changed",
}
"""Codes that are told once for the lane, however many cases share them."""
DETAIL_CHARS = 300
"""Most characters of an answer, a host or a list of models that a cause repeats."""


def judge(evidence: LaneEvidence, ground: Ground, *, checks: tuple[LaneCheck, ...] = CHECKS) -> Judged:
    """The lane's row, causes and notes.

    Raises: Unreachable when a tree or a baseline cannot be read.
    """
    view = view_of(evidence, ground)
    rule = named(evidence.lane.rule, samples=evidence.lane.samples, cap=evidence.lane.cap)
    try:
        states = recounted(view.body, rule, j=evidence.j)
        suite = suite_of(view.body, rule)
    except EvidenceProblem as err:  # numbers that fit the producer's rule and not the base's
        return _contradicting(view, err)
    rows: list[CaseRow] = []
    causes: list[Cause] = [cause for check in checks for cause in check(view)]
    notes: list[Cause] = list(_notes(view))
    for case in view.body.cases:
        if case.golden:  # read by people, never gated: neither sampled nor counted
            continue
        row, told = _case(view, case, states[case.id], suite[case.id])
        rows.append(row)
        (notes if told is not None and told.word is None else causes).extend([told] if told else [])
    return Judged(row=_lane_row(view, rows, causes), causes=tuple(_grouped(causes, view)), notes=tuple(notes))


def _contradicting(view: View, err: EvidenceProblem) -> Judged:
    """A ledger whose samples cannot be one sequence under the base's rule."""
    lane = view.evidence.lane
    facts: dict[str, str | int] = {
        "what": "the samples",
        "claimed": view.body.rule.name,
        "found": err.message[:120],
        "file": view.candidate.name,
        "container": view.candidate.container,
    }
    cause = Cause(code="ledger-contradicts", word=Word.BLOCK, lane=lane.name, facts=facts)
    return Judged(row=_lane_row(view, [], [cause]), causes=(cause,), notes=())


def _case(
    view: View, case: Case, found: CaseState | None, samples: tuple[Sample, ...]
) -> tuple[CaseRow, Cause | None]:
    excused = _excused(view, case)
    decided = row_for(
        found,
        blast_radius=case.blast_radius,
        is_quarantined=excused is not None,
        is_ruler_changed=view.agreed is not None and view.agreed.ruler != view.digests.ruler.digest,
        endpoint=_endpoint(view),
    )
    row = _case_row(case, found, samples, decided, excused)
    return row, _cause(view, row, decided)


def _excused(view: View, case: Case) -> str | None:
    """Until when the quarantine excuses a case; it excuses in required lanes only."""
    lane = view.evidence.lane
    return view.ground.quarantine.excused_until(lane.name, case.id) if lane.role == "required" else None


def _endpoint(view: View) -> str:
    """How the endpoint that answered stands to the one that the baseline names."""
    agreed, used = view.agreed, view.body.endpoint
    if agreed is None or agreed.endpoint is None:
        return "none-agreed"
    if used.host != agreed.endpoint:
        return "other-endpoint"
    return "as-agreed" if set(used.models_served) <= set(agreed.models_served) else "other-model"


def _case_row(
    case: Case, found: CaseState | None, samples: tuple[Sample, ...], decided: Row, excused: str | None
) -> CaseRow:
    tally = found.tally if found else None
    bounds = found.bounds if found else None
    buckets = Counter(sample.bucket for sample in samples)
    return CaseRow(
        id=case.id,
        passed=tally.passed if tally else 0,
        asked=tally.read if tally else 0,
        state=found.state.value if found else NOT_SAMPLED,
        why=found.cause.value if found else "missing",
        then=decided.then["word"],
        row=decided.id,
        bound_low=bounds.low if bounds else None,
        bound_high=bounds.high if bounds else None,
        proves=found.words if found else "not sampled",
        owner=case.owner,
        blast_radius=case.blast_radius,
        excused_until=excused if decided.then["code"] == QUARANTINED else None,
        detail=next((s.detail[:DETAIL_CHARS] for s in samples if s.bucket != "pass" and s.detail), ""),
        buckets={name: buckets[name] for name in sorted(buckets)},
    )


def _cause(view: View, row: CaseRow, decided: Row) -> Cause | None:
    """What is told of a case; None when there is nothing to tell."""
    code = decided.then["code"]
    if code in TOLD_ONCE or (row.then == "merge" and code != QUARANTINED):
        return None
    facts: dict[str, str | int] = {
        "passed": row.passed,
        "asked": row.asked,
        "owner": row.owner or view.evidence.lane.owner or "",
        "proves": row.proves,
        "why": row.why,
        "detail": row.detail,
        "expires": row.excused_until or "",
        **_agreed_facts(view),
    }
    return Cause(code=code, word=WORDS[row.then], lane=view.evidence.lane.name, case=row.id, facts=facts)


def _agreed_facts(view: View) -> dict[str, str | int]:
    """Endpoint and models, asked and agreed, for the causes that speak of them."""
    agreed, used = view.agreed, view.body.endpoint
    return {
        "endpoint": used.host[:DETAIL_CHARS],
        "served": ", ".join(used.models_served)[:DETAIL_CHARS],
        "agreed_endpoint": (agreed.endpoint if agreed else None) or "",
        "agreed_models": ", ".join(agreed.models_served if agreed else ()),
    }


def _notes(view: View) -> Iterable[Cause]:
    lane = view.evidence.lane.name
    if view.body.rule.j is None and not view.ground.facts.local:
        yield Cause(code="sequences-unknown", word=None, lane=lane)
    for path in view.body.undeclared_inputs[:3]:
        yield Cause(code="undeclared-input", word=None, lane=lane, facts={"file": path[:DETAIL_CHARS]})


def _grouped(causes: list[Cause], view: View) -> Iterable[Cause]:
    """Causes that are one matter of the lane, told once with the number of cases."""
    told: set[str] = set()
    for cause in causes:
        name = GROUPED.get(cause.code)
        if name is None:
            yield cause
        elif name not in told:
            told.add(name)
            count = sum(1 for other in causes if GROUPED.get(other.code) == name)
            wire = view.body.wire
            facts = {**cause.facts, "cases": count, "failed": wire.transport, "calls": wire.calls}
            yield Cause(code=name, word=cause.word, lane=cause.lane, facts=facts)


def _lane_row(view: View, rows: list[CaseRow], causes: list[Cause]) -> LaneRow:
    words = {cause.word for cause in causes}
    outcome = Outcome.HOLDS
    if Word.BLOCK in words:
        outcome = Outcome.FAILS
    elif Word.HOLD in words:
        outcome = Outcome.UNKNOWN
    body, lane = view.body, view.evidence.lane
    order = {"block": 0, "hold": 1, "merge": 2}
    return LaneRow(
        lane=lane.name,
        kind=lane.kind,
        role=lane.role,
        seal=lane.seal,
        outcome=outcome,
        code=causes[0].code if causes else "holds",
        owner=lane.owner,
        cases=tuple(sorted(rows, key=lambda row: (order[row.then], row.id))),
        calls=_summed(body.wire.calls, _earlier_calls(view)),
        wall_ms=body.wall_ms,
        tokens=_summed(body.wire.prompt_tokens, body.wire.completion_tokens),
        endpoint=body.endpoint.host,
        models_served=body.endpoint.models_served,
    )


def _summed(*counts: int) -> int:
    """A sum that a record can hold; what is more, no ledger has counted."""
    return min(sum(counts), MAX_SAFE_INTEGER)


def _earlier_calls(view: View) -> int:
    """Calls of earlier attempts, as far as their samples tell."""
    return sum(
        sample.calls for link in view.body.chain for row in link.cases for sample in (*row.samples, *row.lost)
    )
