# SPDX-License-Identifier: Apache-2.0
"""How many calls a whole pipeline run may repeat: a share of its requests, whoever made them.

What it decides: for each attempt of a log, in the order of its lines, whether a repetition that it wants is granted.
What it leaves: the log's file, to ``call_file``; whether an attempt may want one, to ``retry``.

- A tenth of the requests that have ended, or ``reserve`` where that is more; one less for each repetition. Below one
  whole repetition nothing is repeated.
- The order of the lines is the order of asking. Everybody who reads the same lines comes to the same answer, so that
  several jobs share one budget without another file.
- Only lines of the same run count together.

Source: sre.google/sre-book/handling-overload (per-client retry budget of 10 %).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from truegreen.core.call_log import CallEntry


class BudgetRule(msgspec.Struct, frozen=True, kw_only=True):
    """How much may be repeated; the same for all jobs of a run."""

    percent: int = 10
    """Repetitions for a hundred requests."""
    reserve: int = 10
    """Repetitions that a run has at least, so that a short one can repeat at all."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has asked and repeated so far."""

    requests: int = 0
    """Calls whose first attempt ended."""
    repeated: int = 0
    """Repetitions that were granted."""
    refused: int = 0
    """Repetitions that the budget did not have."""

    def hundredths(self, rule: BudgetRule) -> int:
        """What is left, in hundredths of a repetition."""
        return max(ONE * rule.reserve, rule.percent * self.requests) - ONE * self.repeated

    def has_room(self, rule: BudgetRule) -> bool:
        """Whether one more repetition is granted."""
        return self.hundredths(rule) >= ONE


ONE: Final = 100
"""Hundredths of one repetition."""
DEFAULT: Final = BudgetRule()


def with_entry(before: Budget, entry: CallEntry, rule: BudgetRule = DEFAULT) -> Budget:
    """The budget after one more attempt: a first attempt adds its share, a wanted repetition is granted or refused."""
    budget = msgspec.structs.replace(before, requests=before.requests + (entry.attempt == 1))
    if not entry.wants_again:
        return budget
    if budget.has_room(rule):
        return msgspec.structs.replace(budget, repeated=budget.repeated + 1)
    return msgspec.structs.replace(budget, refused=budget.refused + 1)


def of_run(entries: Iterable[CallEntry], run: str, rule: BudgetRule = DEFAULT) -> Budget:
    """The budget of a run after these attempts, in the order of the log."""
    budget = Budget()
    for entry in entries:
        if entry.run == run:
            budget = with_entry(budget, entry, rule)
    return budget


def sentence(budget: Budget, rule: BudgetRule = DEFAULT) -> str:
    """The budget for a summary: "retry budget: 3 of 14 used by 41 calls, 0 refused"."""
    granted = budget.repeated + max(0, budget.hundredths(rule) // ONE)
    calls = f"{budget.requests} call{'' if budget.requests == 1 else 's'}"
    return f"retry budget: {budget.repeated} of {granted} used by {calls}, {budget.refused} refused"
