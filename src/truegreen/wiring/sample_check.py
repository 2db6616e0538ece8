# SPDX-License-Identifier: Apache-2.0
"""What the merge table says of a ledger that was just written, for hooks.

What it decides: the exit code of ``sample --check``. What it leaves: the rows, to ``merge.toml``; evidence,
completeness and what other lanes say, to the gate.

- Quarantine does not excuse here: whether an entry is live on the base is the gate's to say.
- ``FLAKY_BUDGET`` is the article's: so many unsteady cases pass, one more blocks. It excuses what would hold for
  being unsteady, never what blocks and nothing that is undecided.
- Golden cases are for people and never decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from truegreen.core.outcome import Exit
from truegreen.core.table import Row
from truegreen.sampling.ledger import Case, LedgerBody
from truegreen.sampling.merge import row_for
from truegreen.sampling.recount import recounted
from truegreen.sampling.sequential import Rule
from truegreen.sampling.states import CaseState, State
from truegreen.wiring.sample_ground import SampleGround
from truegreen.wiring.sample_request import flaky_budget

FLAKY = (State.MOSTLY_PASSING, State.MOSTLY_FAILING)
CODES = {"merge": Exit.DONE, "hold": Exit.HOLD, "block": Exit.BLOCK}
SAID = {Exit.DONE: "passes", Exit.HOLD: "holds", Exit.BLOCK: "blocks"}


@dataclass(frozen=True, kw_only=True)
class Checked:
    """Rows of the merge table and the exit code that they give."""

    rows: dict[str, Row]
    """Case id to its row."""
    flaky: tuple[str, ...]
    """Unsteady cases."""
    budget: int | None
    """``FLAKY_BUDGET``, if it is set."""
    code: Exit
    """0, 1 or 3."""

    excused: frozenset[str] = frozenset()
    """Unsteady cases that hold by the table and that the budget lets pass."""

    def lines(self) -> Iterator[str]:
        """Why the exit code is what it is: the word, then each case that does not pass, what blocks first."""
        yield f"check: {SAID[self.code]}{self._about_budget()}" + ("" if self.rows else ", no case is gated")
        for code in (Exit.BLOCK, Exit.HOLD):
            for case_id, row in self.rows.items():
                if CODES[row.then["word"]] is code:
                    by = ", within FLAKY_BUDGET" if case_id in self.excused else ""
                    yield f"  {SAID[code]}{by}: {case_id} [{row.then['code']}]"

    def _about_budget(self) -> str:
        if self.budget is None:
            return ""
        return f", {len(self.flaky)} unsteady and FLAKY_BUDGET allows {self.budget}"


def check(ground: SampleGround, body: LedgerBody, rule: Rule, environment: Mapping[str, str]) -> Checked:
    """The merge table over every gated case of a ledger.

    Raises: UsageProblem ``bad-count`` for a ``FLAKY_BUDGET`` that is no count.
    """
    budget = flaky_budget(environment)
    states = recounted(body, rule, j=body.rule.j or 1)
    gated = [case for case in body.cases if not case.golden]
    rows = {case.id: _row(ground, body, case, states[case.id]) for case in gated}
    flaky = tuple(case.id for case in gated if (one := states[case.id]) is not None and one.state in FLAKY)
    excused = _excused(rows, flaky, budget)
    is_over = budget is not None and len(flaky) > budget
    code = Exit.BLOCK if is_over else _code(row for one, row in rows.items() if one not in excused)
    if not rows:
        code = Exit.HOLD
    return Checked(rows=rows, flaky=flaky, budget=budget, code=code, excused=excused)


def _row(ground: SampleGround, body: LedgerBody, case: Case, found: CaseState | None) -> Row:
    agreed = ground.agreed
    return row_for(
        found,
        blast_radius=case.blast_radius,
        is_ruler_changed=agreed is not None and agreed.ruler != ground.digests.ruler.digest,
        endpoint=endpoint_standing(ground, body),
    )


def endpoint_standing(ground: SampleGround, body: LedgerBody) -> str:
    """How the endpoint that answered stands to the one that the baseline names."""
    agreed = ground.agreed
    if agreed is None or agreed.endpoint is None:
        return "none-agreed"
    if body.endpoint.host != agreed.endpoint:
        return "other-endpoint"
    return "as-agreed" if set(body.endpoint.models_served) <= set(agreed.models_served) else "other-model"


def _excused(rows: Mapping[str, Row], flaky: tuple[str, ...], budget: int | None) -> frozenset[str]:
    if budget is None or len(flaky) > budget:
        return frozenset()
    return frozenset(one for one in flaky if rows[one].then["word"] == "hold")


def _code(rows: Iterable[Row]) -> Exit:
    return max((CODES[row.then["word"]] for row in rows), key=_weight, default=Exit.DONE)


def _weight(code: Exit) -> int:
    return (Exit.DONE, Exit.HOLD, Exit.BLOCK).index(code)
