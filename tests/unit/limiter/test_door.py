# SPDX-License-Identifier: Apache-2.0
"""The door: leave, ruling and line in their order."""

import asyncio
import datetime as dt

import pytest

from simulators.ledger import AsyncCountingLedger, CountingLedger
from truegreen.core.admission import Again, Ask, Ended, Final, Pressure
from truegreen.core.call_log import entries_of
from truegreen.core.errors import ReachProblem
from truegreen.core.exchange import End
from truegreen.limiter.budget import BudgetRule
from truegreen.limiter.call_file import CallLog
from truegreen.limiter.door import AsyncDoor, Door, Rulings, now_utc
from truegreen.limiter.retry import RetryLimits

NOW = dt.datetime(2026, 8, 13, tzinfo=dt.UTC)
ASK = Ask(holder="job", resource="model", call="c1", request="sha256:b", layer="openai-sdk")
TOLD = Ended(status=429, end=End.COMPLETE, retry_after=("7",), took_s=0.5, used_tokens=12)


class Entered:
    """One door with its ledger, for threads or for tasks behind the same calls."""

    def __init__(self, kind, rulings):
        self.is_async = kind == "async"
        ledger = AsyncCountingLedger() if self.is_async else CountingLedger()
        self.ledger = ledger.inner if self.is_async else ledger
        self.door = AsyncDoor(ledger, rulings) if self.is_async else Door(ledger, rulings)

    def once(self, ended, *earlier, ask=ASK):
        """Leave and the ruling on its end."""

        async def task():
            return await self.door.leave(await self.door.enter(ask), ended, earlier)

        return asyncio.run(task()) if self.is_async else self.door.leave(self.door.enter(ask), ended, earlier)


@pytest.fixture(params=["sync", "async"])
def made(request):
    """A door for threads or for tasks."""
    return lambda rulings=None: Entered(request.param, rulings)


def test_an_end_gives_back_leave_moves_everybody_and_is_taken_down(made, tmp_path):
    """The pause is the told one for all, jitter is the caller's own."""
    log = CallLog(tmp_path / "calls.jsonl", run="r")
    entered = made(Rulings(log=log, clock=lambda: NOW, chance=lambda: 0.5))
    assert Again(wait_s=7.5, reason="429-told") == entered.once(TOLD)
    assert [("1", 12, Pressure(pause_s=7.0))] == entered.ledger.given_back
    log.close()
    (entry,) = entries_of((tmp_path / "calls.jsonl").read_text())
    assert (
        "r",
        "job",
        "model",
        "c1",
        1,
        429,
        "complete",
        False,
        True,
        "429-told",
        "openai-sdk",
        "sha256:b",
    ) == (
        *(entry.run, entry.job, entry.resource, entry.call, entry.attempt, entry.status, entry.end),
        *(entry.is_ok, entry.wants_again, entry.reason, entry.layer, entry.request),
    )
    assert (1786579200_000000, 0.5) == (entry.ended_us, entry.took_s)


def test_the_budget_of_the_run_ends_repeating(made):
    """One repetition is there, the second is refused by name."""
    rulings = Rulings(log=CallLog(rule=BudgetRule(reserve=1, percent=0)), chance=lambda: 0.0)
    entered = made(rulings)
    assert isinstance(entered.once(TOLD), Again)
    assert Final(reason="budget-spent") == entered.once(TOLD)
    assert (1, 1) == (rulings.log.budget().repeated, rulings.log.budget().refused)


def test_the_deadline_counts_waiting_and_calling(made):
    """Spent before, waited for leave and taken by the call."""
    entered = made(Rulings(limits=RetryLimits(total_s=10.0), chance=lambda: 0.0))
    late = Ask(spent_s=2.6)
    assert Final(reason="deadline") == entered.once(TOLD, ask=late)
    assert isinstance(entered.once(TOLD, ask=Ask(spent_s=2.4)), Again)


def test_leave_is_handed_back_even_if_the_log_fails(made, tmp_path):
    """And nothing is repeated on an assumption."""
    log = CallLog(tmp_path / "calls.jsonl")
    log.close()
    log._file = 999_999
    entered = made(Rulings(log=log))
    with pytest.raises(ReachProblem, match="call-log-failed"):
        entered.once(TOLD)
    assert set() == entered.ledger.in_flight


def test_the_clock_has_a_zone():
    """UTC."""
    assert dt.UTC is now_utc().tzinfo
