# SPDX-License-Identifier: Apache-2.0
"""Record, replay and live inside a client: what both transports share, without a socket.

What it decides: which request is served, what a replay gives, what of an answer that passes is kept. What it
leaves: sending and waiting, to ``transport`` and ``async_transport``.

- A transport serves one endpoint. A request to another scheme, host or port is refused and turns the session red:
  the recordings of one endpoint never answer for another, and ``replay`` never sends anything.
- A miss is the answer that the proxy gives (424, ``x-should-retry: false``): an exception would be taken for a lost
  connection, and repeated, by the SDKs.
- A stream that the client leaves after its end mark is whole; one that it leaves before is not kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

import httpx2

from truegreen.core.errors import TruegreenProblem, UsageProblem
from truegreen.core.ports import RecordingPort
from truegreen.core.recording import TEMPLATE, TEMPLATE_VERSION, Answered, Asked, Chunk, Miss
from truegreen.proxy import refusal
from truegreen.proxy.body import BodyReader
from truegreen.proxy.modes import Mode, Options, Pace, check_recordings
from truegreen.proxy.refusal import Own
from truegreen.proxy.replay import has_true_length, paced, sendable_headers
from truegreen.proxy.request import ANSWER_PATHS, HOP_BY_HOP
from truegreen.proxy.session import Session
from truegreen.proxy.taken import Came, Taken, lacks_end, reason_against
from truegreen.proxy.upstream import DEFAULT_PORTS, Upstream, parse_upstream
from truegreen.proxy.whole import OF_THE_CONNECTION

NOT_ASKED: Final = {name.decode() for name in HOP_BY_HOP | OF_THE_CONNECTION} | {"host"}


class Given:
    """What a transport answers without sending: status, headers, and pieces with the pauses before them."""

    def __init__(self, status: int, headers: Iterable[tuple[str, str]], chunks: tuple[Chunk, ...]) -> None:
        self.status = status
        self.headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        self.chunks = chunks
        self.head_after_s = 0.0


class Inside:
    """One endpoint in one mode, for a transport of either kind."""

    def __init__(
        self,
        mode: Mode,
        upstream: str,
        *,
        recordings: RecordingPort | None,
        has_sender: bool,
        options: Options | None,
    ) -> None:
        """``has_sender``: whether the caller gave a transport to send with.

        Raises: UsageProblem ``bad-upstream``, ``recordings-needed``, ``recordings-not-used``, ``inner-not-used``.
        """
        check_recordings(mode, recordings)
        if mode is Mode.REPLAY and has_sender:
            raise UsageProblem("inner-not-used", "mode replay sends nothing, but a transport inside is given")
        self.mode: Final = mode
        self.session: Final = Session(mode, recordings)
        self._upstream = parse_upstream(upstream, needs_tls=False)
        self._options = options or Options()

    def refused(self, request: httpx2.Request) -> Given | None:
        """The answer to a request for another endpoint, which turns the session red; None for one of this."""
        self.session.add("requests")
        return refuse_foreign(request, self._upstream, self.session) if self._is_foreign(request) else None

    def replayed(self, request: httpx2.Request) -> Given | None:
        """What a replay answers to a request whose body was read; None in a mode that sends."""
        if self.mode is Mode.REPLAY:
            return played(request, self.session, self._options.pace)
        self.session.add("upstream_calls")
        return None

    def passing(self, request: httpx2.Request) -> Passing | None:
        """What reads the answer beside, in ``record``; what names the template does not go on from here."""
        is_kept = self.mode is Mode.RECORD
        passing = Passing(request, session=self.session, options=self._options) if is_kept else None
        for name in (TEMPLATE, TEMPLATE_VERSION):
            request.headers.pop(name, None)
        return passing

    def _is_foreign(self, request: httpx2.Request) -> bool:
        url, own = request.url, self._upstream
        port = url.port or DEFAULT_PORTS.get(url.scheme)
        return (url.scheme, url.host.strip("[]").lower(), port) != (own.scheme, own.host.lower(), own.port)


def refuse_foreign(request: httpx2.Request, upstream: Upstream, session: Session) -> Given:
    """The answer to a request for another endpoint; the session is red."""
    problem = UsageProblem(
        "foreign-endpoint",
        f"a request went to {request.url.host[:80]!r}, and this transport serves {upstream.authority!r} alone",
        hint="give each endpoint a client of its own",
    )
    session.trouble(problem)
    return _own(Own(status=refusal.MISS_STATUS, code=problem.code, message=problem.message), request)


def asked_of(request: httpx2.Request) -> Asked:
    """The request as recordings know it; its body has been read."""
    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in request.headers.raw
        if name.decode("latin-1").lower() not in NOT_ASKED
    )
    return Asked(method=request.method, path=path, query=query, headers=headers, body=request.content)


def played(request: httpx2.Request, session: Session, pace: Pace) -> Given:
    """What a replay answers: the recording, or the miss."""
    try:
        found = session.play(asked_of(request))
        if isinstance(found, Miss):
            return _own(refusal.own_miss(found), request)
        return _replayed(found, request, pace)
    except TruegreenProblem as problem:
        session.trouble(problem)
        return _own(Own(status=refusal.MISS_STATUS, code=problem.code, message=problem.message), request)


class Passing:
    """One answer that passes in ``record``."""

    def __init__(self, request: httpx2.Request, *, session: Session, options: Options) -> None:
        self._asked = asked_of(request)
        self._session, self._options = session, options
        self._taken = Taken(clock=time.monotonic, limit_bytes=options.kept_bytes)
        self._is_answer = request.method == "POST" and self._asked.path.endswith(ANSWER_PATHS)
        self._body = BodyReader(content_type="", content_encoding="", is_answer=False)
        self._status: int | None = None
        self._headers: tuple[tuple[str, str], ...] = ()
        self._is_over = False

    def head(self, response: httpx2.Response) -> None:
        """Status and headers have come."""
        self._taken.head()
        self._status = response.status_code
        self._headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw
        )
        self._body = BodyReader(
            content_type=response.headers.get("content-type", ""),
            content_encoding=response.headers.get("content-encoding", ""),
            is_answer=self._is_answer,
        )

    def feed(self, piece: bytes) -> None:
        """The next piece of the body, content coding kept."""
        self._taken.data(piece)
        self._body.feed(piece)

    def end(self, *, is_whole: bool) -> None:
        """No more comes; what is worth keeping is kept. Harmless if called again."""
        if self._is_over:
            return
        self._is_over = True
        self._body.close(is_whole=is_whole)
        facts = self._body.facts
        has_mark = self._body.is_stream and facts.end_mark
        came = Came(
            status=self._status,
            is_whole=is_whole or has_mark,
            lacks_end=lacks_end(
                is_stream=self._body.is_stream,
                asks_a_model=self._is_answer,
                has_mark=has_mark,
                unread=self._body.unread,
            ),
            error_type=facts.error_type,
        )
        reason = reason_against(came, keeps_errors=self._options.keeps_errors)
        if reason is None and self._taken.is_too_large:
            reason = "too-large"
        if reason is not None:
            self._session.leave_out(reason)
            return
        self._session.keep(self._asked, self._taken.answered(status=self._status or 0, headers=self._headers))


def _replayed(answered: Answered, request: httpx2.Request, pace: Pace) -> Given:
    has_body = request.method != "HEAD"
    headers = sendable_headers(answered, keeps_length=not has_body or has_true_length(answered))
    given = Given(answered.status, headers, paced(answered, pace) if has_body else ())
    given.head_after_s = answered.head_after_s if pace is Pace.RECORDED else 0.0
    return given


def _own(said: Own, request: httpx2.Request) -> Given:
    names = {name.lower() for name in request.headers}
    is_anthropic = refusal.asks_anthropic(request.url.path, names)
    headers, body = refusal.own_parts(said, is_anthropic=is_anthropic)
    chunks = () if request.method == "HEAD" else (Chunk(after_s=0.0, data=body),)
    return Given(said.status, headers, chunks)
