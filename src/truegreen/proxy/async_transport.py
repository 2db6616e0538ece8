# SPDX-License-Identifier: Apache-2.0
"""The twin of ``transport`` for asynchronous clients.

What it decides: sending and waiting, without holding up the loop. What it leaves: the rest, to ``unwired``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2

from truegreen.core.ports import RecordingPort
from truegreen.core.recording import Asked, Chunk, Miss
from truegreen.proxy.modes import Mode, Options
from truegreen.proxy.session import Tally
from truegreen.proxy.unwired import Given, Inside, Passing


class AsyncModelTransport(httpx2.AsyncBaseTransport):
    """One endpoint in one mode; may be used by several tasks."""

    def __init__(
        self,
        mode: Mode,
        upstream: str,
        *,
        recordings: RecordingPort | None = None,
        inner: httpx2.AsyncBaseTransport | None = None,
        options: Options | None = None,
    ) -> None:
        """As ``ModelTransport``."""
        self._inside = Inside(
            mode, upstream, recordings=recordings, has_sender=inner is not None, options=options
        )
        self._inner = _NoSender() if mode is Mode.REPLAY else inner or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """As ``ModelTransport.handle_request``."""
        if (refused := self._inside.refused(request)) is not None:
            return await _given(refused)
        await request.aread()
        if (given := self._inside.replayed(request)) is not None:
            return await _given(given)
        passing = self._inside.passing(request)
        response = await self._inner.handle_async_request(request)
        if passing is None:
            return response
        passing.head(response)
        return httpx2.Response(
            response.status_code,
            headers=response.headers.raw,
            stream=_Recorded(response, passing),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._inner.aclose()

    def missed(self) -> tuple[tuple[Asked, Miss], ...]:
        """The first requests that no recording answered, each with its miss, in order."""
        return self._inside.session.missed()

    def tally(self) -> Tally:
        """What happened so far."""
        return self._inside.session.tally()


class _NoSender(httpx2.AsyncBaseTransport):
    """Stands where a replay would have something to send with."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(f"a replay was to send a request to {request.url.host}")


class _Recorded(httpx2.AsyncByteStream):
    """The pieces of an answer, read beside."""

    def __init__(self, response: httpx2.Response, passing: Passing) -> None:
        self._response, self._passing = response, passing

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.stream:  # type: ignore[union-attr]  # of an asynchronous transport
            self._passing.feed(piece)
            yield piece
        self._passing.end(is_whole=True)

    async def aclose(self) -> None:
        self._passing.end(is_whole=False)
        await self._response.aclose()


class _Pieces(httpx2.AsyncByteStream):
    """Recorded pieces with their pauses."""

    def __init__(self, chunks: tuple[Chunk, ...]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if chunk.after_s:
                await asyncio.sleep(chunk.after_s)
            if chunk.data:
                yield chunk.data


async def _given(given: Given) -> httpx2.Response:
    if given.head_after_s:
        await asyncio.sleep(given.head_after_s)
    return httpx2.Response(given.status, headers=given.headers, stream=_Pieces(given.chunks))
