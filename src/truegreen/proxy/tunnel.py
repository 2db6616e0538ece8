# SPDX-License-Identifier: Apache-2.0
"""One client connection, its one upstream connection, and the exchanges that pass between them.

What it decides: what goes on in which order, and what stops it. What it leaves: reading heads and
bodies, to ``request`` and ``response``; naming the end, to ``passage``; keeping exchanges, to ``observer``.

- One upstream connection for each client connection, opened for its first request: what either side does to
  its connection (keep, close, reset) reaches the other side and nobody else. No pool, no retry.
- Bytes go on before they are read: the first chunk waits for nothing.
- A response's end is looked at before a hang-up that came in the same turn; a cut of the upstream that comes
  in the same turn as a hang-up of the client counts as the client's.
- Where no connection comes about the client's is closed without an answer, which is what it would have met.
- Sockets are shut down, not only closed: a forked child may hold a copy, and the other side must see the end.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from truegreen.proxy.passage import Passage, Stop
from truegreen.proxy.request import Head, NotForwardableError, RequestReader, sample_number
from truegreen.proxy.upstream import READ_BYTES, ConnectError, Upstream, connect

NOT_FORWARDED: Final = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
FLUSH_LIMIT_S: Final = 30.0
LINGER_LIMIT_S: Final = 1.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Time limits of the observer's own; a client's are usually shorter."""

    connect_s: float = 15.0
    """Longest wait for a connection, seconds."""
    exchange_s: float = 900.0
    """Longest exchange from the request's head on, seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What every tunnel of one observer shares."""

    upstream: Upstream
    """Where requests go."""
    own_authority: str
    """``host:port`` of the observer."""
    limits: Limits
    """Time limits."""
    forward_sample: bool
    """Whether ``x-truegreen-sample`` is added."""
    clock: Callable[[], float]
    """Monotonic seconds since the observer started."""


