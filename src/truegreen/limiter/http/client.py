# SPDX-License-Identifier: Apache-2.0
"""Leave from the service by long polls, for threads and for tasks: one request from asking to leave.

What it decides: what happens to an ask that is interrupted. What it leaves: leave, to the service; signs of life, to
``held``; everything but asking, to the clients that these are.

- The service says when it is a caller's turn: nobody looks again and again.
- Whoever is interrupted while it waits hands back what it asked for. A closed connection says so by itself; the word is
  for the case that leave was already on its way.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

import httpx2
from msgspec.structs import replace

from truegreen.core.admission import Ask, Leave
from truegreen.core.errors import ReachProblem, TruegreenProblem
from truegreen.limiter import asking
from truegreen.limiter.async_client import AsyncLimiter
from truegreen.limiter.backend import Key
from truegreen.limiter.bounds import out_of_bounds
from truegreen.limiter.client import Limiter
from truegreen.limiter.http import talk
from truegreen.limiter.http.backend import RETRY_S, Http
from truegreen.limiter.limits import SECOND
from truegreen.limiter.state import Answer, Go, Request


class HttpLimiter(Limiter):
    """As ``Limiter``."""

    def __init__(self, address: talk.Address, *, holder: str = "") -> None:
        """Nothing is connected yet. Raises: UsageProblem ``bad-limiter-address``."""
        self._http = Http(address)
        super().__init__(self._http, holder=holder)

    def enter(self, ask: Ask) -> Leave:
        """Wait for leave.

        Raises: ReachProblem ``leave-refused``, ``limiter-unreachable``, and as ``talk.body_of``.
        """
        ask = asking.renamed(ask, self._holder)
        key, request, wait_s = asking.key_of(ask), *_request(ask, self._ids.next(), self._http)
        try:
            answer = out_of_bounds(request) or self._http.asked(key, request, hold_s=wait_s)
        except BaseException:
            with contextlib.suppress(TruegreenProblem):
                self._http.taken_back(key, request.id)
            raise
        go = _left(self._http, ask, answer)
        self._leases.keep(key, request.id, go.lease_ns / SECOND)
        return asking.leave_of(ask, request.id, go)


class AsyncHttpLimiter(AsyncLimiter):
    """As ``AsyncLimiter``; its asks wait in the event loop and take no thread."""

    def __init__(self, address: talk.Address, *, holder: str = "") -> None:
        """As ``HttpLimiter``."""
        self._http = Http(address)
        self._waiting = httpx2.AsyncClient(**talk.options(address))
        super().__init__(self._http, holder=holder)

    async def enter(self, ask: Ask) -> Leave:
        """As ``HttpLimiter.enter``; a task that is cancelled hands back what it asked for."""
        ask = asking.renamed(ask, self._holder)
        key, request, wait_s = asking.key_of(ask), *_request(ask, self._ids.next(), self._http)
        try:
            answer = out_of_bounds(request) or await self._answer(
                talk.asking(key, request, hold_s=wait_s), self._http.patience_s(request)
            )
        except BaseException:
            await self._taken_back(key, request.id)
            raise
        go = _left(self._http, ask, answer)
        self._leases.keep(key, request.id, go.lease_ns / SECOND)
        return asking.leave_of(ask, request.id, go)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._waiting.aclose()
        self.close()

    async def _taken_back(self, key: Key, name: str) -> None:
        with contextlib.suppress(TruegreenProblem):
            await self._made(lambda: self._http.taken_back(key, name))

    async def _answer(self, post: talk.Post, patience_s: float) -> Answer:
        until_s = time.monotonic() + patience_s
        while True:
            try:
                return await self._once(post)
            except ReachProblem as problem:
                if problem.code not in {"limiter-unreachable", "limiter-stopping"}:
                    raise
                if time.monotonic() >= until_s:
                    raise
            await asyncio.sleep(RETRY_S)

    async def _once(self, post: talk.Post) -> Answer:
        try:
            response = await self._waiting.post(**post.request)
        except httpx2.HTTPError as err:
            raise talk.unreachable(self._http.address, err) from err
        return talk.standing(response.status_code, response.content)


def _request(ask: Ask, name: str, http: Http) -> tuple[Request, float]:
    """The ask as it is sent, and how long its answer may wait."""
    request = asking.request_of(ask, name, "")
    if request.wait_ns is None:
        request = replace(request, wait_ns=round(http.address.wait_s * SECOND))
    return request, max(0, request.wait_ns or 0) / SECOND


def _left(http: Http, ask: Ask, answer: Answer) -> Go:
    """Leave, or its refusal in words. Raises: ReachProblem ``leave-refused``."""
    if isinstance(answer, Go):
        return answer
    asking.pause_s(http, ask, answer)
    raise ReachProblem(
        "limiter-answered-otherwise", f"{http.name} told a wait where leave was asked", hint=talk.HINT
    )
