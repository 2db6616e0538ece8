# SPDX-License-Identifier: Apache-2.0
"""The limits of one ledger, and what they let through in the worst window.

What it decides: which numbers are limits at all, and how much a set of limits admits after a quiet time. What it
leaves: who gets leave when, to ``ledger``; reading a policy, to ``core``.

- A rate is calls per period in whole numbers; its spacing is rounded up to whole nanoseconds, so that it is never
  exceeded by rounding.
- A full bucket of ``burst`` calls refills while it is spent: a window of length W sees ``burst + ceil(W / T) - 1``
  calls. Only a burst of 1 keeps "n a minute" in every minute.
- Zero and negative numbers are no limits; "no limit" is said by leaving one out.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from truegreen.core import rates
from truegreen.core.errors import UsageProblem

SECOND: Final = rates.SECOND
"""Nanoseconds."""
MINUTE: Final = 60 * SECOND
MOST_CALLS: Final = 1_000_000
"""Largest number of calls a second; above it the spacing is less than a microsecond."""
MOST_TOKENS: Final = 1_000_000_000
"""Largest number of tokens a minute."""
MOST_IN_FLIGHT: Final = 10_000
MOST_CHARACTERS: Final = 200
"""Longest id, holder and address."""
LONGEST: Final = 24 * 3600 * SECOND
"""Longest lease, wait and pause."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What one ledger allows; ``checked`` refuses what is none."""

    calls: int | None = None
    """Units of rate in each period; None for no rate."""
    per_ns: int = SECOND
    """Length of the period of ``calls``."""
    burst: int = 1
    """Units that may be spent at once after a quiet time."""
    in_flight: int | None = None
    """Calls that may be under way at once; None for no such limit."""
    tokens: int | None = None
    """Tokens a minute; None for no such limit."""
    token_burst: int | None = None
    """Tokens that may be spent at once after a quiet time; None with ``tokens`` None."""
    starts_full: bool = True
    """Whether a ledger that nobody has used yet begins with its whole burst, or with none of it."""
    lease_ns: int = 60 * SECOND
    """How long a place in flight is kept without a sign of life."""
    wait_ns: int = 90 * SECOND
    """Longest wait of an ask that names none."""

    @property
    def spacing_ns(self) -> int:
        """Time that one unit of rate takes, rounded up; 0 without a rate."""
        return -(-self.per_ns // self.calls) if self.calls else 0

    @property
    def token_ns(self) -> int:
        """Time that one token takes, rounded up; 0 without tokens."""
        return -(-MINUTE // self.tokens) if self.tokens else 0


def checked(given: Limits) -> Limits:
    """The limits, if every number has a meaning; ``token_burst`` is a whole minute's tokens where it is left out.

    Raises: UsageProblem ``limit-out-of-range`` for zero, negative and absurd numbers, and for a set without any limit.
    """
    _within("a rate's period in nanoseconds", given.per_ns, 1, LONGEST)
    _within("a rate's calls", given.calls, 1, max(1, MOST_CALLS * given.per_ns // SECOND))
    _within("burst", given.burst, 1, MOST_CALLS)
    _within("capacity", given.in_flight, 1, MOST_IN_FLIGHT)
    _within("tokens_per_minute", given.tokens, 1, MOST_TOKENS)
    _within("token_burst", given.token_burst, 1, MOST_TOKENS)
    _within("a lease in nanoseconds", given.lease_ns, SECOND // 10, LONGEST)
    _within("a wait in nanoseconds", given.wait_ns, 0, LONGEST)
    if given.calls is None and given.in_flight is None and given.tokens is None:
        raise UsageProblem(
            "limit-out-of-range",
            "none of rate, capacity and tokens_per_minute is given: nothing would be limited",
            hint="truegreen policy show",
        )
    token_burst = (given.token_burst or given.tokens) if given.tokens else None
    return replace(given, token_burst=token_burst)


def stricter(one: Limits, other: Limits) -> Limits:
    """The smaller of each, for a ledger that two policies use at the same time."""
    slower = max((it for it in (one, other) if it.calls), key=lambda it: it.spacing_ns, default=one)
    return Limits(
        calls=slower.calls,
        per_ns=slower.per_ns,
        burst=min(one.burst if one.calls else other.burst, other.burst if other.calls else one.burst),
        in_flight=_least(one.in_flight, other.in_flight),
        tokens=_least(one.tokens, other.tokens),
        token_burst=_least(one.token_burst, other.token_burst),
        starts_full=one.starts_full and other.starts_full,
        lease_ns=min(one.lease_ns, other.lease_ns),
        wait_ns=min(one.wait_ns, other.wait_ns),
    )


def divided(whole: Limits, parts: int) -> Limits:
    """One of ``parts`` equal shares: what each may use alone so that all together stay below the whole.

    Raises: UsageProblem ``limit-out-of-range`` if a share would be nothing.
    """
    _within("the number of shares", parts, 1, MOST_IN_FLIGHT)
    for name, value in (("capacity", whole.in_flight), ("tokens_per_minute", whole.tokens)):
        if value is not None and value < parts:
            raise UsageProblem(
                "limit-out-of-range",
                f"{name} is {value} and cannot be divided into {parts} shares",
                hint="truegreen policy show",
            )
    return checked(
        replace(
            whole,
            per_ns=whole.per_ns * parts if whole.calls else whole.per_ns,
            burst=max(1, whole.burst // parts),
            in_flight=whole.in_flight // parts if whole.in_flight else None,
            tokens=whole.tokens // parts if whole.tokens else None,
            token_burst=max(1, whole.token_burst // parts) if whole.token_burst else None,
            starts_full=False,  # a share that begins anew has no burst to give away
        )
    )


def most_in(of: Limits, window_ns: int) -> int | None:
    """The most units that a window of this length can see: a full bucket, spent while it refills. None: any number.

    The window holds its start and not its end.
    """
    return rates.most_in_window(of.calls, of.per_ns, of.burst, window_ns) if of.calls else None


def contract_problem(of: Limits, allowed: int, window_ns: int) -> str | None:
    """Why these limits break "at most ``allowed`` in any window of this length", or None if they keep it."""
    most = most_in(of, window_ns)
    seconds = f"{window_ns / SECOND:g} s"
    if most is None:
        return f"there is no rate: any number of calls fits into {seconds}, where {allowed} are allowed"
    if most <= allowed:
        return None
    largest = allowed - (most - of.burst)
    cure = f"a burst of {largest} keeps it" if largest >= 1 else "the rate alone is above it"
    return f"after a quiet time {most} calls fit into {seconds}, where {allowed} are allowed; {cure}"


def _least(one: int | None, other: int | None) -> int | None:
    return min((it for it in (one, other) if it is not None), default=None)


def _within(name: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not (type(value) is int and least <= value <= most):
        raise UsageProblem(
            "limit-out-of-range",
            f"{name} is {value!r}, which is no whole number from {least} to {most}",
            hint="truegreen policy show",
        )
