# SPDX-License-Identifier: Apache-2.0
"""The one door to the model: a proxy before one upstream, in one mode, from start to end.

What it decides: what belongs to one proxy, and that it holds its mode before anyone uses it. What it leaves:
connections, to ``visit``; counts, to ``session``; which modes a run may use, to the doors.

- It runs in a thread of its own with an event loop of its own; every method may be called from any thread.
- Base URLs work as the observer's do: what the upstream's URL has as path prefix is added here.
- ``replay`` opens no socket to the upstream and takes no leave; ``record`` and ``live`` read no recording.
- ``close`` waits for recordings that are being written and for leave that is being handed back.
- An error inside is never lost: ``close`` raises it.
- Clients must not send loopback through an HTTP proxy: set ``NO_PROXY=127.0.0.1`` where one is configured.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Self

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.exchange import Exchange
from truegreen.core.ports import AdmissionPort, RecordingPort
from truegreen.core.recording import Answered, Asked, Miss
from truegreen.proxy.call import Shared
from truegreen.proxy.canary import check_canary
from truegreen.proxy.listener import Listener
from truegreen.proxy.modes import Mode, Options, check_recordings
from truegreen.proxy.request import TOKEN
from truegreen.proxy.session import Session, Tally
from truegreen.proxy.upstream import Upstream, parse_upstream
from truegreen.proxy.visit import Visit

LAST_WORDS_S: Final = 30.0
"""Longest wait at the end for leave that is being handed back, seconds."""


class ModelProxy:
    """Serves one upstream in one mode; use as a context manager."""

    def __init__(
        self,
        mode: Mode,
        upstream: str | Upstream,
        *,
        recordings: RecordingPort | None = None,
        admission: AdmissionPort | None = None,
        options: Options | None = None,
    ) -> None:
        """``upstream`` is the endpoint's base URL, path prefix included; in ``replay`` it is only a name.

        ``recordings``: needed by ``record`` and ``replay``, refused in ``live``. ``admission``: limits and
        retries for ``record`` and ``live``; never asked in ``replay``.

        Raises: UsageProblem ``bad-upstream``, ``recordings-needed`` or ``recordings-not-used``.
        """
        check_recordings(mode, recordings)
        options = options or Options()
        self._mode = mode
        self._session = Session(mode, recordings)
        self._canary = secrets.token_hex(16).encode()
        self._keeper = ThreadPoolExecutor(1, thread_name_prefix="truegreen-keeper")
        self._lasting: set[asyncio.Task[Any]] = set()
        self._listener = Listener(self._serve, name="truegreen-proxy", host=options.host, port=options.port)
        self._origin = self._listener.loop.time()
        self._shared = Shared(
            mode=mode,
            name=secrets.token_hex(6),
            upstream=_upstream(upstream, mode),
            options=options,
            session=self._session,
            admission=admission,
            clock=self._now,
            spawn=self._spawn,
            keep=self._keep,
        )

    def start(self) -> Self:
        """Listen, and be asked by the canary whether the mode holds.

        Raises: ReachProblem ``proxy-failed`` if it cannot listen, ``canary-not-held``; UsageProblem
        ``proxy-started``.
        """
        if self._listener.was_started:
            raise UsageProblem("proxy-started", "the proxy was started before; make a new one")
        try:
            self._listener.start()
            check_canary(host=self._listener.host, port=self.port, mode=self._mode, mark=self._canary)
        except OSError as err:
            self._end()
            raise ReachProblem(
                "proxy-failed",
                f"cannot listen on {self._listener.host}:{self._listener.port}: {err.strerror}",
                hint="port 0 takes a free one",
            ) from err
        except ReachProblem:
            self._end()
            raise
        return self

    def close(self) -> None:
        """Stop listening, end what is in flight, finish what is being written; harmless if called again.

        Raises: ReachProblem ``proxy-failed`` if anything went wrong inside.
        """
        self._end()
        failure = self._listener.failure
        if failure is not None:
            raise ReachProblem(
                "proxy-failed",
                f"the proxy met {type(failure).__name__}: {str(failure)[:200]}",
                hint="run again; if it stays, report it",
            ) from failure

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def mode(self) -> Mode:
        """What it does."""
        return self._mode

    @property
    def host(self) -> str:
        """Host and port of the upstream."""
        return self._shared.upstream.authority

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._listener.port

    def base_url(self, token: str | None = None) -> str:
        """Base URL for a client: of one sample, or of none.

        Raises: UsageProblem ``bad-token`` unless 1 to 80 of ``A-Z a-z 0-9 . _ -``.
        """
        root = f"http://{self._listener.host}:{self.port}"
        if token is None:
            return root
        if not TOKEN.fullmatch(token):
            raise UsageProblem("bad-token", f"{token[:100]!r} is no sample token of 1 to 80 [A-Za-z0-9._-]")
        return f"{root}/s/{token}"

    def exchanges(self) -> tuple[Exchange, ...]:
        """Every attempt on the wire, and every replayed answer, that has ended, by id."""
        return self._session.exchanges()

    def missed(self) -> tuple[tuple[Asked, Miss], ...]:
        """Every request that no recording answered, with its miss, in order."""
        return self._session.missed()

    def tally(self) -> Tally:
        """What happened so far; complete after ``close``."""
        return self._session.tally()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Visit(
            client=(reader, writer),
            shared=self._shared,
            own_authority=f"{self._listener.host}:{self.port}",
            canary=self._canary,
        ).run()

    def _now(self) -> float:
        return self._listener.loop.time() - self._origin

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = self._listener.loop.create_task(work)
        self._lasting.add(task)
        task.add_done_callback(self._lasting.discard)
        return task

    def _keep(self, asked: Asked, answered: Answered) -> None:
        writing = self._keeper.submit(self._session.keep, asked, answered)
        writing.add_done_callback(self._notice)

    def _notice(self, writing: Any) -> None:
        err = writing.exception()
        if err is not None:
            self._listener.failure = self._listener.failure or err

    def _end(self) -> None:
        self._listener.stop(last=self._last_words)
        self._keeper.shutdown(wait=True)

    async def _last_words(self) -> None:
        if self._lasting:
            await asyncio.wait(set(self._lasting), timeout=LAST_WORDS_S)
        if self._shared.options.at_end is not None:
            await self._shared.options.at_end()


def _upstream(upstream: str | Upstream, mode: Mode) -> Upstream:
    if isinstance(upstream, Upstream):
        return upstream
    return parse_upstream(upstream, needs_tls=mode is not Mode.REPLAY)
