# SPDX-License-Identifier: Apache-2.0
"""Who waits at the service, and who is told what when: ledgers, their steps, and the tasks that wait for them.

What it decides: when a waiting task looks again, and what happens to an ask whose client went away. What it leaves: who
gets leave, to ``ledger``; requests and answers, to ``app``; where a state is kept, to the store.

- One step at a time, in one event loop: the order of arrival is the order of tickets, and whoever a step lets go is
  woken by that step.
- A lease that ends by itself wakes whoever waits: each ledger with a queue has one timer, at its next expiry.
- An ask whose client goes away is handed back. An ask that is sent again under its id finds itself, and does not ask
  twice; only when the last of its requests is gone is it handed back.
- Stopping refuses those who ask and those who wait; places in flight go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, Protocol, assert_never

import msgspec

from truegreen.core.admission import Pressure
from truegreen.core.errors import ReachProblem, TruegreenProblem
from truegreen.core.quoted import quoted
from truegreen.limiter import ledger as rules
from truegreen.limiter.backend import Key
from truegreen.limiter.http.wire import Release
from truegreen.limiter.limits import SECOND, Limits
from truegreen.limiter.state import Answer, Go, Gone, Later, Ledger, Queued, Refused, Request, Step

MOST_RESOURCES: Final = 64
"""Most ledgers of one tenant: a client cannot fill the memory with names."""
MILLISECOND: Final = SECOND // 1000


class Store(Protocol):
    """Where ledgers are kept, on one clock."""

    @property
    def limits(self) -> Limits:
        """What every ledger allows."""
        ...

    def step(self, key: Key, do: Callable[[Ledger, int], Step]) -> Step:
        """Take one step of one ledger under these limits, whole or not at all."""
        ...

    def now_ns(self) -> int:
        """The clock."""
        ...

    def keys(self) -> tuple[Key, ...]:
        """Every ledger that is kept."""
        ...


class Refusal(ReachProblem):
    """An ask that gets no leave, with the least wait that would have done."""

    def __init__(self, message: str, *, reason: str, wait_s: float | None) -> None:
        """Keep why."""
        super().__init__("leave-refused", message, hint="truegreen limiter status")
        self.reason = reason
        self.wait_s = wait_s


class _Waiter:
    """The requests that wait for one ask."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.requests = 0


