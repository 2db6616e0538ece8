# SPDX-License-Identifier: Apache-2.0
"""Leave to call an endpoint, as values: what is asked, what is given, how a call ended, whether to try again.

What it decides: shapes. What it leaves: who gets leave and when a call is repeated, to ``limiter``; moving
bytes, to whoever calls (``proxy``, a transport, a program).

- One ``Ask`` is one attempt on the wire. A retry asks again and pays again.
- Times are integer nanoseconds where they are added up, seconds (float) where they are only told.
"""

from __future__ import annotations

import msgspec

from truegreen.core.exchange import End


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Leave to make one call now."""

    tenant: str = "default"
    """Whose calls count together; with ``resource`` it names one ledger."""
    resource: str = "default"
    """What is called: an endpoint, or one model at it."""
    holder: str = ""
    """Who asks, for people: job, process."""
    cost: int = 1
    """Units of rate, at least 1."""
    prompt_tokens: int = 0
    """Estimate of the prompt's tokens."""
    output_tokens: int = 0
    """The largest number of tokens that the answer may have."""
    wait_s: float | None = None
    """Longest wait for leave; None for the ledger's own."""
    call: str = ""
    """Id of the call whose attempt this is; empty where nobody tells calls apart."""
    spent_s: float = 0.0
    """Seconds between the call's first asking for leave and this one: what its total deadline is counted by."""
    request: str = ""
    """``sha256:`` of the request's body, for the call log; empty where nobody took it."""
    layer: str = ""
    """Another retry layer that the request shows (``limiter.layers``); empty for none."""


class Leave(msgspec.Struct, frozen=True, kw_only=True):
    """Leave that was given; to be handed back once the call ended, however it ended."""

    ticket: int
    """Place in the order of asking, from 1, per ledger."""
    lease: str
    """Id of the place in flight."""
    ask: Ask
    """What was asked."""
    waited_s: float
    """Seconds between asking and leave."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How one attempt ended, as far as the caller saw."""

    status: int | None
    """Status of the answer; None if none came."""
    end: End
    """How the exchange ended."""
    retry_after: tuple[str, ...] = ()
    """Every ``Retry-After`` as it came."""
    retry_after_ms: tuple[str, ...] = ()
    """Every ``retry-after-ms`` as it came."""
    should_retry: str | None = None
    """``x-should-retry`` as it came."""
    date: str | None = None
    """``Date`` as it came: the clock by which a ``Retry-After`` that is a date is meant."""
    error_type: str | None = None
    """``type`` or ``code`` of an error object in the body or in the stream."""
    error_text: str | None = None
    """Its message, cut, to tell a spent quota from a moment's rush; never written down."""
    took_s: float = 0.0
    """Seconds from leave to end."""
    has_passed: bool = False
    """Whether part of the answer has gone on to the caller: then it cannot be repeated unseen."""
    used_tokens: int | None = None
    """Tokens of prompt and answer as the endpoint reported; None if it did not."""


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt may be repeated, after a new leave."""

    wait_s: float
    """Seconds to wait before asking; never less than the endpoint told."""
    reason: str
    """Kebab-case class of the signal, such as ``429-told`` or ``server-error``."""


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    """What the end of one attempt means for everybody who shares its ledger."""

    pause_s: float = 0.0
    """Seconds from now in which nobody gets leave: the endpoint told a time. 0 for none."""
    is_overload: bool = False
    """The endpoint turned the attempt away and told no time: the shared rate is too high."""
    is_answered: bool = False
    """The endpoint answered: the shared rate may rise again."""


class Final(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt stands."""

    reason: str
    """Kebab-case reason: ``answered``, ``never-retried``, ``attempts-spent``, ``budget-spent``, …."""
