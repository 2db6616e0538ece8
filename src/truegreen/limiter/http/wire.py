# SPDX-License-Identifier: Apache-2.0
"""The bodies of the service, version 1, as client and server both read them.

What it decides: shapes and bounds. What it leaves: who may ask, to ``app``; what is answered, to the ledger.

- Bodies are JSON; an unknown field, a value of another kind and a number out of bounds are refused.
- Times are seconds, and always "from now": nobody's clock is compared with another's.
- An error is ``{code, message, hint}`` and, for a refusal, ``reason`` and ``wait_s``; ``code`` has its paragraph in
  ``docs/errors.md``.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from truegreen.core.canonical import Limits, read_json
from truegreen.limiter.state import Ledger

ACQUIRE: Final = "/v1/acquire"
LOOK: Final = "/v1/look"
RELEASE: Final = "/v1/release"
HEARTBEAT: Final = "/v1/heartbeat"
HOLD_OFF: Final = "/v1/hold-off"
STATUS: Final = "/v1/status"
LEDGER: Final = "/v1/ledger"
HEALTH: Final = "/healthz"
METRICS: Final = "/metrics"

BODY_BYTES: Final = 8 * 1024
"""Longest body of a request."""
_TEXT: Final = Limits(max_bytes=BODY_BYTES, max_depth=4)
DAY_S: Final = 86_400
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
Number = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Cost = Annotated[int, Meta(ge=1, le=1_000_000)]
Seconds = Annotated[float, Meta(ge=0, le=DAY_S)]


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all bodies of requests have in common."""

    resource: Name = "default"
    """What is called."""


class Acquire(_Body, frozen=True, kw_only=True):
    """Leave that is asked for."""

    id: Id
    """Name of the ask, made by the client by chance and never used again: asking twice with it is asking once, and what
    was asked can be handed back even if no answer came."""
    holder: Annotated[str, Meta(max_length=200)] = ""
    """Who asks, for people."""
    cost: Cost = 1
    """Units of rate."""
    prompt_tokens: Number = 0
    """Estimate of the prompt's tokens."""
    output_tokens: Number = 0
    """The largest number of tokens that the answer may have."""
    wait_s: Seconds | None = None
    """Longest wait; None for the service's own."""
    hold: bool = True
    """Whether the answer waits for leave; else it says at once how things stand, and ``/v1/look`` says it again."""


class Release(_Body, frozen=True, kw_only=True):
    """The end of a call, or of an ask."""

    lease: Id
    """The ask's id."""
    used_tokens: Number | None = None
    """Tokens of prompt and answer; None if the endpoint did not say."""
    unused: bool = False
    """Whether the call was never made: then its tokens, and its rate where nobody is after it, are given back."""
    pause_s: Seconds = 0.0
    """The endpoint told how long nobody should call; 0 if it told nothing."""
    overload: bool = False
    """The endpoint turned the call away and told no time."""
    answered: bool = False
    """The endpoint answered."""


class Look(_Body, frozen=True, kw_only=True):
    """How an ask stands; a sign of life too."""

    lease: Id
    """The ask's id."""


class Heartbeat(_Body, frozen=True, kw_only=True):
    """A sign of life."""

    lease: Id
    """The ask's id."""


class HoldOff(_Body, frozen=True, kw_only=True):
    """The endpoint answered 429."""

    for_s: Seconds
    """How long nobody may leave; 0 only counts the 429."""


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """Leave."""

    lease: str
    """The ask's id, now that of a place in flight."""
    ticket: int
    """Place in the order of asking."""
    waited_s: float
    """Seconds between asking and leave."""
    lease_s: float
    """Seconds until the place is lost unless a sign of life comes."""


class Pending(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """No leave yet."""

    state: str
    """``later``: a slot is reserved; ``queued``: no place is free."""
    ticket: int
    """Place in the order of asking."""
    wait_s: float | None = None
    """Of ``later``: seconds until the slot."""
    ahead: int | None = None
    """Of ``queued``: how many are before it."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One ledger as it stands, for programs; times are nanoseconds on the service's clock."""

    ledger: Ledger
    """The ledger, an array."""


class Alive(msgspec.Struct, frozen=True, kw_only=True):
    """A sign of life was taken."""

    lease_s: float
    """Seconds until the next one is due."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """Done, or nothing was to be done."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why not."""

    code: str
    """Error code."""
    message: str
    """One sentence."""
    hint: str = ""
    """The next command."""
    reason: str | None = None
    """Of a refusal: ``deadline``, ``cost-above-burst``, …."""
    wait_s: float | None = None
    """Of a refusal: the least wait that would have done; None if none would."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How the service is."""

    status: str
    """``ok`` or ``stopping``."""
    version: str
    """Of truegreen."""


Body = TypeVar("Body", Acquire, Look, Release, Heartbeat, HoldOff)


def read(data: bytes, kind: type[Body]) -> Body:
    """A request's body; an empty one is ``{}``.

    Raises: EvidenceProblem, as ``core.canonical.read_json``, for what is not one strict JSON value;
    msgspec.ValidationError, whose text names the field.
    """
    return msgspec.convert(read_json(data or b"{}", _TEXT), kind)
