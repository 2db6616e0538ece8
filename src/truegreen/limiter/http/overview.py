# SPDX-License-Identifier: Apache-2.0
"""The numbers of ledgers as ``/v1/status`` tells them.

What it decides: which numbers, in seconds from now. What it leaves: the ledgers, to ``desk``.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from truegreen.limiter.backend import Key
from truegreen.limiter.limits import SECOND
from truegreen.limiter.state import Counts, Ledger, Place


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """One place in flight."""

    ticket: int
    """Place in the order of asking."""
    holder: str
    """Who, in its own words."""
    started: bool
    """Whether it has left; else its slot is still to come."""
    for_s: float
    """Seconds since it asked."""
    ends_in_s: float
    """Seconds until its lease ends by itself."""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One ledger."""

    tenant: str
    """Whose."""
    resource: str
    """What is called."""
    capacity: int | None
    """Calls that may be in flight; null for no limit."""
    calls: int | None
    """Units of rate in each period; null for no rate."""
    period_s: float
    """That period."""
    burst: int
    """Units that may be spent at once after a quiet time."""
    tokens_per_minute: int | None
    """Tokens a minute; null for no limit."""
    in_flight: tuple[Holder, ...]
    """Places taken."""
    waiting: int
    """Asks that wait for a place."""
    held_s: float
    """Seconds until anybody may leave after a 429."""
    counts: dict[str, int]
    """What happened since the ledger began; names as the metrics have them, times in nanoseconds."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Every ledger that the token may see."""

    stopping: bool
    """Whether the service is told to stop."""
    resources: tuple[Resource, ...]
    """By tenant and resource."""


def overview(rows: Iterable[tuple[Key, Ledger, int]], *, is_stopping: bool) -> Overview:
    """What is told of ledgers at their moments."""
    return Overview(stopping=is_stopping, resources=tuple(_resource(*row) for row in rows))


def _resource(key: Key, ledger: Ledger, now_ns: int) -> Resource:
    limits = ledger.limits
    return Resource(
        tenant=key.tenant,
        resource=key.resource,
        capacity=limits.in_flight,
        calls=limits.calls,
        period_s=limits.per_ns / SECOND,
        burst=limits.burst,
        tokens_per_minute=limits.tokens,
        in_flight=tuple(_holder(place, now_ns) for place in ledger.places),
        waiting=len(ledger.queue),
        held_s=max(0, ledger.not_before_ns - now_ns) / SECOND,
        counts={name: getattr(ledger.counts, name) for name in Counts.__struct_fields__},
    )


def _holder(place: Place, now_ns: int) -> Holder:
    return Holder(
        ticket=place.ticket,
        holder=place.holder,
        started=place.is_started,
        for_s=(now_ns - place.asked_ns) / SECOND,
        ends_in_s=(place.expires_ns - now_ns) / SECOND,
    )