class Tunnel:
    """Serves one client connection until either side closes."""

    def __init__(
        self,
        *,
        client: Streams,
        settings: Settings,
        begin: Callable[[Head, RequestReader, asyncio.StreamWriter], Passage],
        finish: Callable[[Passage], None],
        reject: Callable[[str], None],
    ) -> None:
        """``begin`` and ``finish`` bound each exchange; ``reject`` is told of bytes that are no request."""
        self._client, self._client_out = client
        self._settings = settings
        self._begin, self._finish, self._reject = begin, finish, reject
        self._upstream: Streams | None = None
        self._pending = b""

    async def run(self) -> None:
        """Pass exchanges until the connection is over; both sides are closed afterwards."""
        is_stopped = True
        try:
            while (opened := await self._next_request()) is not None:
                if not await self._exchange(*opened):
                    break
            is_stopped = False
        finally:
            self._drop_upstream()
            await end_connection(self._client, self._client_out, linger_s=0 if is_stopped else LINGER_LIMIT_S)

    async def _next_request(self) -> tuple[Head, RequestReader, bytes] | None:
        """Head, reader and the body bytes that came with it; None when the connection is over."""
        request = RequestReader(own_authority=self._settings.own_authority)
        try:
            body = request.feed(self._pending) if self._pending else b""
            self._pending = b""
            while request.head is None:
                raw = await self._read_while_idle()
                if not raw:
                    return None
                body = request.feed(raw)
        except NotForwardableError as err:
            reason = str(err).encode()
            self._client_out.write(NOT_FORWARDED % (len(reason), reason))
            if request.head is None:
                self._reject(str(err))
                return None
            body = b""
        return request.head, request, body

    async def _read_while_idle(self) -> bytes:
        """The client's next bytes; nothing if it closed, or if the idle upstream closed before it spoke."""
        reading = asyncio.ensure_future(_read(self._client))
        idle = asyncio.ensure_future(self._upstream[0].read(1)) if self._upstream else None
        try:
            await asyncio.wait({reading, idle} if idle else {reading}, return_when=asyncio.FIRST_COMPLETED)
            upstream_is_over = idle is not None and idle.done()
            if upstream_is_over:
                self._drop_upstream()
            return reading.result() if reading.done() else b""
        finally:
            await _cancel(reading, idle)

    async def _exchange(self, head: Head, request: RequestReader, body: bytes) -> bool:
        """Pass one exchange; whether another may follow."""
        passage = self._begin(head, request, self._client_out)
        try:
            passage.stop = Stop.BAD_REQUEST if request.is_broken else await self._pass(passage, body)
        finally:
            passage.response.close()
            self._finish(passage)
        self._pending = request.rest
        return passage.stop is Stop.ENDED and request.ended and passage.response.keeps_connection

    async def _pass(self, passage: Passage, body: bytes) -> Stop:
        """Send the request's head and ``body``, and pass both ways until something stops it."""
        if passage.peer is not None:  # before the answer, after which the process may be gone
            passage.peer_pid = await passage.peer
        head, upstream = passage.head, self._settings.upstream
        sample = sample_number(head.token) if head.token and self._settings.forward_sample else None
        first = head.rewritten(prefix=upstream.prefix, host=upstream.authority, sample=sample) + body
        connected = asyncio.Event()
        down = asyncio.ensure_future(self._pass_response(passage, first, connected))
        up = asyncio.ensure_future(self._pass_request(passage.request, connected))
        try:
            return await self._first_stop(up, down)
        finally:
            await _cancel(up, down)

    async def _first_stop(self, up: asyncio.Future[Stop | None], down: asyncio.Future[Stop]) -> Stop:
        limit = self._settings.limits.exchange_s
        deadline = asyncio.get_running_loop().time() + limit
        both: set[asyncio.Future[Any]] = {up, down}
        await asyncio.wait(both, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if up.done() and not down.done() and up.result() is None:
            await asyncio.wait({down}, timeout=deadline - asyncio.get_running_loop().time())
        if down.done():
            stop = down.result()
            if stop in (Stop.UPSTREAM_CLOSED, Stop.UPSTREAM_RESET):
                await asyncio.sleep(0)
                return Stop.CLIENT_CLOSED if up.done() and up.result() is Stop.CLIENT_CLOSED else stop
            return stop
        return (up.result() if up.done() else None) or Stop.TIMEOUT

    async def _pass_response(self, passage: Passage, first: bytes, connected: asyncio.Event) -> Stop:
        """Connect if need be, send the head, and pass the response until it or a connection ends."""
        settings = self._settings
        try:
            if self._upstream is None:
                self._upstream = await connect(settings.upstream, limit_s=settings.limits.connect_s)
        except ConnectError as err:
            passage.connect_error = err
            return Stop.NO_CONNECTION
        reader, writer = self._upstream
        writer.write(first)
        connected.set()
        while not passage.response.ended:
            try:
                raw = await reader.read(READ_BYTES)
            except OSError:
                return Stop.UPSTREAM_RESET
            if passage.first_byte is None and raw:
                passage.first_byte = settings.clock()
            if raw:
                self._client_out.write(raw)
            passage.response.feed(raw)
            if not raw:
                return Stop.ENDED if passage.response.ended else Stop.UPSTREAM_CLOSED
            try:
                await self._client_out.drain()
            except OSError:
                return Stop.CLIENT_CLOSED
        return Stop.ENDED

    async def _pass_request(self, request: RequestReader, connected: asyncio.Event) -> Stop | None:
        """Pass the rest of the body, then watch the client; None once there is nothing left to watch."""
        while not request.rest:
            raw = await _read(self._client)
            if not raw:
                return Stop.CLIENT_CLOSED
            try:
                body = request.feed(raw)
            except NotForwardableError:
                return Stop.BAD_REQUEST
            if body:
                await connected.wait()
                await self._send(body)
        return None

    async def _send(self, body: bytes) -> None:
        """An upstream that no longer reads is seen where its answer is read."""
        if self._upstream is not None:
            self._upstream[1].write(body)
            with suppress(OSError):
                await self._upstream[1].drain()

    def _drop_upstream(self) -> None:
        if self._upstream is not None:
            _cut(self._upstream[1])
            self._upstream = None


async def _read(reader: asyncio.StreamReader) -> bytes:
    """The next bytes; a reset is an end like any other."""
    try:
        return await reader.read(READ_BYTES)
    except OSError:
        return b""


async def _cancel(
    *tasks: asyncio.Future[bytes] | asyncio.Future[Stop] | asyncio.Future[Stop | None] | None,
) -> None:
    live = [task for task in tasks if task is not None]
    for task in live:
        task.cancel()
    await asyncio.gather(*live, return_exceptions=True)


async def end_connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, linger_s: float
) -> None:
    """Send what is buffered, then the end of the stream; take what still comes, so that no reset overtakes it."""
    sock = writer.get_extra_info("socket")
    try:
        with suppress(OSError):  # TimeoutError is one
            async with asyncio.timeout(FLUSH_LIMIT_S):
                writer.transport.set_write_buffer_limits(high=0)
                await writer.drain()
        with suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(linger_s):
                while await reader.read(READ_BYTES):
                    pass
    except asyncio.CancelledError:
        pass  # nothing comes after this, and an error that is on its way up must not give way to it
    finally:
        _cut(writer)


def _cut(writer: asyncio.StreamWriter) -> None:
    """Shut the socket down for every holder of it and let it go."""
    sock = writer.get_extra_info("socket")
    if sock is not None:  # a TLS transport that was closed by its peer has none any more
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
    writer.transport.abort()
