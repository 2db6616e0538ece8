# SPDX-License-Identifier: Apache-2.0
"""``transport`` for tasks of asyncio: the same order and the same answers.

What it decides: as ``transport``, whose rules stand there. What it leaves: as there.

- A task that is cancelled hands its leave back before the cancellation goes on.
- A stream that was forgotten gives its lease back on the loop it was made on, if that still runs.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2

from truegreen.core.admission import Again, Ask, Ended, Final, Leave
from truegreen.core.exchange import End
from truegreen.core.ports import AdmissionPort, AnswerReaderPort
from truegreen.limiter.attempt import (
    NO_END_MARK,
    CallOfClient,
    ReaderOf,
    Whole,
    ended_of_answer,
    ended_of_error,
    is_event_stream,
    passed,
    refused_layer,
    stands,
)

_FORGETTING: set[asyncio.Task[None] | None] = set()
"""Tasks that give leave back for streams that nobody holds: a loop keeps none alive."""


class AsyncLimitedTransport(httpx2.AsyncBaseTransport):
    """Limits and repeats the calls of one client; used by the tasks of one loop."""

    def __init__(  # noqa: PLR0913 - what it is made of; all but door and reader have defaults
        self,
        door: AdmissionPort,
        reader_of: ReaderOf,
        *,
        inner: httpx2.AsyncBaseTransport | None = None,
        ask: Ask | None = None,
        reads_streams: bool = False,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        """``ask`` says tenant, resource, holder, cost and longest wait of every call; ``inner`` sends."""
        self._door, self._reader_of, self._sleep = door, reader_of, sleep
        self._inner = inner or httpx2.AsyncHTTPTransport()
        self._ask, self._reads_streams = ask or Ask(), reads_streams

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer that stands.

        Raises: httpx2.TransportError of the last attempt; ReachProblem ``leave-refused``, ``limiter-unreachable`` or
        ``call-log-failed``.
        """
        call = CallOfClient(request, await request.aread(), ask=self._ask)
        if call.layer:
            return refused_layer(request, call.layer)
        while True:
            attempt = _Attempt(self._door, await self._door.enter(call.ask()), call)
            try:
                answer = await self._once(request, attempt)
            except httpx2.TransportError as err:
                ruling = await attempt.end(ended_of_error(err, attempt.head, attempt.took_s))
                if isinstance(ruling, Final):
                    raise
            except BaseException:  # a cancellation, or an error of ours: the attempt is over all the same
                await attempt.end(Ended(status=None, end=End.CLIENT_CLOSED, took_s=attempt.took_s))
                raise
            else:
                if isinstance(answer, httpx2.Response):
                    return answer
                ruling = await attempt.end(answer.ended)
                if isinstance(ruling, Final):
                    return stands(answer, request, call)
            await self._sleep(ruling.wait_s)

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._inner.aclose()

    async def _once(self, request: httpx2.Request, attempt: _Attempt) -> httpx2.Response | Whole:
        """The whole answer of an attempt that has ended, or a stream that goes on."""
        head = attempt.head = await self._inner.handle_async_request(request)
        reader = self._reader_of(head.headers)
        stream = head.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError(f"an asynchronous transport gave a {type(stream).__name__}")
        pieces = aiter(stream)
        read: list[bytes] = []
        try:
            if is_event_stream(head) and not self._reads_streams and await _begins(pieces, reader, read):
                leased = _LeasedStream(read, pieces, stream, reader, attempt)
                return httpx2.Response(
                    head.status_code,
                    headers=head.headers,
                    stream=leased,
                    request=request,
                    extensions=head.extensions,
                )
            async for piece in pieces:
                read.append(piece)
                reader.feed(piece)
        except BaseException:
            await stream.aclose()
            raise
        await stream.aclose()
        reader.close(is_whole=True)
        is_cut = is_event_stream(head) and attempt.call.lacks_end(reader)
        end = End.UPSTREAM_CLOSED if is_cut else End.COMPLETE
        ended = ended_of_answer(head, reader, end, attempt.took_s)
        return Whole(body=b"".join(read), head=head, ended=ended)


