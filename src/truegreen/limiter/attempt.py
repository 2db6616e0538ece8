# SPDX-License-Identifier: Apache-2.0
"""One attempt of an HTTP client, as the door asks for it and hears of it.

What it decides: what an attempt asks for, and how errors and headers of the client become an end. What it leaves:
sending, to ``transport`` and ``async_transport``; the meaning, to ``signals``.

- A time limit that passed before a connection came about is no time-out after admission: nothing was asked yet.
- A body that breaks off keeps the status that came.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx2
from msgspec.structs import replace

from truegreen.core.admission import Ask, Ended
from truegreen.core.exchange import End
from truegreen.core.ports import AnswerReaderPort
from truegreen.core.token_estimate import tokens_of
from truegreen.limiter.layers import layer_of

ReaderOf = Callable[[httpx2.Headers], AnswerReaderPort]
"""Makes the reader of an answer with these headers."""
ANSWERS: Final = ("/chat/completions", "/completions", "/responses", "/messages")
"""Ends of the paths whose event streams have an end mark that is known."""
NO_END_MARK: Final = "the event stream ended without its end mark: the answer may not be whole"


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """An answer that was read to its end."""

    body: bytes
    """As it came, content coding kept."""
    head: httpx2.Response
    """Its status and headers."""
    ended: Ended
    """How its attempt ended."""


class CallOfClient:
    """One request of a client, through all its attempts."""

    def __init__(self, request: httpx2.Request, body: bytes, *, ask: Ask) -> None:
        """``ask`` says for whom and how long; the rest is read from the request."""
        prompt, output = tokens_of(body)
        self._started = time.monotonic()
        self.earlier: tuple[Ended, ...] = ()
        self.has_end_mark = request.method == "POST" and request.url.path.endswith(ANSWERS)
        self._fields = {
            "tenant": ask.tenant,
            "resource": ask.resource,
            "holder": ask.holder,
            "cost": ask.cost,
            "wait_s": ask.wait_s,
            "prompt_tokens": prompt if self.has_end_mark else 0,
            "output_tokens": output if self.has_end_mark else 0,
            "call": uuid.uuid4().hex,
            "request": f"sha256:{hashlib.sha256(body).hexdigest()}",
            "layer": layer_of(request.headers),
        }

    @property
    def layer(self) -> str:
        """The retry layer that the request shows."""
        return str(self._fields["layer"])

    def ask(self) -> Ask:
        """Leave for the next attempt."""
        return Ask(**self._fields, spent_s=time.monotonic() - self._started)  # type: ignore[arg-type]  # as Ask's

    def lacks_end(self, reader: AnswerReaderPort) -> bool:
        """Whether an event stream that has ended is cut: an end mark or an error was due and did not come."""
        return self.has_end_mark and not reader.is_at_end and reader.error is None

    def ended(self, ended: Ended) -> None:
        """One more attempt has ended."""
        self.earlier = (*self.earlier, ended)


def ended_of_error(err: httpx2.TransportError, response: httpx2.Response | None, took_s: float) -> Ended:
    """How an attempt ended that raised; ``response`` is its head, if one came."""
    return Ended(status=response.status_code if response else None, end=_end_of(err, response), took_s=took_s)


def ended_of_answer(
    response: httpx2.Response, reader: AnswerReaderPort, end: End, took_s: float, *, has_passed: bool = False
) -> Ended:
    """How an attempt ended whose answer was read."""
    headers = response.headers
    kind, text = reader.error or (None, None)
    return Ended(
        status=response.status_code,
        end=end,
        retry_after=_values(headers, "retry-after"),
        retry_after_ms=_values(headers, "retry-after-ms"),
        should_retry=headers.get("x-should-retry"),
        date=headers.get("date"),
        error_type=kind,
        error_text=text,
        took_s=took_s,
        has_passed=has_passed,
        used_tokens=reader.used_tokens,
    )


def is_event_stream(response: httpx2.Response) -> bool:
    """Whether an answer is a stream of events that may be handed on as it comes."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return response.is_success and kind == "text/event-stream"


def standing(response: httpx2.Response, body: bytes, request: httpx2.Request) -> httpx2.Response:
    """An answer that stands, whole; one that is an error tells retry layers around us not to try again."""
    headers = [(name, value) for name, value in response.headers.multi_items() if name != "x-should-retry"]
    if response.is_error:
        headers.append(("x-should-retry", "false"))
    elif "x-should-retry" in response.headers:
        headers.append(("x-should-retry", response.headers["x-should-retry"]))
    return httpx2.Response(
        response.status_code,
        headers=headers,
        stream=httpx2.ByteStream(body),
        request=request,
        extensions=response.extensions,
    )


def stands(answer: Whole, request: httpx2.Request, call: CallOfClient) -> httpx2.Response:
    """What the caller gets of an answer that is not repeated.

    Raises: httpx2.RemoteProtocolError for an event stream that was read whole and is cut.
    """
    is_cut = answer.ended.end is End.UPSTREAM_CLOSED and answer.ended.error_type is None
    if is_cut and call.has_end_mark:
        raise httpx2.RemoteProtocolError(NO_END_MARK, request=request)
    return standing(answer.head, answer.body, request)


def passed(ended: Ended) -> Ended:
    """The same end of an answer whose beginning the caller has."""
    return replace(ended, has_passed=True)


def refused_layer(request: httpx2.Request, layer: str) -> httpx2.Response:
    """The answer to a retry of another layer, which is not sent: 400, with the words of ``sdk-retries-enabled``."""
    message = f"{layer} retries by itself around truegreen's retries: build the client with max_retries=0"
    return httpx2.Response(
        400,
        headers={"x-should-retry": "false"},
        json={"error": {"type": "invalid_request_error", "code": "sdk-retries-enabled", "message": message}},
        request=request,
    )


def _end_of(err: httpx2.TransportError, response: httpx2.Response | None) -> End:
    if isinstance(err, httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError):
        return End.UNREACHABLE
    if isinstance(err, httpx2.TimeoutException):
        return End.TIMEOUT
    if isinstance(err, httpx2.ConnectError):
        return End.REFUSED
    if isinstance(err, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol) and response is None:
        return End.NOT_FORWARDED
    return End.UPSTREAM_CLOSED


def _values(headers: httpx2.Headers, name: str) -> tuple[str, ...]:
    return tuple(value for key, value in headers.multi_items() if key == name)
