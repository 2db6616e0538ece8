# SPDX-License-Identifier: Apache-2.0
"""An httpx2 transport that records, replays or passes on, for synchronous clients.

What it decides: sending and waiting. What it leaves: everything that it shares with its asynchronous twin, to
``unwired``; limits and retries, to the transport inside, if that is one that has them.

Use: ``openai.OpenAI(http_client=httpx2.Client(transport=ModelTransport(…)))``.

- ``replay`` has no transport inside: there is nothing that could send.
- The first piece waits for nothing in ``live`` and ``record``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import httpx2

from truegreen.core.errors import UsageProblem
from truegreen.core.ports import RecordingPort
from truegreen.core.recording import Asked, Chunk, Miss
from truegreen.proxy.modes import Mode, Options, check_recordings
from truegreen.proxy.session import Session, Tally
from truegreen.proxy.unwired import Given, Passing, is_foreign, played, refuse_foreign
from truegreen.proxy.upstream import parse_upstream


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
        check_recordings(mode, recordings)
        check_inner(mode, inner)
        self._mode = mode
        self._upstream = parse_upstream(upstream, needs_tls=False)
        self._session = Session(mode, recordings)
        self._options = options or Options()
        self._inner = None if mode is Mode.REPLAY else inner or httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, recorded or live. Raises: httpx2.TransportError as the transport inside does."""
        self._session.add("requests")
        if is_foreign(request, self._upstream):
            return _given(refuse_foreign(request, self._upstream, self._session))
        request.read()
        if self._inner is None:
            return _given(played(request, self._session, self._options.pace))
        self._session.add("upstream_calls")
        if self._mode is Mode.LIVE:
            return self._inner.handle_request(request)
        passing = Passing(request, session=self._session, options=self._options)
        response = self._inner.handle_request(request)
        passing.head(response)
        return httpx2.Response(
            response.status_code,
            headers=response.headers.raw,
            stream=_Recorded(response, passing),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close the transport inside."""
        if self._inner is not None:
            self._inner.close()

    def missed(self) -> tuple[tuple[Asked, Miss], ...]:
        """Every request that no recording answered, with its miss, in order."""
        return self._session.missed()

    def tally(self) -> Tally:
        """What happened so far."""
        return self._session.tally()


def check_inner(mode: Mode, inner: object) -> None:
    """Refuse a sender where nothing is sent. Raises: UsageProblem ``inner-not-used``."""
    if mode is Mode.REPLAY and inner is not None:
        raise UsageProblem("inner-not-used", "mode replay sends nothing, but a transport inside is given")


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
