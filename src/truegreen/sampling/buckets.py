# SPDX-License-Identifier: Apache-2.0
"""From how a sample ended and what the wire saw of it to its bucket.

What it decides: one bucket and one reason for each sample. What it leaves: redraws, to ``measure``; what
buckets add up to, to ``walk`` and ``states``.

The first row that matches decides. "Last" is the exchange that ended last.

| the test run says | the wire says | bucket, reason |
|---|---|---|
| crashed, left early, skipped, xfail | anything | invalid, that |
| rerun | anything | fail, ``rerun`` |
| anything else | an answer cut at its length limit | invalid (``truncated = "fail"``: fail), ``length-stop`` |
| unfinished, by the judge | anything else | invalid, the judge's reason |
| passed | anything else | pass |
| tear-down failed after a pass | anything else | invalid, ``teardown-error`` |
| over time | no exchange | invalid, ``time-limit-before-request`` |
| over time | upstream failures alone, all ended | transport |
| over time | refused keys alone (401, 403) | invalid, that |
| over time | anything else | fail, ``time-limit`` |
| failed or set-up failed | last: the upstream failed | transport |
| failed or set-up failed | last: key refused (401, 403) | invalid, that |
| failed or set-up failed, no assertion | last: the client hung up, or a time limit | fail, ``time-limit`` |
| failed or set-up failed | last: refusal | fail, ``refusal`` |
| failed or set-up failed, no assertion | last: a cut that proves nothing | invalid, that |
| failed or set-up failed, no assertion | no exchange; the exception is a connection's | claimed-transport |
| set-up failed | anything else | invalid, ``setup-error`` |
| failed | anything else | fail, the judge's reason or ``assertion`` or ``exception`` |

- How many losses went before under its number is the schedule's to say.
- ``transport`` comes from bytes on the wire alone: an exception that says so is a claim.
- A case whose other samples asked the model and that passes without asking has no fresh answer: ``no-call``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from truegreen.core.digest import Sha256
from truegreen.core.exchange import Exchange
from truegreen.core.wire import SUCCESS, WireClass, WireReading, classify
from truegreen.sampling.engines.messages import Ended
from truegreen.sampling.ledger import Sample

DETAIL_CHARS = 500
"""Characters of a failure's text that the ledger keeps."""

CONNECTION_ERRORS = frozenset(
    {
        "APIConnectionError", "APITimeoutError", "ClientConnectorError", "ClientConnectionError",
        "ClientOSError", "ClientPayloadError", "ConnectError", "ConnectTimeout", "ConnectionError",
        "ConnectTimeoutError", "EndpointConnectionError", "IncompleteRead", "InternalServerError",
        "MaxRetryError", "NetworkError", "OverloadedError", "ProtocolError", "RateLimitError", "ReadError",
        "ReadTimeout", "ReadTimeoutError", "RemoteDisconnected", "RemoteProtocolError",
        "ServerDisconnectedError", "ServiceUnavailable", "ServiceUnavailableError", "ThrottlingException",
        "TimeoutError", "TooManyRequests", "TransportError", "URLError", "WriteError", "gaierror", "herror",
    }
)  # fmt: skip
"""Last parts of class names by which clients say that a connection failed."""

ASSERTIONS = frozenset({"builtins.AssertionError", "_pytest.outcomes.Failed"})
"""What a test raises that has judged something."""

KEY_REFUSED = frozenset({"status-401", "status-403"})

Bucket = tuple[str, str]


def sample_of(
    ended: Ended,
    exchanges: Sequence[Exchange],
    *,
    truncated: str,
    asks_elsewhere: bool,
    hide: Callable[[str], str],
) -> Sample:
    """The sample as it stands in the ledger.

    ``truncated`` is the lane's key; ``asks_elsewhere`` says whether other samples of the case asked the model;
    ``hide`` takes secrets out of a text.
    """
    bucket, reason = bucket_of(ended, exchanges, truncated=truncated, asks_elsewhere=asks_elsewhere)
    detail = "" if bucket == "pass" else shortened(hide(ended.detail))
    answered = [e for e in exchanges if e.status is not None and e.status in SUCCESS]
    return Sample(
        n=ended.n,
        bucket=bucket,
        reason=reason,
        detail=detail,
        duration_ms=ended.duration_ms,
        calls=len(exchanges),
        request_ids=tuple(e.request_id for e in answered if e.request_id),
        cached_tokens=sum(e.usage.cached_tokens or 0 for e in exchanges),
        marks=tuple(sorted({mark for e in exchanges for mark in e.cache_marks})),
        output_sha256=cast("Sha256 | None", ended.output_sha256),
    )


def bucket_of(ended: Ended, exchanges: Sequence[Exchange], *, truncated: str, asks_elsewhere: bool) -> Bucket:
    """Bucket and reason by the ordered rows above."""
    by_time = sorted(exchanges, key=lambda exchange: exchange.ended_s)
    readings = [classify(exchange) for exchange in by_time]
    if ended.status in ("crashed", "left-early", "skipped", "xfail"):
        return "invalid", ended.reason or ended.status
    if ended.status == "rerun":
        return "fail", "rerun"
    if any(reading.kind is WireClass.LENGTH for reading in readings):
        return ("fail" if truncated == "fail" else "invalid"), "length-stop"
    if ended.status == "unfinished":
        return "invalid", ended.reason or ended.status
    if ended.status == "passed":
        return ("invalid", "no-call") if asks_elsewhere and not exchanges else ("pass", "")
    if ended.status == "teardown-error":
        return "invalid", "teardown-error"
    if ended.status == "time-limit":
        return _over_time(readings)
    return _by_last(ended, readings) or _by_run(ended)


def shortened(text: str) -> str:
    """At most ``DETAIL_CHARS`` characters, the cut marked."""
    text = text.strip()
    return text if len(text) <= DETAIL_CHARS else text[: DETAIL_CHARS - 1] + "…"


def is_connection_error(ended: Ended) -> bool:
    """Whether the exception, by its class or an explicit cause, says that a connection failed."""
    return any(name.rpartition(".")[2] in CONNECTION_ERRORS for name in ended.raised)


def _over_time(readings: Sequence[WireReading]) -> Bucket:
    if not readings:
        return "invalid", "time-limit-before-request"
    if all(reading.kind is WireClass.TRANSPORT for reading in readings):
        return "transport", readings[-1].reason
    refused = [r.reason for r in readings if r.kind is WireClass.REJECTED and r.reason in KEY_REFUSED]
    if len(refused) == len(readings):
        return "invalid", refused[-1]
    return "fail", "time-limit"


def _by_last(ended: Ended, readings: Sequence[WireReading]) -> Bucket | None:
    has_judged = not ASSERTIONS.isdisjoint(ended.raised)
    if not readings:
        claims = is_connection_error(ended) and not has_judged
        return ("claimed-transport", "connection-error") if claims else None
    last = readings[-1]
    match last.kind:
        case WireClass.TRANSPORT:
            return "transport", last.reason
        case WireClass.REJECTED if last.reason in KEY_REFUSED:
            return "invalid", last.reason
        case WireClass.CLIENT_CLOSED | WireClass.TIMEOUT if not has_judged:
            return "fail", "time-limit"
        case WireClass.REFUSAL:
            return "fail", "refusal"
        case WireClass.UNCLEAR if not has_judged:
            return "invalid", last.reason
        case _:
            return None


def _by_run(ended: Ended) -> Bucket:
    if ended.status == "setup-error":
        return "invalid", "setup-error"
    if ended.reason:
        return "fail", ended.reason
    return "fail", "exception" if ASSERTIONS.isdisjoint(ended.raised) else "assertion"
