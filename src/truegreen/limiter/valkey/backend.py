# SPDX-License-Identifier: Apache-2.0
"""A ledger that lives in a Redis or Valkey server: leave for threads and for tasks.

What it decides: when a waiter looks again. What it leaves: the rules, to the script; failures and connections, to
``server``; signs of life, to ``keeping``.

- Every ask has an id of its own, made here: a step that is told twice is taken once.
- Whoever waits for a slot sleeps until it; whoever waits for a place waits on a list of its own, which the step that
  frees a place writes to. It looks again when a lease ends, when its deadline comes, and every few seconds: that is
  its sign of life.
- Whoever is interrupted while it waits hands back what it asked for.
- Nothing here reads a clock that is compared with another host's.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Final
from urllib.parse import quote

import msgspec

from truegreen.core.admission import Ask, Leave, Pressure
from truegreen.core.errors import ReachProblem, TruegreenProblem
from truegreen.limiter.keeping import AsyncKeeper, Keeper
from truegreen.limiter.limits import MOST_TOKENS, SECOND, Limits
from truegreen.limiter.state import Go, Gone, Later, Queued, Refused, Request
from truegreen.limiter.valkey.answers import Seen, ask_arguments, limit_numbers, seen
from truegreen.limiter.valkey.server import LONGEST_BLOCK_S, Argument, AsyncServer, Server

PREFIX: Final = "truegreen:limiter:v1:"
LimitsOf = Callable[[Ask], Limits]


class Step(msgspec.Struct, frozen=True):
    """Run the script."""

    arguments: tuple[Argument, ...]


class Sleep(msgspec.Struct, frozen=True):
    """Wait for a moment that is known."""

    seconds: float


class Listen(msgspec.Struct, frozen=True):
    """Wait on the list, at most so long."""

    seconds: float


class _Held(msgspec.Struct, frozen=True):
    """What is kept with a lease."""

    key: str
    numbers: tuple[int, ...]
    holder: str
    born_us: int


def key_of(ask: Ask) -> str:
    """The name of a ledger in the server; tenant and resource cannot run into one another."""
    return f"{PREFIX}{{{quote(ask.tenant, safe='')}/{quote(ask.resource, safe='')}}}"


class _Talk:
    """One ask, from the first step to leave: what to do next, whoever does it."""

    def __init__(self, ask: Ask, limits: Limits) -> None:
        self.ask, self.limits = ask, limits
        self.id = secrets.token_urlsafe(18)
        self.key = key_of(ask)
        self.wake = f"{self.key}:wake:{self.id}"
        self.numbers = limit_numbers(limits)
        self.request = Request(
            id=self.id,
            holder=ask.holder,
            wake=self.wake,
            cost=ask.cost,
            prompt_tokens=ask.prompt_tokens,
            output_tokens=ask.output_tokens,
            wait_ns=None if ask.wait_s is None else round(ask.wait_s * SECOND),
        )

    def steps(self) -> Generator[Step | Sleep | Listen, Seen | None, Seen]:
        """What to do next; the answer to each ``Step`` is sent in. Raises: ReachProblem ``leave-refused``."""
        wait_ns = self.limits.wait_ns if self.request.wait_ns is None else self.request.wait_ns
        deadline_s = time.monotonic() + wait_ns / SECOND
        told = ask_arguments(self.request)
        if isinstance(told, Refused):
            raise refusal(told)
        step = Step(("ask", *self.numbers, *told))
        while True:
            found = yield step
            answer = found.answer if found else Gone()
            left_s = max(0.0, deadline_s - time.monotonic()) + 0.001
            match answer:
                case Go():
                    return found or Seen(answer=answer)
                case Later():
                    yield Sleep(min(answer.wait_ns / SECOND, left_s))
                case Queued():
                    recheck_s = found.recheck_ns / SECOND if found and not answer.ahead else left_s
                    yield Listen(min(recheck_s, left_s, self.limits.lease_ns / 3 / SECOND, LONGEST_BLOCK_S))
                case _:
                    raise refusal(answer)
            step = Step(("look", *self.numbers, self.id))

    def leave(self, found: Seen) -> Leave:
        """What is given to the one who asked."""
        go = found.answer
        ticket, waited_ns = (go.ticket, go.waited_ns) if isinstance(go, Go) else (0, 0)
        return Leave(ticket=ticket, lease=self.id, ask=self.ask, waited_s=waited_ns / SECOND)

    def held(self, found: Seen) -> _Held:
        """What its signs of life need."""
        return _Held(self.key, self.numbers, self.ask.holder, found.born_us)

    def unasked(self) -> tuple[Argument, ...]:
        """Hand back what was asked and will not be used."""
        return ("hand_back", *self.numbers, self.id, -1, 1)


def refusal(answer: Refused | Gone) -> ReachProblem:
    """The problem of an ask that gets no leave."""
    message = (
        answer.message if isinstance(answer, Refused) else "the ask waited as long as it may and got no leave"
    )
    return ReachProblem("leave-refused", message, hint="truegreen limiter status")


def _ends(
    held: _Held, leave: Leave, used: int | None, pressure: Pressure
) -> tuple[tuple[Argument, ...], ...]:
    """The steps that the end of a call means."""
    told = -1 if used is None else max(0, min(used, MOST_TOKENS))
    back: tuple[Argument, ...] = ("hand_back", *held.numbers, leave.lease, told, 0)
    if pressure.pause_s > 0 or pressure.is_overload:
        return back, ("pause", *held.numbers, round(pressure.pause_s * SECOND))
    return (back,)


class RedisLedger:
    """Leave for threads: a ``LedgerPort``."""

    def __init__(self, url: str, limits: LimitsOf) -> None:
        """``limits`` says what each ask's ledger allows. Raises: UsageProblem ``bad-redis-address``."""
        self._server = Server(url)
        self._limits = limits
        self._keeper: Keeper[_Held] = Keeper(self._beat)

    def enter(self, ask: Ask) -> Leave:
        """Wait for leave. Raises: ReachProblem ``leave-refused``, and as ``Server.run``."""
        talk = _Talk(ask, self._limits(ask))
        try:
            found = self._led(talk)
        except BaseException:
            with suppress(TruegreenProblem):
                self._server.run(talk.key, *talk.unasked())
            raise
        leave = talk.leave(found)
        self._keeper.keep(leave.lease, talk.held(found), talk.limits.lease_ns / SECOND)
        return leave

    def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """The call has ended. Raises: as ``Server.run``."""
        held = self._keeper.drop(leave.lease)
        if held is not None:
            for step in _ends(held, leave, used_tokens, pressure):
                self._server.run(held.key, *step)

    def close(self) -> None:
        """Close the connections."""
        self._keeper.close()
        self._server.close()

    def _led(self, talk: _Talk) -> Seen:
        steps, found = talk.steps(), None
        while True:
            try:
                action = steps.send(found)
            except StopIteration as end:
                done: Seen = end.value
                return done
            found = None
            match action:
                case Step():
                    found = seen(self._server.run(talk.key, *action.arguments))
                case Sleep():
                    time.sleep(action.seconds)
                case Listen():
                    self._server.wait(talk.wake, action.seconds)

    def _beat(self, lease: str, held: _Held) -> None:
        self._server.run(held.key, "beat", *held.numbers, lease, held.holder, held.born_us)


