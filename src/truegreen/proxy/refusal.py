# SPDX-License-Identifier: Apache-2.0
"""Answers that the proxy gives itself: misses, refusals, an upstream that cannot be reached.

What it decides: status, headers and body. What it leaves: when they are given, to ``visit`` and ``call``.

- A miss is 424 (Failed Dependency): no SDK and no retrying client that we know repeats it, none reads it as an
  answer of the model, and it is not a status on which programs act (404 "no such model", 400 "too long").
- Every answer says ``x-should-retry: false``, which the SDKs of OpenAI and Anthropic obey before their own
  rules, and ``x-truegreen-answer: <code>``, so that no reader takes it for the endpoint's.
- The body has the shape of the vendor that was asked: Anthropic's where the path or a header is Anthropic's,
  else OpenAI's.

Sources: RFC 4918, 11.4; ``_should_retry`` of the Python and JavaScript SDKs;
platform.openai.com/docs/guides/error-codes; docs.anthropic.com/en/api/errors.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from truegreen.core.errors import TruegreenProblem
from truegreen.core.recording import Miss
from truegreen.proxy.request import Head

MISS_STATUS: Final = 424
ANSWER_HEADER: Final = "x-truegreen-answer"
ANTHROPIC_PATHS: Final = ("/messages", "/messages/count_tokens", "/complete")
SAYS: Final = {
    "connect": "this is no forward proxy: CONNECT is refused; set the client's base URL instead of HTTPS_PROXY",
    "upgrade": "a WebSocket or another upgrade cannot be recorded or replayed and is refused",
    "two-framings": "the request has both Content-Length and Transfer-Encoding",
    "two-lengths": "the request has more than one Content-Length",
    "foreign-target": "the request names another host than this proxy",
    "bad-target": "the request's target is no path",
    "bad-token": "the request's sample token has other characters than A-Z a-z 0-9 . _ -",
    "bad-version": "only HTTP/1.0 and HTTP/1.1 are spoken here",
    "bad-request": "the bytes are no HTTP request",
    "request-too-large": "the request's body is longer than this proxy reads",
    "request-too-slow": "the request did not arrive in time",
}
"""Reasons of ``NotForwardableError`` and ``RefusedRequestError``, in words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Own:
    """What one of these answers says."""

    status: int
    """Status."""
    code: str
    """Kebab-case code."""
    message: str
    """One sentence."""
    param: str | None = None
    """JSON path that it speaks of."""


def refused(reason: str, *, status: int, head: Head | None) -> bytes:
    """The answer to a request that is not served; the connection ends with it."""
    return own_answer(Own(status=status, code=reason, message=SAYS[reason]), head=head, closes=True)


def missed(miss: Miss, *, head: Head) -> bytes:
    """The answer to a request that has no recording."""
    return own_answer(own_miss(miss), head=head)


def own_miss(miss: Miss) -> Own:
    """What the answer to a request without a recording says."""
    return Own(status=MISS_STATUS, code=miss.code, message=miss.message, param=miss.differs_at)


def failed(problem: TruegreenProblem, *, head: Head) -> bytes:
    """The answer where leave was refused, or where a recording cannot be read."""
    return own_answer(Own(status=MISS_STATUS, code=problem.code, message=problem.message), head=head)


def own_answer(said: Own, *, head: Head | None, closes: bool = False) -> bytes:
    """One whole HTTP answer; ``head`` is of the request, where it could be read."""
    is_anthropic = head is not None and asks_anthropic(
        head.path, {name.decode("latin-1").lower() for name, _ in head.headers}
    )
    headers, body = own_parts(said, is_anthropic=is_anthropic)
    lines = [f"HTTP/1.1 {said.status} {HTTPStatus(said.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if closes or head is None or head.closes:
        lines.append("Connection: close")
    has_body = head is None or head.method != "HEAD"
    return "\r\n".join([*lines, "", ""]).encode() + (body if has_body else b"")


def own_parts(said: Own, *, is_anthropic: bool) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """Headers and body of one of these answers."""
    if is_anthropic:
        error: dict[str, object] = {
            "type": "invalid_request_error",
            "message": f"{said.message} [{said.code}]",
        }
        document: dict[str, object] = {"type": "error", "error": error}
    else:
        error = {"message": said.message, "type": "truegreen_proxy", "param": said.param, "code": said.code}
        document = {"error": error}
    body = json.dumps(document).encode()
    headers = (
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("x-should-retry", "false"),
        (ANSWER_HEADER, said.code),
    )
    return headers, body


def asks_anthropic(path: str, names: Collection[str]) -> bool:
    """Whether a request is one of Anthropic's API; ``names`` of its headers in lower case."""
    return path.endswith(ANTHROPIC_PATHS) or "anthropic-version" in names
