# SPDX-License-Identifier: Apache-2.0
"""The one connection to the upstream that a client's connection holds.

What it decides: when it is kept and when it is made anew. What it leaves: making it, to ``upstream``.

- It is made for the first request and kept while answers allow it; one that the upstream has closed meanwhile is
  seen before the next request and replaced. It is never shared with another client.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from truegreen.proxy.upstream import Upstream, connect

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Uplink:
    """A connection that is there when it is asked for."""

    def __init__(self, upstream: Upstream, *, limit_s: float) -> None:
        """``limit_s`` is the longest wait for a connection."""
        self._upstream = upstream
        self._limit_s = limit_s
        self._streams: Streams | None = None

    async def connected(self) -> Streams:
        """The connection. Raises: ConnectError."""
        if self._streams is not None and self._is_over(*self._streams):
            self.drop()
        if self._streams is None:
            self._streams = await connect(self._upstream, limit_s=self._limit_s)
        return self._streams

    def drop(self) -> None:
        """Shut it down for every holder of it and let it go."""
        if self._streams is None:
            return
        writer = self._streams[1]
        self._streams = None
        sock = writer.get_extra_info("socket")
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        writer.transport.abort()

    @staticmethod
    def _is_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        return reader.at_eof() or reader.exception() is not None or writer.is_closing()
