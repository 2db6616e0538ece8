# SPDX-License-Identifier: Apache-2.0
"""Bytes of one reply, with what goes wrong in it.

What it decides: every byte and every wait of a reply, and what happens to the connection after it. What it
leaves: sending, to ``connection``.

- A JSON answer has Content-Length; a stream is chunked, one event a chunk.
- Places of a cut or hang: ``before-head`` sends nothing; ``after-head`` the head; ``midway`` half of the body,
  inside a chunk; ``before-end`` all but the last byte, or a stream whose framing ends properly but which has
  neither finish reason nor end mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

import msgspec

from truegreen.endpoint.api import Answer, Api, ApiError, Event
from truegreen.endpoint.scenario import Fault
from truegreen.endpoint.wait_header import SECOND_NS, wait_headers

LAST_CHUNK: Final = b"0\r\n\r\n"
NO_CHUNK: Final = b"zz\r\n"
NO_HTTP: Final = b"\x15\x03\x03\x00\x02\x02\x28\r\n"
MESSAGES: Final[Mapping[int, tuple[str, str, str | None]]] = {
    401: ("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    403: ("You are not allowed to use this model.", "invalid_request_error", None),
    404: ("The model does not exist.", "invalid_request_error", "model_not_found"),
    429: ("Rate limit reached.", "requests", "rate_limit_exceeded"),
    503: ("The engine is currently overloaded, please try again later.", "server_error", None),
    529: ("The endpoint is overloaded.", "server_error", None),
}


class Then(Enum):
    """What happens to the connection after the last byte."""

    KEEP = "keep"
    CLOSE = "close"
    HANG = "hang"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes after a wait."""

    wait_s: float
    """Seconds before they are sent."""
    data: bytes
    """The bytes."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is sent for one request."""

    status: int | None
    """Status, or None if the reply has none."""
    steps: tuple[Step, ...]
    """In order."""
    then: Then = Then.KEEP
    """What follows."""
    call: int | None = None
    """Number of the call that it answers, from 1; None for a request that is no call."""


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer in the parts at which it can be broken."""

    head: bytes
    """Status line and headers."""
    parts: tuple[bytes, ...]
    """Everything of the body before its end."""
    end: bytes
    """What makes it whole."""
    is_stream: bool
    """Whether it is chunked events."""
    spoiled: bytes = b""
    """Of a stream, its first event with half of its JSON."""


def document(body: Any, *, status: int = 200, headers: Iterable[str] = ()) -> Reply:
    """A JSON document at once."""
    data = json.dumps(body, ensure_ascii=False).encode()
    head = _head(status, [*headers, "Content-Type: application/json", f"Content-Length: {len(data)}"])
    return Reply(status=status, steps=(Step(wait_s=0, data=head + data),))


def error(api: Api, problem: ApiError, *, headers: Iterable[str] = (), then: Then = Then.KEEP) -> Reply:
    """An error in the form of an API."""
    closing = ["Connection: close"] if then is Then.CLOSE else []
    made = document(api.error(problem), status=problem.status, headers=[*headers, *closing])
    return msgspec.structs.replace(made, then=then)


def status_fault(api: Api, fault: Fault, *, headers: Iterable[str]) -> Reply:
    """The error of a fault of kind ``status``."""
    return error(api, problem_of(fault.status), headers=[*headers, *_told(fault)])


def too_many(api: Api, wait: Iterable[str], *, headers: Iterable[str]) -> Reply:
    """The 429 of an endpoint that has enough to do; ``wait`` are the headers that tell the wait."""
    return error(api, problem_of(HTTPStatus.TOO_MANY_REQUESTS), headers=[*headers, *wait])


def problem_of(status: int) -> ApiError:
    """The problem that a status tells."""
    message, kind, code = MESSAGES.get(
        status,
        (
            "The server had an error while processing your request.",
            "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error",
            None,
        ),
    )
    return ApiError(status, message, kind=kind, code=code)


def _told(fault: Fault) -> list[str]:
    """Headers that say whether and when to come again."""
    said = [f"Retry-After: {fault.retry_after}"] if fault.retry_after is not None else []
    if fault.retry_in_s is not None:
        said += wait_headers(fault.retry_as, round(fault.retry_in_s * SECOND_NS))
    if fault.should_retry is not None:
        said.append(f"x-should-retry: {fault.should_retry}")
    return said


def as_document(api: Api, answer: Answer, *, headers: Iterable[str]) -> Rendered:
    """A whole answer as JSON."""
    return _one_document(api.document(answer), headers)


def as_stream(
    api: Api, answer: Answer, *, headers: Iterable[str], piece_chars: int, wants_usage: bool
) -> Rendered:
    """A whole answer as events."""
    made = api.stream(answer, piece_chars=piece_chars, wants_usage=wants_usage)
    head = _head(200, [*headers, "Content-Type: text/event-stream", "Transfer-Encoding: chunked"])
    end = b"".join([*map(_event, made.end), LAST_CHUNK])
    first = made.parts[0]
    spoiled = msgspec.structs.replace(first, data=first.data[: len(first.data) // 2])
    return Rendered(
        head=head, parts=tuple(map(_event, made.parts)), end=end, is_stream=True, spoiled=_event(spoiled)
    )


def _one_document(body: Any, headers: Iterable[str]) -> Rendered:
    data = json.dumps(body, ensure_ascii=False).encode()
    head = _head(200, [*headers, "Content-Type: application/json", f"Content-Length: {len(data)}"])
    return Rendered(head=head, parts=(data[:-1],), end=data[-1:], is_stream=False)


def failed(api: Api, rendered: Rendered, fault: Fault, *, headers: Iterable[str]) -> Rendered:
    """The answer with an error inside of its status 200: half of a stream and then the error, or only the error."""
    problem = problem_of(fault.status)
    if not rendered.is_stream:
        return _one_document(api.error(problem), headers)
    kept = rendered.parts[: len(rendered.parts) // 2 + 1]
    return msgspec.structs.replace(
        rendered, parts=kept, end=b"".join([_event(api.error_event(problem)), LAST_CHUNK])
    )


def whole(rendered: Rendered, *, wait_s: float, piece_s: float) -> Reply:
    """The answer as it should be."""
    return Reply(status=200, steps=_timed([rendered.head, *rendered.parts, rendered.end], wait_s, piece_s))


def broken(rendered: Rendered, fault: Fault, *, wait_s: float, piece_s: float) -> Reply:
    """The answer with a fault of kind ``hang``, ``cut`` or ``malformed``."""
    if fault.kind == "malformed":
        return _malformed(rendered, fault.how, wait_s)
    then = Then.HANG if fault.kind == "hang" else Then.CLOSE
    sent = _sent_until(rendered, fault.at)
    if fault.kind == "cut" and fault.at == "before-end" and rendered.is_stream:
        sent = [*sent, LAST_CHUNK]
    return Reply(status=200 if sent else None, steps=_timed(sent, wait_s, piece_s), then=then)


def _sent_until(rendered: Rendered, at: str) -> list[bytes]:
    if at == "before-head":
        return []
    if at == "after-head":
        return [rendered.head]
    if at == "before-end":
        return [rendered.head, *rendered.parts]
    middle = len(rendered.parts) // 2
    part = rendered.parts[middle]
    return [rendered.head, *rendered.parts[:middle], part[: len(part) // 2]]


def _malformed(rendered: Rendered, how: str, wait_s: float) -> Reply:
    if how == "not-http":
        return Reply(status=None, steps=_timed([NO_HTTP], wait_s, 0), then=Then.CLOSE)
    if how == "framing":
        head = _head(200, ["Content-Type: application/json", "Transfer-Encoding: chunked"])
        sent = [rendered.head, rendered.parts[0], NO_CHUNK] if rendered.is_stream else [head, NO_CHUNK]
        return Reply(status=200, steps=_timed(sent, wait_s, 0), then=Then.CLOSE)
    if rendered.is_stream:
        sent = [rendered.head, rendered.spoiled, *rendered.parts[1:], rendered.end]
    else:
        sent = [rendered.head, *rendered.parts, b"]"]  # as long as it should be, and no JSON
    return Reply(status=200, steps=_timed(sent, wait_s, 0))


def _timed(sent: Sequence[bytes], wait_s: float, piece_s: float) -> tuple[Step, ...]:
    """Head and first part after the wait, each later part after a piece's time; all at once if that is none."""
    if not piece_s:
        return (Step(wait_s=wait_s, data=b"".join(sent)),)
    first = Step(wait_s=wait_s, data=b"".join(sent[:2]))
    return (first, *(Step(wait_s=piece_s, data=data) for data in sent[2:]))


def _event(event: Event) -> bytes:
    name = f"event: {event.name}\n" if event.name else ""
    data = f"{name}data: {event.data}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def _head(status: int, headers: Iterable[str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return "\r\n".join([f"HTTP/1.1 {status} {phrase}", *headers, "", ""]).encode("latin-1")
