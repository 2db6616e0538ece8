# SPDX-License-Identifier: Apache-2.0
"""The observer: a forwarder on loopback before the real endpoint that sees and changes nothing.

What it decides: what is kept of each exchange. What it leaves: what an exchange means, to ``core.wire``; which
sample gets which token, to the sampler.

- It runs in a thread of its own with an event loop of its own; every method may be called from any thread.
- It never retries, never answers for the upstream, never changes a body. See ``tunnel`` for the order of things.
- ``base_url(token)`` gives the address under which a sample's calls are its own. A request without token is
  kept with ``token = None``; if processes are watched, the one that held the connection is named.
- An error inside the observer is never lost: ``drain`` and ``close`` raise it.
- Clients must not send loopback through an HTTP proxy: set ``NO_PROXY=127.0.0.1`` where one is configured.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Collection
from typing import Self

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.exchange import Exchange
from truegreen.proxy.listener import LOOPBACK, Listener
from truegreen.proxy.passage import Passage
from truegreen.proxy.peers import owner_of, with_children
from truegreen.proxy.request import TOKEN, Head, RequestReader
from truegreen.proxy.tunnel import Limits, Settings, Tunnel
from truegreen.proxy.upstream import parse_upstream


class Observer:
    """Forwards to one upstream and keeps what passed; use as a context manager."""

    def __init__(
        self,
        upstream: str,
        *,
        tls: ssl.SSLContext | None = None,
        limits: Limits | None = None,
        forward_sample: bool = False,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        """``upstream`` is the endpoint's base URL, path prefix included.

        ``tls``: trust for an https upstream, by default the SDKs'. ``limits``: keep them above the clients' own.
        ``forward_sample``: add ``x-truegreen-sample`` with the token's number.
        ``on_exchange``: called in the observer's thread with each finished exchange; it must be quick.

        Raises: UsageProblem ``bad-upstream``.
        """
        self._upstream = parse_upstream(upstream, tls=tls)
        self._limits = limits or Limits()
        self._forward_sample = forward_sample
        self._on_exchange = on_exchange
        self._origin = 0.0
        self._state = threading.Condition()
        self._begun = 0
        self._open = 0
        self._finished: list[Exchange] = []
        self._of_token: dict[str | None, list[Exchange]] = {}
        self._passing: dict[int, Passage] = {}
        self._rejected: list[str] = []
        self._watched: frozenset[int] = frozenset()
        self._listener = Listener(self._serve, name="truegreen-observer")

    def start(self) -> Self:
        """Listen on a free port of loopback.

        Raises: ReachProblem ``observer-failed`` if no port can be had.
        """
        if self._listener.was_started:
            raise UsageProblem("observer-started", "the observer was started before; make a new one")
        self._origin = self._listener.loop.time()
        try:
            self._listener.start()
        except OSError as err:
            self._listener.failure = err
            self.close()
        return self

    def close(self) -> None:
        """Stop listening, end what is in flight, and give up the thread; harmless if called again.

        Raises: ReachProblem ``observer-failed`` if anything went wrong inside.
        """
        self._listener.stop()
        self._raise_failure()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._listener.port

    @property
    def host(self) -> str:
        """Host and port of the endpoint behind it."""
        return self._upstream.authority

    def base_url(self, token: str | None = None) -> str:
        """Base URL for a client: of one sample, or of none.

        Raises: UsageProblem ``bad-token`` unless 1 to 80 of ``A-Z a-z 0-9 . _ -``.
        """
        if token is None:
            return f"http://{LOOPBACK}:{self.port}"
        if not TOKEN.fullmatch(token):
            raise UsageProblem("bad-token", f"{token[:100]!r} is no sample token of 1 to 80 [A-Za-z0-9._-]")
        return f"http://{LOOPBACK}:{self.port}/s/{token}"

    def watch(self, pid: int) -> None:
        """Count a process, and the children that it has then, among those a request without token may come from."""
        with self._state:
            self._watched |= {pid}

    def unwatch(self, pid: int) -> None:
        """Forget a process."""
        with self._state:
            self._watched -= {pid}

    def exchanges(self) -> tuple[Exchange, ...]:
        """All finished exchanges by id."""
        with self._state:
            return tuple(sorted(self._finished, key=lambda exchange: exchange.id))

    def exchanges_of(self, token: str) -> tuple[Exchange, ...]:
        """Finished exchanges of one sample by id."""
        with self._state:
            return tuple(sorted(self._of_token.get(token, ()), key=lambda exchange: exchange.id))

    def settle(
        self, tokens: Collection[str], pids: Collection[int], *, limit_s: float
    ) -> tuple[Exchange, ...]:
        """Exchanges of these tokens, and those without token of these processes, once none of them passes.

        After ``limit_s`` seconds those that have ended. A request without token whose process is not known yet
        is waited for as well.
        """

        def is_asked(token: str | None, pid: int | None) -> bool:
            return token in tokens if token is not None else pid in pids

        def none_passes() -> bool:
            return not any(
                is_asked(one.head.token, one.peer_pid)
                or (bool(pids) and one.peer is not None and not one.peer.done())
                for one in self._passing.values()
            )

        with self._state:
            self._state.wait_for(none_passes, timeout=limit_s)
            found = [one for token in tokens for one in self._of_token.get(token, ())]
            found += [one for one in self._of_token.get(None, ()) if one.peer_pid in pids]
        return tuple(sorted(found, key=lambda exchange: exchange.id))

    @property
    def count(self) -> int:
        """How many requests arrived, finished or not."""
        with self._state:
            return self._begun

    @property
    def in_flight(self) -> int:
        """How many exchanges are not finished."""
        with self._state:
            return self._open

    def rejected(self) -> tuple[str, ...]:
        """Reasons of what arrived and was no request, in order."""
        with self._state:
            return tuple(self._rejected)

    def drain(self, *, limit_s: float = 5.0) -> int:
        """Wait until nothing is in flight, at most so long; how many exchanges still are.

        Raises: ReachProblem ``observer-failed`` if anything went wrong inside.
        """
        with self._state:
            self._state.wait_for(lambda: self._open == 0, timeout=limit_s)
            left = self._open
        self._raise_failure()
        return left

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        settings = Settings(
            upstream=self._upstream,
            own_authority=f"{LOOPBACK}:{self.port}",
            limits=self._limits,
            forward_sample=self._forward_sample,
            clock=self._now,
        )
        await Tunnel(
            client=(reader, writer),
            settings=settings,
            begin=self._begin,
            finish=self._finish,
            reject=self._reject,
        ).run()

    def _now(self) -> float:
        return self._listener.loop.time() - self._origin

    def _begin(self, head: Head, request: RequestReader, writer: asyncio.StreamWriter) -> Passage:
        with self._state:
            self._begun += 1
            self._open += 1
            number, watched = self._begun, self._watched
        passage = Passage(number=number, head=head, request=request, started=self._now())
        with self._state:
            self._passing[number] = passage
        if head.token is None and watched:
            client = writer.get_extra_info("peername")
            passage.peer = self._listener.loop.run_in_executor(
                None,
                lambda: owner_of(
                    client=client, server=(LOOPBACK, self.port), candidates=with_children(watched)
                ),
            )
            passage.peer.add_done_callback(lambda peer: self._know(passage, peer))
        return passage

    def _know(self, passage: Passage, peer: asyncio.Future[int | None]) -> None:
        """Name the process as soon as it is found: whoever waits for another one waits no longer."""
        if not peer.cancelled() and peer.exception() is None:
            passage.peer_pid = peer.result()
        with self._state:
            self._state.notify_all()

    def _finish(self, passage: Passage) -> None:
        exchange = passage.exchange(prefix=self._upstream.prefix, ended=self._now())
        with self._state:
            self._finished.append(exchange)
            self._of_token.setdefault(exchange.token, []).append(exchange)
            self._passing.pop(passage.number, None)
            self._open -= 1
            self._state.notify_all()
        if self._on_exchange is not None:
            self._on_exchange(exchange)

    def _reject(self, reason: str) -> None:
        with self._state:
            self._rejected.append(reason)

    def _raise_failure(self) -> None:
        failure = self._listener.failure
        if failure is not None:
            raise ReachProblem(
                "observer-failed",
                f"the observer met {type(failure).__name__}: {str(failure)[:200]}",
                hint="run again; if it stays, report it",
            ) from failure
