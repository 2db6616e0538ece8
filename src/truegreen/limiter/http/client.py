# SPDX-License-Identifier: Apache-2.0
"""Leave from the service: the ledger as a client sees it, for threads and for tasks.

What it decides: what is sent, how long an answer is awaited, and which problem an answer is. What it leaves: leave, to
the service; signs of life, to ``keeping``; dividing a limit while nobody answers, to ``divided``.

- The id of an ask is made here and is random: asking again after a lost connection asks once, and what was granted
  into the void is handed back by name.
- A service that restarts is awaited for ``patience_s``; then the error is ``limiter-unreachable`` and nothing is
  called.
- Whoever is interrupted while it waits hands back what it asked for. A closed connection says so by itself; the word is
  for the case that leave was already on its way.
- Redirects are not followed and proxies of the environment are not used: the token goes to the address that was given.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import msgspec

from truegreen.core.admission import Ask, Leave, Pressure
from truegreen.core.errors import ReachProblem, TruegreenProblem, UsageProblem
from truegreen.core.quoted import quoted
from truegreen.limiter.http import wire
from truegreen.limiter.keeping import AsyncKeeper, Keeper

CONNECT_S: Final = 2.0
ANSWER_S: Final = 10.0
"""Seconds that an answer may take beyond what was to be waited."""
RETRY_S: Final = 0.2
"""Pause between two tries to reach a service that is not there."""
HINT: Final = "truegreen limiter status"


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where the service is and how it is asked."""

    url: str
    """Such as ``http://127.0.0.1:8471``."""
    token: str = ""
    """Bearer token; empty for a service on loopback that asks for none."""
    wait_s: float = 90.0
    """Longest wait of an ask that names none."""
    patience_s: float = 5.0
    """How long a service that is not there is tried again."""

    def __repr__(self) -> str:
        return f"Address({self.url})"