class Desk:
    """All ledgers of one service."""

    def __init__(self, store: Store) -> None:
        """Ledgers that the store has from before are gone on with."""
        self._store = store
        self._waiters: dict[tuple[Key, str], _Waiter] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._out: dict[Key, int] = dict.fromkeys(store.keys(), 0)
        self._changed = asyncio.Event()
        self.is_stopping = False

    async def enter(self, key: Key, request: Request) -> Go:
        """Wait for leave.

        Raises: ReachProblem ``leave-refused``, ``limiter-stopping``, ``too-many-resources``.
        """
        self._refuse_when_stopping()
        self._refuse_new_names(key)
        mine = (key, request.id)
        waiter = self._waiters.setdefault(mine, _Waiter())
        waiter.requests += 1
        has_left = False
        limits = self._store.limits
        wait_ns = limits.wait_ns if request.wait_ns is None else request.wait_ns
        deadline_ns = self._store.now_ns() + wait_ns
        try:
            answer = self._step(key, lambda it, now: _asked_once(it, request, now))
            while not isinstance(answer, Go):
                left_ns = deadline_ns - self._store.now_ns()
                pause_s = min(_pause_ns(answer, limits), max(0, left_ns) + MILLISECOND) / SECOND
                try:
                    async with asyncio.timeout(pause_s):
                        await waiter.event.wait()
                except TimeoutError:
                    pass
                waiter.event.clear()
                self._refuse_when_stopping()
                answer = self._step(key, lambda it, now: rules.look(it, request.id, now))
            has_left = True
            return answer
        finally:
            waiter.requests -= 1
            if not waiter.requests:
                del self._waiters[mine]
                if not has_left:
                    self.take_back(key, request.id)

    def ask(self, key: Key, request: Request) -> Answer:
        """Ask, and hear at once how things stand.

        Raises: ReachProblem ``limiter-stopping``, ``too-many-resources``.
        """
        self._refuse_when_stopping()
        self._refuse_new_names(key)
        return self._step(key, lambda it, now: _asked_once(it, request, now))

    def look(self, key: Key, lease: str) -> Answer:
        """How an ask stands."""
        if key not in self._out:
            return Gone()
        return self._step(key, lambda it, now: rules.look(it, lease, now))

    def hand_back(self, key: Key, end: Release) -> None:
        """The call has ended, or will not be made; a lease that is not known changes nothing."""
        pressure = Pressure(pause_s=end.pause_s, is_overload=end.overload, is_answered=end.answered)
        if key not in self._out:
            return

        def change(ledger: Ledger, now_ns: int) -> Step:
            used = end.used_tokens
            step = rules.hand_back(ledger, end.lease, now_ns, used_tokens=used, is_unused=end.unused)
            return rules.pressed(step, pressure, now_ns)

        self._step(key, change)

    def take_back(self, key: Key, lease: str) -> None:
        """Nobody is there any more to make the call."""
        self.hand_back(key, Release(lease=lease, unused=True))

    def beat(self, key: Key, lease: str) -> Go:
        """A sign of life.

        Raises: ReachProblem ``lease-lost``.
        """
        answer: Answer = Gone()
        if key in self._out:
            answer = self._step(key, lambda it, now: rules.beat(it, lease, now))
        if not isinstance(answer, Go):
            raise lost(lease)
        return answer

    def hold_off(self, key: Key, for_s: float) -> None:
        """The endpoint said 429: nobody leaves for so long; 0 if it told no time."""
        self._refuse_new_names(key)
        pressure = Pressure(pause_s=for_s, is_overload=not for_s)
        self._step(key, lambda it, now: rules.pressed(Step(it, Gone()), pressure, now))

    def ledger(self, key: Key) -> Ledger:
        """A ledger as it stands; one that nobody used yet is made.

        Raises: ReachProblem ``too-many-resources``.
        """
        self._refuse_new_names(key)
        return self._stepped(key, _advanced).ledger

    def rows(self, tenant: str | None) -> Iterable[tuple[Key, Ledger, int]]:
        """Ledgers of a tenant, or of all, at this moment."""
        for key in sorted(self._out, key=lambda it: (it.tenant, it.resource)):
            if tenant is None or key.tenant == tenant:
                step = self._stepped(key, _advanced)
                yield key, step.ledger, self._store.now_ns()

    def stop(self) -> None:
        """Refuse new asks and waiting ones from now on."""
        self.is_stopping = True
        for waiter in self._waiters.values():
            waiter.event.set()

    async def drained(self) -> None:
        """Return once no place is taken."""
        for key in self._out:  # those that were kept from before count too
            self._timed(key)
        while any(self._out.values()):
            self._changed.clear()
            try:
                async with asyncio.timeout(0.2):  # leases end by themselves too
                    await self._changed.wait()
            except TimeoutError:
                for key in self._out:
                    self._timed(key)

    def _step(self, key: Key, do: Callable[[Ledger, int], Step]) -> Answer:
        return self._stepped(key, do).answer

    def _stepped(self, key: Key, do: Callable[[Ledger, int], Step]) -> Step:
        step = self._store.step(key, do)
        for place in step.woken:
            if waiter := self._waiters.get((key, place.id)):
                waiter.event.set()
        self._out[key] = len(step.ledger.places)
        self._changed.set()
        self._set_timer(key, step.ledger)
        return step

    def _set_timer(self, key: Key, ledger: Ledger) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()
        if ledger.queue and ledger.places:
            first = min(place.expires_ns for place in ledger.places)
            after_s = max(0.0, (first - self._store.now_ns()) / SECOND)
            loop = asyncio.get_running_loop()
            self._timers[key] = loop.call_later(after_s, self._timed, key)

    def _timed(self, key: Key) -> None:
        with suppress(TruegreenProblem):  # whoever asks next is told
            self._step(key, _advanced)

    def _refuse_when_stopping(self) -> None:
        if self.is_stopping:
            raise ReachProblem(
                "limiter-stopping",
                "the limiter is told to stop and gives no leave any more",
                hint="truegreen limiter status",
            )

    def _refuse_new_names(self, key: Key) -> None:
        if key not in self._out and sum(it.tenant == key.tenant for it in self._out) >= MOST_RESOURCES:
            raise ReachProblem(
                "too-many-resources",
                f"{key.tenant} has {MOST_RESOURCES} resources already, {quoted(key.resource)} would be one more",
                hint="truegreen limiter status",
            )


def refusal(answer: Refused) -> Refusal:
    """The problem of an ask that is refused."""
    wait_s = None if answer.wait_ns is None else answer.wait_ns / SECOND
    return Refusal(answer.message, reason=answer.reason, wait_s=wait_s)


def lost(lease: str) -> ReachProblem:
    """The problem of a lease that is not known any more."""
    return ReachProblem(
        "lease-lost",
        f"the lease {lease} has ended: it was handed back, its deadline could not be met, or no sign of life came in time",
        hint="truegreen limiter status",
    )


def _pause_ns(answer: Later | Queued | Refused | Gone, limits: Limits) -> int:
    """Until a waiting task looks again by itself.

    Raises: Refusal.
    """
    match answer:
        case Later():
            return answer.wait_ns
        case Queued():
            return limits.lease_ns // 3
        case Refused():
            raise refusal(answer)
        case Gone():
            raise Refusal("the ask waited as long as it may and got no leave", reason="deadline", wait_s=None)
        case _:
            assert_never(answer)


def _asked_once(ledger: Ledger, request: Request, now_ns: int) -> Step:
    """What is known is looked at, what is new is asked."""
    seen = rules.look(ledger, request.id, now_ns)
    if not isinstance(seen.answer, Gone):
        return seen
    asked = rules.ask(seen.ledger, request, now_ns)
    return msgspec.structs.replace(asked, woken=seen.woken + asked.woken)


def _advanced(ledger: Ledger, now_ns: int) -> Step:
    """Nothing but the passing of time."""
    later, woken = rules.advance(ledger, now_ns)
    return Step(later, Gone(), woken)