class _Attempt:
    """One leave, handed back once."""

    def __init__(self, door: AdmissionPort, leave: Leave, call: CallOfClient) -> None:
        self._door, self._leave, self.call = door, leave, call
        self._began = time.monotonic()
        self._is_over = False
        self.head: httpx2.Response | None = None

    @property
    def took_s(self) -> float:
        """Seconds since leave."""
        return time.monotonic() - self._began

    async def end(self, ended: Ended) -> Again | Final:
        """Hand leave back."""
        if self._is_over:
            return Final(reason="over")
        self._is_over = True
        earlier = self.call.earlier
        self.call.ended(ended)
        handing = asyncio.ensure_future(self._door.leave(self._leave, ended, earlier))
        return await asyncio.shield(handing)  # whoever is cancelled once more leaves it to end by itself


class _LeasedStream(httpx2.AsyncByteStream):
    """An event stream that keeps its lease while it lasts."""

    def __init__(
        self,
        read: list[bytes],
        pieces: AsyncIterator[bytes],
        stream: httpx2.AsyncByteStream,
        reader: AnswerReaderPort,
        attempt: _Attempt,
    ) -> None:
        self._read, self._pieces, self._stream = read, pieces, stream
        self._reader, self._attempt = reader, attempt
        loop = asyncio.get_running_loop()
        self._forgotten = weakref.finalize(self, _forget, loop, stream, reader, attempt)
        self._forgotten.atexit = False  # no loop runs then

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces as they come."""
        attempt, reader = self._attempt, self._reader
        try:
            for piece in self._read:
                yield piece
            async for piece in self._pieces:
                reader.feed(piece)
                yield piece
        except httpx2.TransportError as err:
            ended = ended_of_error(err, attempt.head, attempt.took_s)
            await attempt.end(passed(ended))
            raise
        reader.close(is_whole=True)
        is_cut = attempt.call.lacks_end(reader)
        await self._end(End.UPSTREAM_CLOSED if is_cut else End.COMPLETE)
        if is_cut:
            raise httpx2.RemoteProtocolError(NO_END_MARK)

    async def aclose(self) -> None:
        """The caller is done: at the end mark with an answer, before it without."""
        self._forgotten.detach()
        await self._stream.aclose()
        await self._end(End.COMPLETE if self._reader.is_at_end else End.CLIENT_CLOSED)

    async def _end(self, end: End) -> None:
        await _end(end, self._reader, self._attempt)


async def _begins(pieces: AsyncIterator[bytes], reader: AnswerReaderPort, read: list[bytes]) -> bool:
    """Whether the stream begins with something that may be handed on; what was read of it is in ``read``."""
    async for piece in pieces:
        read.append(piece)
        reader.feed(piece)
        if piece:
            return reader.error is None
    return False


async def _end(end: End, reader: AnswerReaderPort, attempt: _Attempt) -> None:
    head = attempt.head
    if head is not None:
        await attempt.end(ended_of_answer(head, reader, end, attempt.took_s, has_passed=True))


def _forget(
    loop: asyncio.AbstractEventLoop,
    stream: httpx2.AsyncByteStream,
    reader: AnswerReaderPort,
    attempt: _Attempt,
) -> None:
    """Nobody holds the stream any more."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: _FORGETTING.add(loop.create_task(_let_go(stream, reader, attempt))))


async def _let_go(stream: httpx2.AsyncByteStream, reader: AnswerReaderPort, attempt: _Attempt) -> None:
    task = asyncio.current_task()
    try:
        await stream.aclose()
        await _end(End.COMPLETE if reader.is_at_end else End.CLIENT_CLOSED, reader, attempt)
    finally:
        _FORGETTING.discard(task)
