# SPDX-License-Identifier: Apache-2.0
"""The values of one ledger: what stands in it, what it is asked, what it answers.

What it decides: shapes. What it leaves: how one state follows another, to ``ledger``; where a state is kept, to the
backends.

- Every time is a whole number of nanoseconds on the one clock of the ledger; an answer tells only how long to wait.
- A state is a value: nothing changes it, a step makes the next one.
"""

from __future__ import annotations

import msgspec

from truegreen.limiter.limits import Limits


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Leave that is asked for, as the ledger sees it."""

    id: str
    """Names the ask, and later its place in flight; never used twice."""
    holder: str = ""
    """Who asks, for people."""
    wake: str = ""
    """Where the one who waits is woken; empty if it looks again by itself."""
    cost: int = 1
    """Units of rate."""
    prompt_tokens: int = 0
    """Estimate of the prompt's tokens."""
    output_tokens: int = 0
    """The largest number of tokens that the answer may have."""
    wait_ns: int | None = None
    """Longest wait for leave; None for the ledger's own."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """An ask that was accepted: it waits in the queue, waits for its slot, or is in flight."""

    id: str
    """As asked."""
    ticket: int
    """Place in the order of asking."""
    holder: str
    """Who."""
    wake: str
    """Where it is woken."""
    cost: int
    """Units of rate."""
    tokens: int
    """Tokens that are reserved for it."""
    asked_ns: int
    """When it was asked."""
    deadline_ns: int
    """Leave later than this is of no use to it."""
    expires_ns: int
    """When it is dropped unless it gives a sign of life before."""
    slot_ns: int = 0
    """When it may leave, once it has a place in flight."""
    is_started: bool = False
    """Whether it has been told to leave."""
    token_ns: int = 0
    """Arrival time of the tokens, as if the bucket had been full just after this one's reservation."""


class Counts(msgspec.Struct, frozen=True, array_like=True):
    """What happened since the ledger began."""

    granted: int = 0
    """Leaves given."""
    refused: int = 0
    """Asks refused before they queued."""
    cancelled: int = 0
    """Asks taken back before they left."""
    dropped: int = 0
    """Waiting asks that were given up by us: their deadline could not be met, or nobody was there any more."""
    expired: int = 0
    """Leases that ended without being handed back."""
    wasted: int = 0
    """Units of rate that were reserved, not used, and could not be given back."""
    rate_limited: int = 0
    """Times that a holder was told 429 by the endpoint."""
    clamped: int = 0
    """Reservations of tokens that were cut to the token burst."""
    waited_ns: int = 0
    """Time between asking and leave, summed over leaves."""
    most_waited_ns: int = 0
    """The longest of these."""
    most_in_flight: int = 0
    """Largest number of places taken at once."""
    reserved_tokens: int = 0
    """Tokens reserved by calls whose usage is known."""
    used_tokens: int = 0
    """What these used."""
    mixed_limits: int = 0
    """Times that other limits were asked for while somebody held a place under these."""


class Ledger(msgspec.Struct, frozen=True, array_like=True):
    """The whole state of one (tenant, resource)."""

    limits: Limits
    """What is allowed."""
    now_ns: int
    """The latest time that was seen."""
    rate_ns: int
    """Theoretical arrival time of the rate, reserved slots included."""
    left_ns: int
    """Theoretical arrival time of the rate by the moments at which calls have in fact left."""
    token_ns: int
    """Arrival time of the tokens, as if the bucket had been full at any time before the oldest place."""
    not_before_ns: int = 0
    """Nobody leaves before; a 429 of anybody moves it."""
    tickets: int = 0
    """Tickets given so far."""
    places: tuple[Place, ...] = ()
    """Places in flight and places that wait for their slot, by ticket."""
    queue: tuple[Place, ...] = ()
    """Asks that wait for a place, by ticket."""
    counts: Counts = Counts()
    """What happened."""


class Go(msgspec.Struct, frozen=True, kw_only=True, tag="go"):
    """Leave, now. It lasts ``lease_ns`` from the last sign of life."""

    ticket: int
    waited_ns: int
    """Time since asking."""
    lease_ns: int
    """How long the place is kept; 0 where nothing is to be handed back, since a rate alone is limited."""


class Later(msgspec.Struct, frozen=True, kw_only=True, tag="later"):
    """A slot is reserved: ask again after ``wait_ns``; nobody else can take it."""

    ticket: int
    wait_ns: int


class Queued(msgspec.Struct, frozen=True, kw_only=True, tag="queued"):
    """No place is free: ask again when woken."""

    ticket: int
    ahead: int
    """How many are before it in the queue."""


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """No leave, and nothing was changed but the count of refusals."""

    reason: str
    """``cost-above-burst``, ``tokens-above-burst``, ``deadline``, ``queue-full`` or ``bad-ask``."""
    message: str
    """One lower-case sentence with both values."""
    wait_ns: int | None = None
    """The least time that leave would have taken; None if no wait helps."""


class Gone(msgspec.Struct, frozen=True, kw_only=True, tag="gone"):
    """The id is not known (any more): given back, expired, or its deadline could not be met."""


Answer = Go | Later | Queued | Refused | Gone


class Step(msgspec.Struct, frozen=True):
    """What follows."""

    ledger: Ledger
    """The next state."""
    answer: Answer
    """To the one who asked."""
    woken: tuple[Place, ...] = ()
    """Others whose place or slot has changed, or who were dropped: each is to be woken."""
