# SPDX-License-Identifier: Apache-2.0
"""Part 4 of conformance: the product's ledger, retry table and reader behind the functions that its shapes ask for.

- The ledger is stepped on a clock of its own, in whole nanoseconds; nothing waits.
- Numbers of a bucket are exact: a refill of 0.2 a second is one in five seconds.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec

from truegreen.core.admission import Again, Ended
from truegreen.core.errors import UsageProblem
from truegreen.core.exchange import End
from truegreen.core.quoted import quoted
from truegreen.limiter import layers, ledger
from truegreen.limiter.limits import SECOND, Limits, checked, contract_problem
from truegreen.limiter.retry import DEFAULT, Call, after, told_of
from truegreen.limiter.retry_after import NS_PER_S
from truegreen.limiter.signals import signal_of
from truegreen.limiter.state import Go, Refused, Request
from truegreen.wiring.answer_reader import AnswerReader

START_NS = 10**18
"""Where the clock of a bucket stands when its level is given: far from 0, so that a level may lie before it."""
SDK_REPEATS = frozenset({408, 409, 429})
"""What generated SDKs repeat besides every status from 500 on."""


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """One request at a bucket."""

    reason: str | None
    wait_s: float | None
    level: float


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """The ruling on a first attempt."""

    again: bool
    reason: str
    told_s: float | None


class Bucket:
    """A ledger with a rate alone."""

    def __init__(self, capacity: int, refill: Fraction, level: Fraction) -> None:
        self._limits = checked(
            Limits(calls=refill.numerator, per_ns=refill.denominator * SECOND, burst=capacity)
        )
        full = ledger.new_ledger(self._limits, START_NS)
        missing = int((capacity - level) * self._limits.spacing_ns)
        self._ledger = msgspec.structs.replace(full, rate_ns=START_NS + missing)

    def level_after(self, seconds: float) -> float:
        """Units in it."""
        return self._level(START_NS + round(seconds * SECOND))

    def take(self, cost: int, seconds: float) -> Taken:
        """Ask for leave without waiting."""
        now_ns = START_NS + round(seconds * SECOND)
        answer = self._ask(cost, now_ns)
        if isinstance(answer, Refused):
            wait_s = None if answer.wait_ns is None else answer.wait_ns / SECOND
            return Taken(reason=answer.reason, wait_s=wait_s, level=self._level(now_ns))
        return Taken(reason=None, wait_s=0.0, level=self._level(now_ns))

    def greedy(self, seconds: int) -> int:
        """Units that leave within so many seconds."""
        now_ns, admitted = START_NS, 0
        while now_ns < START_NS + seconds * SECOND:
            answer = self._ask(1, now_ns)
            if isinstance(answer, Refused):
                if not answer.wait_ns:
                    break
                now_ns += answer.wait_ns
            else:
                admitted += 1
        return admitted

    def problem(self, allowed: int, seconds: int) -> str | None:
        """Why the limits break the contract."""
        return contract_problem(self._limits, allowed, seconds * SECOND)

    def _ask(self, cost: int, now_ns: int) -> object:
        id_ = f"ask-{self._ledger.tickets + 1}"
        step = ledger.ask(self._ledger, Request(id=id_, cost=cost, wait_ns=0), now_ns)
        self._ledger = step.ledger
        if isinstance(step.answer, Go):
            self._ledger = ledger.hand_back(self._ledger, id_, now_ns).ledger
        return step.answer

    def _level(self, now_ns: int) -> float:
        debt = max(0, max(self._ledger.rate_ns, self._ledger.left_ns) - now_ns)
        return float(self._limits.burst - Fraction(debt, self._limits.spacing_ns))


def bucket(capacity: Any, refill_per_s: Any, level: Any) -> Bucket:
    """A bucket. Raises: UsageProblem ``limit-out-of-range`` for numbers that are no limits."""
    numbers = [capacity, refill_per_s, level]
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in numbers):
        shown = ", ".join(quoted(str(one), 40) for one in numbers)
        raise UsageProblem("limit-out-of-range", f"capacity, refill and level are {shown}, asked are numbers")
    refill = Fraction(str(refill_per_s)).limit_denominator(10**6)
    if refill <= 0 or capacity != int(capacity) or not 0 <= level <= capacity:
        raise UsageProblem(
            "limit-out-of-range",
            f"capacity {capacity}, refill {refill_per_s} and level {level} are no limits",
        )
    return Bucket(int(capacity), refill, Fraction(str(level)))


def stack(attempts: int, retries: int, status: int, name: str) -> tuple[int, str | None]:
    """Calls on the wire where every one gets this status, and why the client is refused."""
    is_repeated = status in SDK_REPEATS or status >= 500  # noqa: PLR2004 - server errors
    seen = layers.calls_on_the_wire(attempts, retries if is_repeated else 0)
    try:
        layers.check_max_retries(retries, client=name or "the client")
    except UsageProblem as err:
        return seen, err.code
    return seen, None


def rule(status: int, headers: Mapping[str, str], now: dt.datetime, longest_s: float | None) -> Ruled:
    """The ruling on a first attempt with this status and these headers."""
    found = {name.lower(): value for name, value in headers.items()}
    ended = Ended(
        status=status,
        end=End.COMPLETE,
        retry_after=_one(found.get("retry-after")),
        retry_after_ms=_one(found.get("retry-after-ms")),
        should_retry=found.get("x-should-retry"),
        date=found.get("date"),
    )
    return _ruled(ended, now, longest_s)


def read(status: int, content_type: str, body: bytes) -> tuple[str, Ruled, bool]:
    """The signal of an answer, the ruling on it, and whether its end mark came."""
    reader = AnswerReader(content_type=content_type, content_encoding="")
    reader.feed(body)
    reader.close(is_whole=True)
    is_stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
    is_cut = is_stream and not reader.is_at_end and reader.error is None
    kind, text = reader.error or (None, None)
    ended = Ended(
        status=status,
        end=End.UPSTREAM_CLOSED if is_cut else End.COMPLETE,
        error_type=kind,
        error_text=text,
    )
    ruled = _ruled(ended, dt.datetime(2000, 1, 1, tzinfo=dt.UTC), None)
    return signal_of(ended).value, ruled, reader.is_at_end if is_stream else True


def _ruled(ended: Ended, now: dt.datetime, longest_s: float | None) -> Ruled:
    limits = (
        DEFAULT if longest_s is None else msgspec.structs.replace(DEFAULT, longest_wait_s=float(longest_s))
    )
    limits = msgspec.structs.replace(limits, total_s=max(limits.total_s, 2 * limits.longest_wait_s))
    ruling = after(ended, Call(), now=now, chance=0.0, limits=limits)
    told = told_of(ended, now=now)
    exact = None if told is None else Fraction(told, NS_PER_S)
    return Ruled(
        again=isinstance(ruling, Again),
        reason=ruling.reason,
        told_s=None if exact is None else (int(exact) if exact.denominator == 1 else float(exact)),
    )


def _one(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)
