# SPDX-License-Identifier: Apache-2.0
"""An httpx2 transport that asks for leave before each attempt and repeats what may be repeated.

What it decides: the order enter, send, read, leave, maybe again; when an answer is handed on. What it leaves: leave
and rulings, to the door; bytes, to the transport inside.

Use: ``openai.OpenAI(http_client=httpx2.Client(transport=limited_transport(…)), max_retries=0)``.

- An answer that is no event stream is read whole before it is handed on, because its body decides whether the attempt
  is repeated. An event stream is handed on from its first piece, unless that piece is an error.
- A stream keeps its lease until it is at its end, closed, or forgotten. A stream that ends without its end mark raises
  ``RemoteProtocolError`` at its end: nobody takes half an answer for one. With ``reads_streams`` it is read
  whole first, and repeated like every other answer.
- A retry of another layer is not sent: it is answered 400 ``sdk-retries-enabled``. An error that stands says
  ``x-should-retry: false``.
- Whatever ends an attempt hands its leave back: an error of the caller and an interrupt too.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from typing import Protocol

import httpx2

from truegreen.core.admission import Again, Ask, Ended, Final, Leave
from truegreen.core.exchange import End
from truegreen.core.ports import AnswerReaderPort
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


class DoorPort(Protocol):
    """What the transport needs of a ``door.Door``."""

    def enter(self, ask: Ask) -> Leave:
        """Wait for leave."""
        ...

    def leave(self, leave: Leave, ended: Ended, earlier: tuple[Ended, ...]) -> Again | Final:
        """Hand it back and hear the ruling."""
        ...


class LimitedTransport(httpx2.BaseTransport):
    """Limits and repeats the calls of one client; may be used by any thread."""

    def __init__(  # noqa: PLR0913 - what it is made of; all but door and reader have defaults
        self,
        door: DoorPort,
        reader_of: ReaderOf,
        *,
        inner: httpx2.BaseTransport | None = None,
        ask: Ask | None = None,
        reads_streams: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``ask`` says tenant, resource, holder, cost and longest wait of every call; ``inner`` sends."""
        self._door, self._reader_of, self._sleep = door, reader_of, sleep
        self._inner = inner or httpx2.HTTPTransport()
        self._ask, self._reads_streams = ask or Ask(), reads_streams

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer that stands.

        Raises: httpx2.TransportError of the last attempt; ReachProblem ``leave-refused``, ``limiter-unreachable`` or
        ``call-log-failed``.
        """
        call = CallOfClient(request, request.read(), ask=self._ask)
        if call.layer:
            return refused_layer(request, call.layer)
        while True:
            attempt = _Attempt(self._door, self._door.enter(call.ask()), call)
            try:
                answer = self._once(request, attempt)
            except httpx2.TransportError as err:
                ruling = attempt.end(ended_of_error(err, attempt.head, attempt.took_s))
                if isinstance(ruling, Final):
                    raise
            except BaseException:  # an interrupt, or an error of ours: the attempt is over all the same
                attempt.end(Ended(status=None, end=End.CLIENT_CLOSED, took_s=attempt.took_s))
                raise
            else:
                if isinstance(answer, httpx2.Response):
                    return answer
                ruling = attempt.end(answer.ended)
                if isinstance(ruling, Final):
                    return stands(answer, request, call)
            self._sleep(ruling.wait_s)

    def close(self) -> None:
        """Close the transport inside."""
        self._inner.close()

    def _once(self, request: httpx2.Request, attempt: _Attempt) -> httpx2.Response | Whole:
        """The whole answer of an attempt that has ended, or a stream that goes on."""
        head = attempt.head = self._inner.handle_request(request)
        reader = self._reader_of(head.headers)
        stream = head.stream
        if not isinstance(stream, httpx2.SyncByteStream):
            raise TypeError(f"a synchronous transport gave a {type(stream).__name__}")
        pieces = iter(stream)
        read: list[bytes] = []
        try:
            if is_event_stream(head) and not self._reads_streams and _begins(pieces, reader, read):
                leased = _LeasedStream(read, pieces, stream, reader, attempt)
                return httpx2.Response(
                    head.status_code,
                    headers=head.headers,
                    stream=leased,
                    request=request,
                    extensions=head.extensions,
                )
            for piece in pieces:
                read.append(piece)
                reader.feed(piece)
        except BaseException:
            stream.close()
            raise
        stream.close()
        reader.close(is_whole=True)
        is_cut = is_event_stream(head) and attempt.call.lacks_end(reader)
        end = End.UPSTREAM_CLOSED if is_cut else End.COMPLETE
        ended = ended_of_answer(head, reader, end, attempt.took_s)
        return Whole(body=b"".join(read), head=head, ended=ended)


class _Attempt:
    """One leave, handed back once."""

    def __init__(self, door: DoorPort, leave: Leave, call: CallOfClient) -> None:
        self._door, self._leave, self.call = door, leave, call
        self._began = time.monotonic()
        self._is_over = False
        self.head: httpx2.Response | None = None

    @property
    def took_s(self) -> float:
        """Seconds since leave."""
        return time.monotonic() - self._began

    def end(self, ended: Ended) -> Again | Final:
        """Hand leave back."""
        if self._is_over:
            return Final(reason="over")
        self._is_over = True
        earlier = self.call.earlier
        self.call.ended(ended)
        return self._door.leave(self._leave, ended, earlier)


class _LeasedStream(httpx2.SyncByteStream):
    """An event stream that keeps its lease while it lasts."""

    def __init__(
        self,
        read: list[bytes],
        pieces: Iterator[bytes],
        stream: httpx2.SyncByteStream,
        reader: AnswerReaderPort,
        attempt: _Attempt,
    ) -> None:
        self._read, self._pieces, self._stream = read, pieces, stream
        self._reader, self._attempt = reader, attempt
        self._forgotten = weakref.finalize(self, _forget, stream, reader, attempt)

    def __iter__(self) -> Iterator[bytes]:
        """The pieces as they come."""
        attempt, reader = self._attempt, self._reader
        try:
            yield from self._read
            for piece in self._pieces:
                reader.feed(piece)
                yield piece
        except httpx2.TransportError as err:
            ended = ended_of_error(err, attempt.head, attempt.took_s)
            attempt.end(passed(ended))
            raise
        reader.close(is_whole=True)
        is_cut = attempt.call.lacks_end(reader)
        self._end(End.UPSTREAM_CLOSED if is_cut else End.COMPLETE)
        if is_cut:
            raise httpx2.RemoteProtocolError(NO_END_MARK)

    def close(self) -> None:
        """The caller is done: at the end mark with an answer, before it without."""
        self._forgotten.detach()
        self._stream.close()
        self._end(End.COMPLETE if self._reader.is_at_end else End.CLIENT_CLOSED)

    def _end(self, end: End) -> None:
        _end(end, self._reader, self._attempt)


def _begins(pieces: Iterator[bytes], reader: AnswerReaderPort, read: list[bytes]) -> bool:
    """Whether the stream begins with something that may be handed on; what was read of it is in ``read``."""
    for piece in pieces:
        read.append(piece)
        reader.feed(piece)
        if piece:
            return reader.error is None
    return False


def _end(end: End, reader: AnswerReaderPort, attempt: _Attempt) -> None:
    head = attempt.head
    if head is not None:
        attempt.end(ended_of_answer(head, reader, end, attempt.took_s, has_passed=True))


def _forget(stream: httpx2.SyncByteStream, reader: AnswerReaderPort, attempt: _Attempt) -> None:
    """Nobody holds the stream any more."""
    stream.close()
    _end(End.COMPLETE if reader.is_at_end else End.CLIENT_CLOSED, reader, attempt)
