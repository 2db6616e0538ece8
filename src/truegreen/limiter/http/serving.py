# SPDX-License-Identifier: Apache-2.0
"""Runs the service on a socket until it is told to stop, and lets calls under way end first.

What it decides: connections and how they are bounded, and the order of stopping. What it leaves: what is answered,
to ``app``.

- Told to stop, the service refuses new asks and waiting ones, and goes on answering releases and signs of life until
  no leave is out, at most ``drain_s`` seconds. Then it closes.
- Told a second time it closes at once.
- A connection that does not send a whole head within ``HEAD_S`` is closed, so that idle connections do not keep
  others out. More than ``connections`` at once are answered 503.
- Nothing is logged by the server itself: a log line cannot hold a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any, Final, Protocol

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S: Final = 10.0
"""Seconds that a client has for the head of a request."""
KEEP_ALIVE_S: Final = 75
HEAD_BYTES: Final = 16 * 1024
CLOSING_S: Final = 5
"""Seconds that answers under way have at the very end."""


class Stoppable(Protocol):
    """What is served."""

    def stop(self) -> None:
        """Refuse new asks and waiting ones from now on."""
        ...

    async def drained(self) -> None:
        """Return once no leave is out."""
        ...


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What the server takes."""

    connections: int = 1024
    """Most connections at once."""
    drain_s: float = 30.0
    """Longest time that calls under way have to end."""
    certificate: str | None = None
    """File of a certificate chain; None for plain HTTP."""
    key: str | None = None
    """File of its key."""


class _Server(uvicorn.Server):
    """Signals are the caller's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Connection(H11Protocol):
    """A connection that has to say what it wants in time."""

    _impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as its parent does
        super().connection_made(transport)
        # head and body of an answer are two writes: without this the second would wait for an acknowledgement
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._impatience = self.loop.call_later(HEAD_S, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self.conn.their_state is h11.IDLE and getattr(self, "cycle", None) is None:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
        super().connection_lost(exc)


class Serving:
    """One run of the service."""

    def __init__(self, app: Any, served: Stoppable, listening: socket.socket, bounds: Bounds) -> None:
        """``app`` is an ASGI application, ``listening`` a bound socket.

        Raises: OSError for a certificate that cannot be used.
        """
        self._served = served
        self._listening = listening
        self._bounds = bounds
        self._told = asyncio.Event()
        self._server = _Server(
            uvicorn.Config(
                app,
                http=_Connection,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                limit_concurrency=bounds.connections,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=CLOSING_S,
                h11_max_incomplete_event_size=HEAD_BYTES,
                ssl_certfile=bounds.certificate,
                ssl_keyfile=bounds.key,
            )
        )
        self._server.config.load()

    def stop(self) -> None:
        """Begin to stop; called again, close at once. Called in the loop, or by a handler of the loop's signals."""
        if self._told.is_set():
            self._server.should_exit = True
        self._told.set()

    async def run(self) -> None:
        """Serve until stopped."""
        ending = asyncio.ensure_future(self._end())
        try:
            await self._server.serve(sockets=[self._listening])
        finally:
            ending.cancel()

    async def _end(self) -> None:
        await self._told.wait()
        self._served.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._bounds.drain_s):
                await self._served.drained()
        self._server.should_exit = True
