# SPDX-License-Identifier: Apache-2.0
"""The one door to an endpoint: leave from a ledger, a ruling on each end, a line in the call log.

What it decides: the order of these three. What it leaves: leave itself, to a ledger; the ruling, to ``retry``; moving
bytes, to whoever calls.

- ``leave`` always hands the ledger's leave back, also when the log fails: then nothing is repeated.
- Clock and chance are read here, once for each end: the clock before leave is handed back, so that by the log's times
  no more calls were in flight than there were.
- A repetition that the run's budget does not have is told as ``budget-spent``; the log's order decides who has it.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Final as Constant

from msgspec.structs import replace

from truegreen.core.admission import Again, Ask, Ended, Final, Leave
from truegreen.core.call_log import CallEntry, microseconds
from truegreen.core.ports import AsyncLedgerPort, LedgerPort
from truegreen.limiter.call_file import CallLog
from truegreen.limiter.retry import DEFAULT, Call, RetryLimits, after, pressure_of
from truegreen.limiter.signals import Signal, signal_of


def now_utc() -> dt.datetime:
    """The wall clock, for dates in headers and lines of the log."""
    return dt.datetime.now(dt.UTC)


class Rulings:
    """Rules on attempts and writes each into the log; may be used by any thread."""

    def __init__(
        self,
        *,
        log: CallLog | None = None,
        limits: RetryLimits = DEFAULT,
        clock: Callable[[], dt.datetime] = now_utc,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Without ``log`` the retry budget is that of these rulings alone and nothing is written."""
        self.log: Constant = log or CallLog()
        self.limits: Constant = limits
        self._clock, self._chance = clock, chance

    def ruled(
        self, leave: Leave, ended: Ended, earlier: tuple[Ended, ...], *, now: dt.datetime
    ) -> Again | Final:
        """The ruling on an attempt that ended at ``now``. Raises: ReachProblem ``call-log-failed``."""
        chance = self._chance()
        spent_s = leave.ask.spent_s + leave.waited_s + ended.took_s
        call = Call(earlier=earlier, spent_s=spent_s)
        ruling = after(ended, call, now=now, chance=chance, limits=self.limits)
        granted = self.log.add(entry_of_attempt(leave, ended, len(earlier) + 1, ruling, now))
        if isinstance(ruling, Again) and not granted:
            spent = replace(call, is_budget_left=False)
            return after(ended, spent, now=now, chance=chance, limits=self.limits)
        return ruling

    def now(self) -> dt.datetime:
        """The wall clock of these rulings."""
        return self._clock()


class Door:
    """The door for threads."""

    def __init__(self, ledger: LedgerPort, rulings: Rulings | None = None) -> None:
        """``rulings`` None: the limits of this version and no log."""
        self._ledger = ledger
        self.rulings: Constant = rulings or Rulings()

    def enter(self, ask: Ask) -> Leave:
        """Wait for leave. Raises: as ``LedgerPort.enter``."""
        return self._ledger.enter(ask)

    def leave(self, leave: Leave, ended: Ended, earlier: tuple[Ended, ...]) -> Again | Final:
        """Hand leave back and hear whether the call may be repeated.

        Raises: ReachProblem ``call-log-failed`` or ``limiter-unreachable``.
        """
        rulings = self.rulings
        now = rulings.now()
        pressure = pressure_of(ended, now=now, limits=rulings.limits)
        self._ledger.give_back(leave, used_tokens=ended.used_tokens, pressure=pressure)
        return rulings.ruled(leave, ended, earlier, now=now)


class AsyncDoor:
    """The door for tasks: an ``AdmissionPort``."""

    def __init__(self, ledger: AsyncLedgerPort, rulings: Rulings | None = None) -> None:
        """``rulings`` None: the limits of this version and no log."""
        self._ledger = ledger
        self.rulings: Constant = rulings or Rulings()

    async def enter(self, ask: Ask) -> Leave:
        """Wait for leave. Raises: as ``AsyncLedgerPort.enter``."""
        return await self._ledger.enter(ask)

    async def leave(self, leave: Leave, ended: Ended, earlier: tuple[Ended, ...]) -> Again | Final:
        """Hand leave back and hear whether the call may be repeated. Raises: as ``Door.leave``."""
        rulings = self.rulings
        now = rulings.now()
        pressure = pressure_of(ended, now=now, limits=rulings.limits)
        await self._ledger.give_back(leave, used_tokens=ended.used_tokens, pressure=pressure)
        return rulings.ruled(leave, ended, earlier, now=now)


def entry_of_attempt(
    leave: Leave, ended: Ended, attempt: int, ruling: Again | Final, now: dt.datetime
) -> CallEntry:
    """The line of an attempt; the run is the log's to say."""
    ask = leave.ask
    return CallEntry(
        ended_us=microseconds(now),
        took_s=round(ended.took_s, 6),
        waited_s=round(leave.waited_s, 6),
        job=ask.holder,
        resource=ask.resource,
        call=ask.call,
        attempt=attempt,
        status=ended.status,
        end=ended.end.value,
        is_ok=signal_of(ended) is Signal.ANSWERED,
        wants_again=isinstance(ruling, Again),
        reason=ruling.reason,
        layer=ask.layer,
        request=ask.request,
    )
