# SPDX-License-Identifier: Apache-2.0
"""One client connection of the fake endpoint: whole requests in, replies out.

What it decides: what is a request, how long a client may take over it, and that a reply ends when its client
leaves. What it leaves: the reply, to ``service``.

- A head that is no HTTP gets 400, a body above the limit 413, a request that does not arrive in time 408; the
  connection ends with them.
- A client that leaves ends its wait: a hang holds nothing longer than its client.
- Sockets are shut down, not only closed: a forked child may hold a copy, and the client must see the end.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Final

import h11
import msgspec

from truegreen.endpoint import chat, reply
from truegreen.endpoint.api import ApiError
from truegreen.endpoint.reply import Reply, Then
from truegreen.endpoint.service import Request, Service

READ_BYTES: Final = 64 << 10
LINGER_S: Final = 1.0
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one client may ask."""

    head_bytes: int = 64 << 10
    """Longest head."""
    body_bytes: int = 8 << 20
    """Longest body."""
    request_s: float = 30.0
    """Longest time from a request's first byte to its last, seconds."""
    idle_s: float = 300.0
    """Longest time between requests, seconds."""


class Connection:
    """Serves one client until it leaves or is sent away."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, service: Service, limits: Limits
    ) -> None:
        self._reader, self._writer = reader, writer
        self._service = service
        self._limits = limits
        self._pending = b""

    async def run(self) -> None:
        """Answer requests one after the other; the socket is closed afterwards."""
        is_stopped = True
        try:
            while await self._serve_one():
                pass
            is_stopped = False
        finally:
            await self._end(linger_s=0 if is_stopped else LINGER_S)

    async def _serve_one(self) -> bool:
        """Whether another request may follow."""
        try:
            first = self._pending or await asyncio.wait_for(self._read(), self._limits.idle_s)
            if not first:
                return False
            self._pending = b""
            async with asyncio.timeout(self._limits.request_s):
                parsed = await self._request(first)
        except TimeoutError:
            return await self._send_away(408, "The request did not arrive in time.")
        except h11.RemoteProtocolError as err:
            return await self._send_away(err.error_status_hint, "The request is not HTTP/1.1.")
        except ApiError as problem:
            return await self._send_away(problem.status, str(problem))
        if parsed is None:
            return False
        request, closes = parsed
        made = self._service.answer(request)
        is_sent = False
        try:
            is_sent = await self._play(made)
        finally:
            self._service.ended(made, is_sent=is_sent)
        return is_sent and made.then is Then.KEEP and not closes

    async def _request(self, first: bytes) -> tuple[Request, bool] | None:
        """A whole request and whether the connection ends with it; None if the client left in the middle."""
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.head_bytes)
        parser.receive_data(first)
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                if parser.they_are_waiting_for_100_continue:
                    self._writer.write(CONTINUE)
                data = await self._read()
                if not data:
                    return None
                parser.receive_data(data)
            elif isinstance(event, h11.Request):
                head = event
                _refuse_long(_length(event), self._limits.body_bytes)
            elif isinstance(event, h11.Data):
                body += event.data
                _refuse_long(len(body), self._limits.body_bytes)
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                self._pending = parser.trailing_data[0]
                return _whole(head, bytes(body)), parser.their_state is h11.MUST_CLOSE
            else:
                return None

    async def _play(self, made: Reply) -> bool:
        """Send a reply; whether the client was there to the end."""
        for step in made.steps:
            if step.wait_s and await self._leaves_within(step.wait_s):
                return False
            self._writer.write(step.data)
            try:
                await self._writer.drain()
            except OSError:
                return False
        if made.then is Then.HANG:
            await self._leaves_within(None)
        return True

    async def _leaves_within(self, wait_s: float | None) -> bool:
        """Wait; whether the client left meanwhile. What it sends early is kept."""
        deadline = None if wait_s is None else asyncio.get_running_loop().time() + wait_s
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    data = await self._read()
            except TimeoutError:
                return False
            if not data:
                return True
            self._pending += data
            if len(self._pending) > READ_BYTES:  # pipelining without end: read no more, only wait
                await asyncio.sleep(0 if deadline is None else deadline - asyncio.get_running_loop().time())
                return deadline is None

    async def _read(self) -> bytes:
        """The next bytes; a reset is an end like any other."""
        try:
            return await self._reader.read(READ_BYTES)
        except OSError:
            return b""

    async def _send_away(self, status: int, message: str) -> bool:
        self._service.oracle.other()
        await self._play(reply.error(chat, ApiError(status, message), then=Then.CLOSE))
        return False

    async def _end(self, *, linger_s: float) -> None:
        """Flush, end the stream, take what still comes for a moment, and let the socket go."""
        sock = self._writer.get_extra_info("socket")
        try:
            with suppress(OSError):
                async with asyncio.timeout(linger_s):
                    self._writer.transport.set_write_buffer_limits(high=0)
                    await self._writer.drain()
                    sock.shutdown(socket.SHUT_WR)
                    while await self._reader.read(READ_BYTES):
                        pass
        except asyncio.CancelledError:
            pass  # nothing comes after this, and an error that is on its way up must not give way to it
        finally:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            self._writer.transport.abort()


def _length(head: h11.Request) -> int:
    return next((int(value) for name, value in head.headers if name == b"content-length"), 0)


def _refuse_long(size: int, limit: int) -> None:
    if size > limit:
        raise ApiError(413, f"The body is longer than {limit} bytes.", kind="invalid_request_error")


def _whole(head: h11.Request, body: bytes) -> Request:
    headers: dict[str, str] = {}
    for name, value in head.headers:
        headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    path = head.target.decode("latin-1").partition("?")[0]
    return Request(method=head.method.decode("latin-1"), path=path, headers=headers, body=body)
