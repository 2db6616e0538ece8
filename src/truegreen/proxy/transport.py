# SPDX-License-Identifier: Apache-2.0
"""An httpx2 transport that records, replays or passes on, for synchronous clients.

What it decides: sending and waiting. What it leaves: everything that it shares with its asynchronous twin, to
``unwired``; limits and retries, to the transport inside, if that is one that has them.

Use: ``openai.OpenAI(http_client=httpx2.Client(transport=ModelTransport(…)))``.

- ``replay`` has no transport inside that could send.
- The first piece waits for nothing in ``live`` and ``record``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import httpx2

from truegreen.core.ports import RecordingPort
from truegreen.core.recording import Asked, Chunk, Miss
from truegreen.proxy.modes import Mode, Options
from truegreen.proxy.session import Tally
from truegreen.proxy.unwired import Given, Inside, Passing


class ModelTransport(httpx2.BaseTransport):
    """One endpoint in one mode; may be used by any thread."""

    def __init__(
        self,
        mode: Mode,
        upstream: str,
        *,
        recordings: RecordingPort | None = None,
        inner: httpx2.BaseTransport | None = None,
        options: Options | None = None,
    ) -> None:
        """``upstream`` is the endpoint's base URL; ``inner`` sends in ``live`` and ``record``.

        Raises: UsageProblem ``bad-upstream``, ``recordings-needed``, ``recordings-not-used``, ``inner-not-used``.
        """
        self._inside = Inside(
            mode, upstream, recordings=recordings, has_sender=inner is not None, options=options
        )
        self._inner = _NoSender() if mode is Mode.REPLAY else inner or httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, recorded or live. Raises: httpx2.TransportError as the transport inside does."""
        if (refused := self._inside.refused(request)) is not None:
            return _given(refused)
        request.read()
        if (given := self._inside.replayed(request)) is not None:
            return _given(given)
        passing = self._inside.passing(request)
        response = self._inner.handle_request(request)
        if passing is None:
            return response
        passing.head(response)
        return httpx2.Response(
            response.status_code,
            headers=response.headers.raw,
            stream=_Recorded(response, passing),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close the transport inside."""
        self._inner.close()

    def missed(self) -> tuple[tuple[Asked, Miss], ...]:
        """The first requests that no recording answered, each with its miss, in order."""
        return self._inside.session.missed()

    def tally(self) -> Tally:
        """What happened so far."""
        return self._inside.session.tally()


class _NoSender(httpx2.BaseTransport):
    """Stands where a replay would have something to send with."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(f"a replay was to send a request to {request.url.host}")


class _Recorded(httpx2.SyncByteStream):
    """The pieces of an answer, read beside."""

    def __init__(self, response: httpx2.Response, passing: Passing) -> None:
        self._response, self._passing = response, passing

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._response.stream:  # type: ignore[union-attr]  # of a synchronous transport
            self._passing.feed(piece)
            yield piece
        self._passing.end(is_whole=True)

    def close(self) -> None:
        self._passing.end(is_whole=False)
        self._response.close()


class _Pieces(httpx2.SyncByteStream):
    """Recorded pieces with their pauses."""

    def __init__(self, chunks: tuple[Chunk, ...], sleep: Callable[[float], None]) -> None:
        self._chunks, self._sleep = chunks, sleep

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            if chunk.after_s:
                self._sleep(chunk.after_s)
            if chunk.data:
                yield chunk.data


def _given(given: Given) -> httpx2.Response:
    if given.head_after_s:
        time.sleep(given.head_after_s)
    return httpx2.Response(given.status, headers=given.headers, stream=_Pieces(given.chunks, time.sleep))
