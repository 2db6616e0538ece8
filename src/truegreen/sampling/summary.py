# SPDX-License-Identifier: Apache-2.0
"""A ledger in words: what was seen of each case, and what that proves.

What it decides: lines for people. What it leaves: printing, to the door; the decision, to the gate.

- k of n, the state in words, and the bound: "5 of 5 pass: works at least 54 % of the time (95 % sure)".
- Worst first: what never passed, what is unsteady, what is undecided, what passes.
- Texts of answers are untrusted: control characters are written as escapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from truegreen.core.quoted import plainly
from truegreen.sampling.ledger import Case, LedgerBody
from truegreen.sampling.recount import recounted, rule_used
from truegreen.sampling.states import CaseState, State
from truegreen.sampling.walk import Cause

ORDER = (
    State.NEVER_PASSED,
    State.MOSTLY_FAILING,
    State.MOSTLY_PASSING,
    State.INCONCLUSIVE,
    State.STABLE_PASS,
)
WORDS = {
    State.STABLE_PASS: "passes",
    State.NEVER_PASSED: "never passed",
    State.MOSTLY_FAILING: "unsteady, mostly failing",
    State.MOSTLY_PASSING: "unsteady, mostly passing",
    State.INCONCLUSIVE: "undecided",
}
CAUSES = {
    Cause.CAP: "the cap was reached in between",
    Cause.TRANSPORT: "the endpoint lost samples",
    Cause.CLAIMED: "tests reported connection errors that the wire did not show",
    Cause.INVALID: "samples ended without an answer that counts",
    Cause.COLD: "a sample without the prefix cache failed",
    Cause.BUDGET: "a limit on calls or time was reached",
    Cause.MISSING: "it was interrupted",
}
DETAIL_CHARS = 160
MOST_LOST_SHOWN = 3


def lines(body: LedgerBody) -> Iterator[str]:
    """The summary, a line at a time.

    Raises: EvidenceProblem for numbers that contradict each other.
    """
    states = recounted(body, rule_used(body), j=body.rule.j or 1)
    for case in sorted(body.cases, key=lambda case: (_rank(states[case.id]), case.id)):
        yield case_line(case, states[case.id])
        yield from _details(case)
    yield totals(body)


def case_line(case: Case, found: CaseState | None) -> str:
    """One case: k of n, its id, and what that proves."""
    if case.golden:
        return f"   -    {case.id}  golden: for people, never gated"
    if found is None:
        return f"   -    {case.id}  not sampled"
    tally = found.tally
    why = f" ({CAUSES[found.cause]})" if found.cause in CAUSES else ""
    others = _others(case)
    counted = f"{tally.passed}/{tally.read}"
    return f"{counted:>6}  {case.id}  {WORDS[found.state]}{why}: {found.words}{others}"


def totals(body: LedgerBody) -> str:
    """What was asked of whom, and what it took."""
    used, wire = body.endpoint, body.wire
    models = ", ".join(used.models_served) or "no model named itself"
    tokens = wire.prompt_tokens + wire.completion_tokens
    lost = f", {wire.transport} lost by the endpoint" if wire.transport else ""
    return f"{len(body.cases)} cases · {wire.calls} calls{lost}, {tokens} tokens, {body.wall_ms / 1000:.1f} s · {models} at {used.host} · engine {body.engine}"


def _rank(found: CaseState | None) -> int:
    return len(ORDER) if found is None else ORDER.index(found.state)


def _others(case: Case) -> str:
    """Buckets beside pass and fail."""
    count = Counter(one.bucket for one in case.samples if one.bucket not in ("pass", "fail"))
    count["redrawn"] = len(case.lost)
    told = [f"{number} {bucket}" for bucket, number in sorted(count.items()) if number]
    return f" · {', '.join(told)}" if told else ""


def _details(case: Case) -> Iterator[str]:
    """The first failing answer, and the first loss of each other kind."""
    shown: set[str] = set()
    for one in case.samples:
        if one.bucket == "pass" or one.bucket in shown or len(shown) == MOST_LOST_SHOWN:
            continue
        shown.add(one.bucket)
        first = one.detail.strip().partition("\n")[0]
        detail = f": {plainly(first, DETAIL_CHARS)}" if first else ""
        yield f"          sample {one.n} {one.bucket} ({one.reason}){detail}"