class AsyncRedisLedger:
    """Leave for tasks of one event loop: an ``AsyncLedgerPort``."""

    def __init__(self, url: str, limits: LimitsOf) -> None:
        """As ``RedisLedger``."""
        self._server = AsyncServer(url)
        self._limits = limits
        self._keeper: AsyncKeeper[_Held] = AsyncKeeper(self._beat)

    async def enter(self, ask: Ask) -> Leave:
        """As ``RedisLedger.enter``; a task that is cancelled hands back what it asked for."""
        talk = _Talk(ask, self._limits(ask))
        try:
            found = await self._led(talk)
        except BaseException:
            with suppress(TruegreenProblem, asyncio.CancelledError):
                await asyncio.shield(self._server.run(talk.key, *talk.unasked()))
            raise
        leave = talk.leave(found)
        self._keeper.keep(leave.lease, talk.held(found), talk.limits.lease_ns / SECOND)
        return leave

    async def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """As ``RedisLedger.give_back``."""
        held = self._keeper.drop(leave.lease)
        if held is not None:
            for step in _ends(held, leave, used_tokens, pressure):
                await self._server.run(held.key, *step)

    async def close(self) -> None:
        """Close the connections."""
        await self._keeper.close()
        await self._server.close()

    async def _led(self, talk: _Talk) -> Seen:
        steps, found = talk.steps(), None
        while True:
            try:
                action = steps.send(found)
            except StopIteration as end:
                done: Seen = end.value
                return done
            found = None
            match action:
                case Step():
                    found = seen(await self._server.run(talk.key, *action.arguments))
                case Sleep():
                    await asyncio.sleep(action.seconds)
                case Listen():
                    await self._server.wait(talk.wake, action.seconds)

    async def _beat(self, lease: str, held: _Held) -> None:
        await self._server.run(held.key, "beat", *held.numbers, lease, held.holder, held.born_us)
