# SPDX-License-Identifier: Apache-2.0
"""One exchange while it passes, and how it is named once it is over.

What it decides: the end, its detail, and who closed first. What it leaves: moving bytes, to ``tunnel``.

First match decides:

- an event stream that succeeded is complete with its end mark and cut without it, whatever its framing says;
- an answer whose framing was satisfied is complete;
- no connection, then bytes that are not HTTP, then whoever stopped it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from truegreen.core.exchange import Closer, End, Exchange
from truegreen.proxy.request import Head, RequestReader
from truegreen.proxy.response import ResponseReader
from truegreen.proxy.upstream import ConnectError


class Stop(Enum):
    """What stopped the passing of bytes."""

    ENDED = auto()
    UPSTREAM_CLOSED = auto()
    UPSTREAM_RESET = auto()
    CLIENT_CLOSED = auto()
    BAD_REQUEST = auto()
    NO_CONNECTION = auto()
    TIMEOUT = auto()
    SHUTDOWN = auto()


_CLOSER: Final = {
    Stop.UPSTREAM_CLOSED: Closer.UPSTREAM,
    Stop.UPSTREAM_RESET: Closer.UPSTREAM,
    Stop.CLIENT_CLOSED: Closer.CLIENT,
    Stop.BAD_REQUEST: Closer.OBSERVER,
    Stop.TIMEOUT: Closer.OBSERVER,
    Stop.SHUTDOWN: Closer.OBSERVER,
}
_END: Final = {
    Stop.UPSTREAM_CLOSED: (End.UPSTREAM_CLOSED, "closed"),
    Stop.UPSTREAM_RESET: (End.UPSTREAM_CLOSED, "reset"),
    Stop.CLIENT_CLOSED: (End.CLIENT_CLOSED, ""),
    Stop.BAD_REQUEST: (End.NOT_FORWARDED, "bad-request"),
    Stop.TIMEOUT: (End.TIMEOUT, ""),
    Stop.SHUTDOWN: (End.TIMEOUT, "observer-stopped"),
}


class Passage:
    """The state of one exchange while it passes."""

    def __init__(
        self,
        *,
        number: int,
        head: Head,
        request: RequestReader,
        started: float,
        on_data: Callable[[bytes], None] | None = None,
    ) -> None:
        """``on_data``: as ``ResponseReader`` takes it."""
        self.number = number
        self.head = head
        self.request = request
        self.response = ResponseReader(
            method=head.method, closes=head.closes, is_answer=head.asks_a_model, on_data=on_data
        )
        self.started = started
        self.first_byte: float | None = None
        self.stop = Stop.SHUTDOWN
        self.connect_error: ConnectError | None = None
        self.peer: asyncio.Future[int | None] | None = None
        self.peer_pid: int | None = None

    def exchange(self, *, prefix: str, ended: float) -> Exchange:
        """The finished exchange; ``prefix`` is the upstream's path prefix."""
        request, response = self.request, self.response
        body, facts = response.body, response.body.facts
        end, detail, closer = self._ending()
        return Exchange(
            id=self.number,
            token=self.head.token,
            peer_pid=self.peer_pid,
            method=self.head.method,
            path=prefix + self.head.path,
            started_s=self.started,
            first_byte_s=self.first_byte,
            ended_s=ended,
            request_ended=request.ended,
            status=response.status,
            end=end,
            end_detail=detail,
            closed_first=closer,
            is_stream=body.is_stream,
            end_mark=body.is_stream and facts.end_mark,
            request_id=response.request_id,
            response_id=facts.response_id,
            retry_after=response.retry_after,
            model_asked=request.model_asked,
            model_served=facts.model,
            system_fingerprint=facts.system_fingerprint,
            finish_reason=facts.finish_reason,
            is_length_stop=facts.is_length_stop,
            is_refusal=facts.is_refusal,
            error_type=facts.error_type,
            usage=facts.usage,
            cache_marks=response.cache_marks,
            unread=body.unread,
            request_sha256=request.sha256,
            request_bytes=request.size,
            response_sha256=body.sha256,
            response_bytes=body.size,
        )

    def _ending(self) -> tuple[End, str, Closer]:
        """How it ended, the detail, and who closed first."""
        closer = _CLOSER.get(self.stop, Closer.NEITHER)
        body = self.response.body
        has_succeeded = self.response.status is not None and self.response.status < 300  # noqa: PLR2004 - RFC 9110, 15.3
        if body.is_stream and has_succeeded and body.unread is None:
            if body.facts.end_mark:
                return End.COMPLETE, "", closer
            if self.response.ended:
                return End.UPSTREAM_CLOSED, "no-end-mark", Closer.UPSTREAM
        if self.response.ended:
            return End.COMPLETE, "", closer
        if self.connect_error is not None:
            return self.connect_error.end, self.connect_error.detail, Closer.UPSTREAM
        if self.response.malformed:
            return End.MALFORMED, "not-http", closer
        return *_END[self.stop], closer
