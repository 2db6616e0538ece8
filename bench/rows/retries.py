# SPDX-License-Identifier: Apache-2.0
"""What 100 clients cost that all call at once an endpoint that takes 10 a second, ten at once.

In every row a client calls until it is answered. The endpoint is a bucket of its own arithmetic; a call that it turns
away takes nothing. Calls on the wire and the time of the last answer are counted on a virtual clock with a seeded chance, so
that each round is another seed and no round depends on the machine.

- **ours** is the product: its ledger gives leave, its retry table rules on each end, and a told wait pauses all.
- **SDK-like** waits as the generated SDKs do (half a second doubled up to eight, a quarter less by chance),
  **stamina-like** as that library's defaults say (a tenth doubled up to five, up to a second more by chance), **full
  jitter**, **decorrelated** and **no jitter** as their names are used in the field, **none** calls again at a fixed
  tenth of a second: all simulations written here, without their libraries' limits on the number of attempts.
- One row is no simulation: the installed OpenAI SDK with its own retries against the fake endpoint, beside the same SDK
  with our transport inside, at 40 a second, calls counted by the endpoint.
"""

import datetime as dt
import heapq
import itertools
import random
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx2
import openai
from measuring import NotMeasured, Row

from truegreen.core.admission import Again, Ended
from truegreen.core.exchange import End
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Allowance, Rule, Scenario
from truegreen.limiter import ledger
from truegreen.limiter.client import Limiter
from truegreen.limiter.door import Door
from truegreen.limiter.limits import SECOND, Limits
from truegreen.limiter.memory import Memory
from truegreen.limiter.retry import Call, after, pressure_of
from truegreen.limiter.state import Go, Later, Request
from truegreen.limiter.transport import LimitedTransport
from truegreen.wiring.answer_reader import reader_of

CLIENTS, PER_S, BURST = 100, 10, 10
IDEAL_S = (CLIENTS - BURST) / PER_S
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
Wait = Callable[[int, float, random.Random], float]
"""Seconds until the next call: by attempts so far, the wait before, and chance."""

SEEDS = itertools.count()
STRATEGIES: dict[str, Wait] = {
    "none, every 0.1 s (simulated)": lambda _n, _before, _chance: 0.1,
    "SDK-like (simulated)": lambda n, _before, chance: min(8.0, 0.5 * 2**n) * (1 - 0.25 * chance.random()),
    "stamina-like (simulated)": lambda n, _before, chance: min(5.0, 0.1 * 2**n + chance.random()),
    "full jitter (simulated)": lambda n, _before, chance: chance.uniform(0, min(20.0, 2.0**n)),
    "decorrelated (simulated)": lambda _n, before, chance: min(20.0, chance.uniform(0.5, 3 * before)),
    "1 s no jitter (simulated)": lambda _n, _before, _chance: 1.0,
}


def rows(folder: Path) -> tuple[Row, ...]:
    """Calls beside the ideal and beside each strategy, the time of the last answer, and the real SDK."""
    del folder
    calls = partial(Row, ours=lambda: ours(next(SEEDS))[0], rounds=5, unit="calls")
    name = f"calls of {CLIENTS} clients at {PER_S}/s"
    return (
        calls(name=name, peer_name="one call each", peer=lambda: float(CLIENTS), target=1.10),
        Row(
            name=f"last answer of {CLIENTS} clients at {PER_S}/s",
            peer_name="the endpoint's own rate",
            ours=lambda: ours(next(SEEDS))[1],
            peer=lambda: IDEAL_S,
            target=1.05,
            rounds=5,
            unit="virtual s",
        ),
        *(
            calls(name=name, peer_name=peer, peer=partial(_retried, wait), target=0.5)
            for peer, wait in STRATEGIES.items()
        ),
        Row(
            name="calls of 60 SDK clients at 40/s, on the wire",
            peer_name=f"openai {openai.__version__}, its own retries",
            ours=partial(_sdk_calls, is_limited=True),
            peer=partial(_sdk_calls, is_limited=False),
            target=0.5,
            rounds=3,
            unit="calls",
        ),
    )