def _options(address: Address) -> dict[str, Any]:
    """Raises: UsageProblem ``bad-limiter-address``."""
    parts = urlsplit(address.url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
        raise UsageProblem(
            "bad-limiter-address",
            f"{quoted(address.url.partition('@')[2] or address.url)} is no address of a limiter, http://HOST:PORT is asked",
            hint="truegreen policy show",
        )
    headers = {"user-agent": "truegreen-limiter"}
    if address.token:
        headers["authorization"] = f"Bearer {address.token}"
    return {
        "base_url": address.url,
        "headers": headers,
        "trust_env": False,
        "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=100),
    }


class _Post(msgspec.Struct, frozen=True, kw_only=True):
    """One request."""

    path: str
    body: msgspec.Struct
    answer_s: float = ANSWER_S

    @property
    def request(self) -> dict[str, Any]:
        """As the client's library takes it."""
        return {
            "url": self.path,
            "content": msgspec.json.encode(self.body),
            "timeout": httpx2.Timeout(self.answer_s, connect=CONNECT_S),
        }


class _Held(msgspec.Struct, frozen=True):
    """What is kept with a lease."""

    resource: str


def _asking(ask: Ask, address: Address) -> tuple[_Post, _Post]:
    """The request for leave, and the one that takes it back."""
    wait_s = address.wait_s if ask.wait_s is None else ask.wait_s
    lease = secrets.token_urlsafe(18)
    body = wire.Acquire(
        id=lease,
        resource=ask.resource,
        holder=ask.holder[:200],
        cost=ask.cost,
        prompt_tokens=ask.prompt_tokens,
        output_tokens=ask.output_tokens,
        wait_s=wait_s,
    )
    back = wire.Release(lease=lease, resource=ask.resource, unused=True)
    return (
        _Post(path=wire.ACQUIRE, body=body, answer_s=wait_s + ANSWER_S),
        _Post(path=wire.RELEASE, body=back, answer_s=CONNECT_S),
    )


def _ending(held: _Held, leave: Leave, used_tokens: int | None, pressure: Pressure) -> _Post:
    body = wire.Release(
        lease=leave.lease,
        resource=held.resource,
        used_tokens=used_tokens,
        pause_s=min(max(0.0, pressure.pause_s), float(wire.DAY_S)),
        overload=pressure.is_overload,
        answered=pressure.is_answered,
    )
    return _Post(path=wire.RELEASE, body=body)


def _beating(lease: str, held: _Held) -> _Post:
    return _Post(path=wire.HEARTBEAT, body=wire.Heartbeat(lease=lease, resource=held.resource))


def _leave(ask: Ask, answer: bytes) -> tuple[Leave, float]:
    """Leave and the length of its lease in seconds."""
    granted = _decoded(answer, wire.Granted)
    leave = Leave(ticket=granted.ticket, lease=granted.lease, ask=ask, waited_s=granted.waited_s)
    return leave, granted.lease_s


class HttpLedger:
    """Leave for threads: a ``LedgerPort``."""

    def __init__(self, address: Address) -> None:
        """Nothing is connected yet. Raises: UsageProblem ``bad-limiter-address``."""
        self._address = address
        self._client = httpx2.Client(**_options(address))
        self._keeper: Keeper[_Held] = Keeper(self._beat)

    def enter(self, ask: Ask) -> Leave:
        """Wait for leave.

        Raises: ReachProblem ``leave-refused``, ``limiter-unreachable``, ``limiter-stopping``, ``token-refused``,
        ``too-many-resources``, ``limiter-answered-otherwise``.
        """
        asking, back = _asking(ask, self._address)
        try:
            leave, lease_s = _leave(ask, self._sent(asking))
        except BaseException as err:
            if not isinstance(err, TruegreenProblem):
                with suppress(TruegreenProblem):
                    self._once(back)
            raise
        self._keeper.keep(leave.lease, _Held(ask.resource), lease_s)
        return leave

    def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """The call has ended. Raises: as ``enter``, but ``leave-refused``."""
        held = self._keeper.drop(leave.lease)
        if held is not None:
            self._sent(_ending(held, leave, used_tokens, pressure))

    def close(self) -> None:
        """Close the connections."""
        self._keeper.close()
        self._client.close()

    def _beat(self, lease: str, held: _Held) -> None:
        self._once(_beating(lease, held))

    def _sent(self, post: _Post) -> bytes:
        until_s = time.monotonic() + self._address.patience_s
        while True:
            try:
                return self._once(post)
            except ReachProblem as problem:
                if not _may_return(problem) or time.monotonic() >= until_s:
                    raise
            time.sleep(RETRY_S)

    def _once(self, post: _Post) -> bytes:
        try:
            response = self._client.post(**post.request)
        except httpx2.HTTPError as err:
            raise _unreachable(self._address, err) from err
        return _answer(response.status_code, response.content)


class AsyncHttpLedger:
    """Leave for tasks of one event loop: an ``AsyncLedgerPort``."""

    def __init__(self, address: Address) -> None:
        """As ``HttpLedger``."""
        self._address = address
        self._client = httpx2.AsyncClient(**_options(address))
        self._keeper: AsyncKeeper[_Held] = AsyncKeeper(self._beat)

    async def enter(self, ask: Ask) -> Leave:
        """As ``HttpLedger.enter``; a task that is cancelled hands back what it asked for."""
        asking, back = _asking(ask, self._address)
        try:
            leave, lease_s = _leave(ask, await self._sent(asking))
        except BaseException as err:
            if not isinstance(err, TruegreenProblem):
                with suppress(TruegreenProblem, asyncio.CancelledError):
                    await asyncio.shield(self._once(back))
            raise
        self._keeper.keep(leave.lease, _Held(ask.resource), lease_s)
        return leave

    async def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """As ``HttpLedger.give_back``."""
        held = self._keeper.drop(leave.lease)
        if held is not None:
            await self._sent(_ending(held, leave, used_tokens, pressure))

    async def close(self) -> None:
        """Close the connections."""
        await self._keeper.close()
        await self._client.aclose()

    async def _beat(self, lease: str, held: _Held) -> None:
        await self._once(_beating(lease, held))

    async def _sent(self, post: _Post) -> bytes:
        until_s = time.monotonic() + self._address.patience_s
        while True:
            try:
                return await self._once(post)
            except ReachProblem as problem:
                if not _may_return(problem) or time.monotonic() >= until_s:
                    raise
            await asyncio.sleep(RETRY_S)

    async def _once(self, post: _Post) -> bytes:
        try:
            response = await self._client.post(**post.request)
        except httpx2.HTTPError as err:
            raise _unreachable(self._address, err) from err
        return _answer(response.status_code, response.content)


def _may_return(problem: ReachProblem) -> bool:
    return problem.code in {"limiter-unreachable", "limiter-stopping"}


def _unreachable(address: Address, err: httpx2.HTTPError) -> ReachProblem:
    return ReachProblem(
        "limiter-unreachable",
        f"the limiter at {address.url} cannot be reached ({quoted(str(err) or type(err).__name__)}), no leave is given",
        hint=HINT,
    )


def _answer(status: int, body: bytes) -> bytes:
    """The body of a good answer.

    Raises: ReachProblem, with the service's own sentence.
    """
    if status == 200:  # noqa: PLR2004 - HTTP's OK
        return body
    try:
        told = msgspec.json.decode(body, type=wire.Trouble)
    except (msgspec.DecodeError, msgspec.ValidationError) as err:
        shown = quoted(body[:200])
        raise _otherwise(f"status {status} with {shown}, its errors are JSON with a code") from err
    match told.code:
        case "leave-refused":
            raise ReachProblem("leave-refused", told.message, hint=told.hint)
        case "limiter-stopping":
            raise ReachProblem("limiter-stopping", told.message, hint=told.hint)
        case "token-refused":
            raise ReachProblem("token-refused", told.message, hint=told.hint)
        case "too-many-resources":
            raise ReachProblem("too-many-resources", told.message, hint=told.hint)
        case "lease-lost":
            raise ReachProblem("lease-lost", told.message, hint=told.hint)
        case _:
            raise _otherwise(f"{told.code}: {told.message}")


def _otherwise(found: str) -> ReachProblem:
    return ReachProblem(
        "limiter-answered-otherwise", f"the limiter answered {found}; leave was asked", hint=HINT
    )


def _decoded(body: bytes, kind: type[wire.Granted]) -> wire.Granted:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as err:
        raise _otherwise(f"{quoted(body[:200])}, a lease is asked") from err
