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
from truegreen.proxy.modes import Mode, Options, check_recordings
from truegreen.proxy.session import Session, Tally
from truegreen.proxy.transport import check_inner
from truegreen.proxy.unwired import Given, Passing, is_foreign, played, refuse_foreign
from truegreen.proxy.upstream import parse_upstream


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
        check_recordings(mode, recordings)
        check_inner(mode, inner)
        self._mode = mode
        self._upstream = parse_upstream(upstream, needs_tls=False)
        self._session = Session(mode, recordings)
        self._options = options or Options()
        self._inner = None if mode is Mode.REPLAY else inner or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """As ``ModelTransport.handle_request``."""
        self._session.add("requests")
        if is_foreign(request, self._upstream):
            return await _given(refuse_foreign(request, self._upstream, self._session))
        await request.aread()
        if self._inner is None:
            return await _given(played(request, self._session, self._options.pace))
        self._session.add("upstream_calls")
        if self._mode is Mode.LIVE:
            return await self._inner.handle_async_request(request)
        passing = Passing(request, session=self._session, options=self._options)
        response = await self._inner.handle_async_request(request)
        passing.head(response)
        return httpx2.Response(
            response.status_code,
            headers=response.headers.raw,
            stream=_Recorded(response, passing),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close the transport inside."""
        if self._inner is not None:
            await self._inner.aclose()

    def missed(self) -> tuple[tuple[Asked, Miss], ...]:
        """Every request that no recording answered, with its miss, in order."""
        return self._session.missed()

    def tally(self) -> Tally:
        """What happened so far."""
        return self._session.tally()


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