class Endpoint:
    """A bucket in seconds; ``take`` is None, or the seconds until it would take a call."""

    def __init__(self) -> None:
        self._level, self._at = float(BURST), 0.0

    def take(self, at: float) -> float | None:
        """Ask at a time that never goes back."""
        self._level = min(float(BURST), self._level + (at - self._at) * PER_S)
        self._at = at
        if self._level < 1 - 1e-9:
            return (1 - self._level) / PER_S
        self._level -= 1
        return None


def ours(seed: int) -> tuple[float, float]:
    """Calls on the wire and the time of the last answer, with leave before each call."""
    chance, endpoint, calls, last = random.Random(seed), Endpoint(), 0, 0.0
    state = ledger.new_ledger(Limits(calls=PER_S, burst=BURST, wait_ns=3600 * SECOND), 0)
    earlier: dict[int, tuple[Ended, ...]] = dict.fromkeys(range(CLIENTS), ())
    names = itertools.count()
    waiting = [(0, client, f"{client}-{next(names)}", True) for client in range(CLIENTS)]
    heapq.heapify(waiting)
    while waiting:
        at_ns, client, name, is_new = heapq.heappop(waiting)
        step = ledger.ask(state, Request(id=name), at_ns) if is_new else ledger.look(state, name, at_ns)
        state = step.ledger
        if isinstance(step.answer, Later):
            heapq.heappush(waiting, (at_ns + step.answer.wait_ns, client, name, False))
            continue
        if not isinstance(step.answer, Go):
            raise NotMeasured(f"the ledger said {step.answer}")
        calls += 1
        wait_s = endpoint.take(at_ns / SECOND)
        state = ledger.hand_back(state, name, at_ns).ledger
        if wait_s is None:
            last = max(last, at_ns / SECOND)
            continue
        ended = Ended(status=429, end=End.COMPLETE, retry_after_ms=(f"{wait_s * 1000:.6f}",))
        ruling = after(ended, Call(earlier=earlier[client]), now=NOW, chance=chance.random())
        earlier[client] += (ended,)
        pause_ns = round(pressure_of(ended, now=NOW).pause_s * SECOND)
        state = ledger.pause(state, pause_ns, at_ns).ledger
        if not isinstance(ruling, Again):
            raise NotMeasured(f"a client gave up: {ruling.reason}")
        again = at_ns + round(ruling.wait_s * SECOND)
        heapq.heappush(waiting, (again, client, f"{client}-{next(names)}", True))
    return float(calls), last


def retried(wait: Wait, seed: int) -> tuple[float, float]:
    """Calls on the wire and the time of the last answer, without leave, by one strategy of waiting."""
    chance, endpoint, calls, last = random.Random(seed), Endpoint(), 0, 0.0
    waiting = [(0.0, client, 0, 0.5) for client in range(CLIENTS)]
    while waiting:
        at, client, attempts, before = heapq.heappop(waiting)
        calls += 1
        if endpoint.take(at) is None:
            last = at
        else:
            pause = wait(attempts, before, chance)
            heapq.heappush(waiting, (at + pause, client, attempts + 1, pause))
    return float(calls), last


def _retried(wait: Wait) -> float:
    return retried(wait, next(SEEDS))[0]


def _sdk_calls(*, is_limited: bool) -> float:
    """Calls that the endpoint counted until 60 clients of the real SDK were answered."""
    scenario = Scenario(
        seed="bench",
        rules=(Rule(id="all", answer="yes"),),
        allowance=Allowance(per_s=40, burst=10, retry_as="milliseconds"),
    )
    with FakeEndpoint(scenario) as endpoint:
        limiter = Limiter(Memory(Limits(calls=40, burst=8, wait_ns=60 * SECOND)))
        inner = httpx2.HTTPTransport(limits=httpx2.Limits(max_connections=60, max_keepalive_connections=60))
        transport = LimitedTransport(Door(limiter), reader_of, inner=inner) if is_limited else inner
        client = openai.OpenAI(
            base_url=endpoint.url,
            api_key="none",
            max_retries=0 if is_limited else 1000,
            http_client=httpx2.Client(transport=transport, timeout=60),
        )
        failed: list[str] = []

        def call(number: int) -> None:
            try:
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": str(number)}])
            except openai.APIError as err:
                failed.append(str(err))

        threads = [threading.Thread(target=call, args=(number,)) for number in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        limiter.close()
        if failed:
            raise NotMeasured(f"{len(failed)} of 60 clients were not answered: {failed[0][:100]}")
        return float(endpoint.oracle().calls)
