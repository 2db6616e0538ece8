# SPDX-License-Identifier: Apache-2.0
"""One request and its answer as they went over the wire, seen from between client and endpoint.

What it decides: the shape of an ``Exchange``. What it leaves: seeing it, to the observer; what it means for a
sample, to ``core.wire`` and to the sampler.

- Everything here was read from bytes on the wire; nothing comes from the code under test.
- Texts of requests and answers are not kept, only their digests and sizes.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class End(Enum):
    """How an exchange ended."""

    COMPLETE = "complete"
    """The answer reached its end; for an event stream, its end mark was seen."""
    UPSTREAM_CLOSED = "upstream-closed"
    """The upstream closed without an end."""
    CLIENT_CLOSED = "client-closed"
    """The client hung up before the answer's end."""
    REFUSED = "refused"
    """The upstream's host refused the connection."""
    UNREACHABLE = "unreachable"
    """No connection came about for another reason; ``end_detail`` names it."""
    TIMEOUT = "timeout"
    """The observer's own time limit passed; it closed both sides."""
    MALFORMED = "malformed"
    """The upstream's bytes are not HTTP; they were passed on as they came."""
    NOT_FORWARDED = "not-forwarded"
    """The client's bytes are not a request that can be forwarded; the upstream never saw them."""


class Closer(Enum):
    """Who closed first."""

    NEITHER = "neither"
    """The connection went on, or ended after the exchange."""
    UPSTREAM = "upstream"
    CLIENT = "client"
    OBSERVER = "observer"


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that the endpoint reported; None where it reported nothing."""

    prompt_tokens: int | None = None
    """Tokens of the prompt."""
    completion_tokens: int | None = None
    """Tokens of the answer."""
    total_tokens: int | None = None
    """Both, as reported; not our sum."""
    cached_tokens: int | None = None
    """Prompt tokens served from the provider's prefix cache."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what came back."""

    id: int
    """Number in the order in which request heads arrived, from 1."""
    token: str | None
    """The sample's token from the base URL; None if the request had none."""
    peer_pid: int | None
    """For a request without token, the one watched process that held the connection, if that was certain."""
    method: str
    """HTTP method."""
    path: str
    """Path that was asked of the upstream, without query (a query may hold a key)."""
    started_s: float
    """Arrival of the request head, in monotonic seconds since the observer started."""
    first_byte_s: float | None
    """Arrival of the answer's first byte, same scale."""
    ended_s: float
    """End of the exchange, same scale."""
    request_ended: bool
    """Whether the client had sent its whole request."""
    status: int | None
    """Status of the final answer (1xx are passed on and not kept); None if none came."""
    end: End
    """How it ended."""
    end_detail: str
    """Kebab-case detail: ``dns``, ``tls``, ``connect-timeout``, ``reset``, ``no-end-mark``, …; or empty."""
    closed_first: Closer
    """Who closed first."""
    is_stream: bool
    """Whether the answer was an event stream."""
    end_mark: bool
    """Whether an event stream's own end was seen: ``[DONE]``, a finish reason for every choice, …."""
    request_id: str | None
    """The endpoint's id of this request (``x-request-id``, ``request-id``, ``apim-request-id``)."""
    response_id: str | None
    """``id`` in the answer's body."""
    retry_after: str | None
    """``Retry-After`` or ``retry-after-ms`` as it came, with the latter written ``<n>ms``."""
    model_asked: str | None
    """``model`` of the request."""
    model_served: str | None
    """``model`` of the answer."""
    system_fingerprint: str | None
    """``system_fingerprint`` of the answer."""
    finish_reason: str | None
    """The worst finish reason of all choices: a length stop before a filter before any other before ``stop``."""
    is_length_stop: bool
    """Whether a choice ended at the token limit, by the vendor's word for it."""
    is_refusal: bool
    """Whether a choice is a refusal or was stopped by a content filter."""
    error_type: str | None
    """``type`` or ``code`` of an error object in the body or in the stream."""
    usage: Usage
    """Reported tokens."""
    cache_marks: tuple[str, ...]
    """Marks of a response cache: ``header: value``, sorted."""
    unread: str | None
    """Why the answer's body could not be read for these fields (``encoding-br``, ``too-large``, ``not-json``, …)."""
    request_sha256: str
    """``sha256:`` of the request body, without transfer framing."""
    request_bytes: int
    """Its size."""
    response_sha256: str
    """``sha256:`` of the response body as far as it came, without transfer framing, content coding kept."""
    response_bytes: int
    """Its size."""
