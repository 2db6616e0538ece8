# SPDX-License-Identifier: Apache-2.0
"""What one exchange says: the upstream failed us, or it answered, or the wire cannot tell.

What it decides: the class of an exchange. What it leaves: the bucket of a sample that made several calls, to
the sampler; retries, to the client.

- ``transport`` is only what the upstream did: status 429 or at least 500, closed without end, a refused
  connection or a name that does not resolve. A status that arrived counts whoever closes afterwards.
- Never transport: a client that closes first, a refusal, a time limit, a length stop, any other 4xx.
- An upstream that closes on an unfinished request, or an answer that we cannot read, proves nothing: ``unclear``.
- Code under test cannot make its failure transport by raising a connection error: only bytes count.

Closed list; the first row that matches decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import assert_never

import msgspec

from truegreen.core.exchange import End, Exchange

TOO_MANY_REQUESTS = 429
FIRST_SERVER_ERROR = 500
SUCCESS = range(200, 300)


class WireClass(Enum):
    """What an exchange says."""

    ANSWERED = "answered"
    """A whole answer came; whether it is right is for the test."""
    TRANSPORT = "transport"
    """The upstream failed: may be drawn again."""
    REFUSAL = "refusal"
    """The model or its filter refused: an answer."""
    LENGTH = "length"
    """Stopped at the token limit: no answer, never drawn again."""
    CLIENT_CLOSED = "client-closed"
    """The client hung up first: says nothing about the upstream."""
    TIMEOUT = "timeout"
    """A time limit passed after the request left."""
    REJECTED = "rejected"
    """The upstream rejected this request (other 3xx and 4xx), or it was no request at all."""
    UNCLEAR = "unclear"
    """The wire proves neither an answer nor a failure of the upstream: never drawn again."""


class WireReading(msgspec.Struct, frozen=True, kw_only=True):
    """Class and reason of one exchange."""

    kind: WireClass
    """What it says."""
    reason: str
    """Kebab-case reason code, such as ``status-429`` or ``closed-without-end``."""


def classify(exchange: Exchange) -> WireReading:
    """The class of one exchange by the closed list above."""
    kind, reason = _by_status(exchange) or _by_end(exchange) or _by_answer(exchange)
    return WireReading(kind=kind, reason=reason)


def repeated_request_ids(exchanges: Iterable[Exchange]) -> frozenset[str]:
    """Request ids that more than one successful exchange carries: one answer served twice, not two samples.

    Ids in bodies are no proof of that: some servers draw them from a thousand values.
    """
    counts = Counter(e.request_id for e in exchanges if e.request_id and e.status in SUCCESS)
    return frozenset(request_id for request_id, n in counts.items() if n > 1)


def _by_status(exchange: Exchange) -> tuple[WireClass, str] | None:
    status = exchange.status
    if status is None:
        return None
    if status == TOO_MANY_REQUESTS or status >= FIRST_SERVER_ERROR:
        return WireClass.TRANSPORT, f"status-{status}"
    if status not in SUCCESS:
        return WireClass.REJECTED, f"status-{status}"
    return None


def _by_end(exchange: Exchange) -> tuple[WireClass, str] | None:
    match exchange.end:
        case End.COMPLETE:
            return None
        case End.UPSTREAM_CLOSED:
            return _closed_by_upstream(exchange)
        case End.CLIENT_CLOSED:
            return WireClass.CLIENT_CLOSED, "client-closed-first"
        case End.TIMEOUT:
            return WireClass.TIMEOUT, "no-first-byte" if exchange.first_byte_s is None else "no-end"
        case End.REFUSED:
            return WireClass.TRANSPORT, "connection-refused"
        case End.UNREACHABLE if exchange.end_detail in ("dns", "connect-timeout", "connect-failed"):
            return WireClass.TRANSPORT, exchange.end_detail
        case End.UNREACHABLE | End.MALFORMED:
            return WireClass.UNCLEAR, exchange.end_detail or exchange.end.value
        case End.NOT_FORWARDED:
            return WireClass.REJECTED, exchange.end_detail or exchange.end.value
        case never:
            assert_never(never)


def _closed_by_upstream(exchange: Exchange) -> tuple[WireClass, str]:
    if not exchange.request_ended:
        return WireClass.UNCLEAR, "closed-on-unfinished-request"
    if exchange.is_refusal:
        return WireClass.REFUSAL, "refusal"
    if exchange.is_length_stop:
        return WireClass.LENGTH, "length-stop"
    if exchange.error_type is not None:
        return WireClass.UNCLEAR, "error-in-stream"
    if exchange.status is None:
        return WireClass.TRANSPORT, "closed-before-status"
    return WireClass.TRANSPORT, "closed-without-end"


def _by_answer(exchange: Exchange) -> tuple[WireClass, str]:
    if exchange.unread is not None:
        return WireClass.UNCLEAR, exchange.unread
    if exchange.error_type is not None:
        return WireClass.UNCLEAR, "error-in-answer"
    if exchange.is_length_stop:
        return WireClass.LENGTH, "length-stop"
    if exchange.is_refusal:
        return WireClass.REFUSAL, "refusal"
    return WireClass.ANSWERED, "complete"
