# SPDX-License-Identifier: Apache-2.0
"""``limiter self-test``: three jobs collide at an endpoint that turns the first calls away, and four facts must hold.

What it decides: the scene and what is asserted of it. What it leaves: limits, rulings and calls, to the product's own
limiter, door and transport; the truth about the calls, to the fake endpoint.

The scene: two places in flight, three jobs, three attempts each, and an endpoint that answers its first five calls 429.
Two jobs take both places and are held at a gate; the third asks and may not wait for long. Then the gate opens.

- Calls in flight never exceed the capacity, by our count before the endpoint and by the endpoint's own.
- No job makes more than its attempts, and all together no more than those of the jobs that were admitted.
- Exactly one job ends for want of leave, without a call.
- Every call on the wire had leave of its own: repetitions enter the limiter again.

It is deterministic: the gate opens when the third job has its answer, not when a time has passed. Each fact fails when
its defence is switched off (``Defences``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

import httpx2
import msgspec

from truegreen.core.admission import Ask, Leave, Pressure
from truegreen.core.errors import ReachProblem
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.oracle import Counts
from truegreen.endpoint.scenario import Fault, Rule, Scenario
from truegreen.limiter.client import Limiter
from truegreen.limiter.door import Door, Rulings
from truegreen.limiter.limits import Limits
from truegreen.limiter.memory import Memory
from truegreen.limiter.retry import RetryLimits
from truegreen.limiter.transport import LimitedTransport
from truegreen.wiring.answer_reader import reader_of

CAPACITY: Final = 2
JOBS: Final = ("job-a", "job-b", "job-c")
ATTEMPTS: Final = 3
TURNED_AWAY: Final = 5
WAIT_S: Final = 0.2
"""How long the third job waits for leave; both places are held at the gate until it has its answer."""
PATIENCE_S: Final = 20.0
"""How long the gate waits for the third job; only without the limit on its wait does that time pass."""
LIMIT_S: Final = 30.0
"""Longest time of the whole scene; reaching it is a failure."""
SCENARIO: Final = Scenario(
    seed="collision",
    rules=(
        Rule(
            id="collision",
            answer="yes",
            faults=(
                Fault(
                    kind="status",
                    status=429,
                    first=TURNED_AWAY,
                    per="endpoint",
                    retry_in_s=0.05,
                    retry_as="milliseconds",
                ),
            ),
        ),
    ),
)


class Defences(msgspec.Struct, frozen=True, kw_only=True):
    """What the scene is played with; a test takes each away."""

    has_capacity: bool = True
    """Places in flight are limited."""
    has_attempts: bool = True
    """Attempts of a call are limited."""
    has_time_out: bool = True
    """A wait for leave is limited."""
    has_one_layer: bool = True
    """Nothing below the limiter repeats calls by itself."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must be so."""

    name: str
    """Kebab-case."""
    holds: bool
    """Whether it is."""
    detail: str
    """Both values, in words."""


def facts(defences: Defences | None = None) -> tuple[Fact, ...]:
    """Play the scene and look at it.

    Raises: ReachProblem ``self-test-stuck`` if it does not end; ``endpoint-failed`` as the fake endpoint.
    """
    scene = _Scene(defences or Defences())
    with FakeEndpoint(SCENARIO) as endpoint:
        scene.play(endpoint.url)
        return tuple(_facts(scene, endpoint.oracle()))


class _Scene:
    """Three jobs, one limiter, one gate."""

    def __init__(self, defences: Defences) -> None:
        places = CAPACITY if defences.has_capacity else len(JOBS)
        self._wait_s = WAIT_S if defences.has_time_out else LIMIT_S
        self.ledger = _Counted(Limiter(Memory(Limits(in_flight=places))))
        self.gate = _Gate(is_single=defences.has_one_layer)
        attempts = ATTEMPTS if defences.has_attempts else ATTEMPTS + TURNED_AWAY
        limits = RetryLimits(attempts=attempts, first_bound_s=0.05, jitter_s=0.05, total_s=LIMIT_S)
        self._door = Door(self.ledger, Rulings(limits=limits))
        self.ended: dict[str, str] = {}

    def play(self, url: str) -> None:
        """Run the jobs to their ends."""
        threads = [threading.Thread(target=self._job, args=(name, url), daemon=True) for name in JOBS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
        self.ledger.inner.close()
        self.gate.close()
        if any(thread.is_alive() for thread in threads):
            raise ReachProblem("self-test-stuck", f"the jobs did not end within {LIMIT_S:g} seconds")

    def _job(self, name: str, url: str) -> None:
        is_late = name == JOBS[-1]
        ask = Ask(holder=name, wait_s=self._wait_s if is_late else LIMIT_S)
        if is_late:
            self.gate.full.wait(LIMIT_S)
        transport = LimitedTransport(self._door, reader_of, inner=self.gate, ask=ask)
        body = {"model": "m", "messages": [{"role": "user", "content": name}]}
        try:
            request = httpx2.Request("POST", f"{url}/chat/completions", json=body)
            status = transport.handle_request(request).status_code
            self.ended[name] = str(status)
        except ReachProblem as problem:
            self.ended[name] = problem.code
        finally:
            if is_late:
                self.gate.opened.set()


class _Counted:
    """The limiter, and how often leave was given."""

    def __init__(self, inner: Limiter) -> None:
        self.inner = inner
        self.given = 0
        self._lock = threading.Lock()

    def enter(self, ask: Ask) -> Leave:
        leave = self.inner.enter(ask)
        with self._lock:
            self.given += 1
        return leave

    def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        self.inner.give_back(leave, used_tokens=used_tokens, pressure=pressure)


class _Gate(httpx2.BaseTransport):
    """Stands between limiter and endpoint: counts what is in flight, and holds the first calls."""

    def __init__(self, *, is_single: bool) -> None:
        self._inner = httpx2.HTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))
        self._is_single = is_single
        self._lock = threading.Lock()
        self._arrived = self._open = 0
        self.peak = 0
        self.full, self.opened = threading.Event(), threading.Event()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        with self._lock:
            self._arrived += 1
            self._open += 1
            self.peak = max(self.peak, self._open)
            if self._arrived == CAPACITY:
                self.full.set()
            if self._arrived == len(JOBS):
                self.opened.set()  # the third job came through
        self.opened.wait(PATIENCE_S)
        try:
            answer = self._answer(request)
        finally:
            with self._lock:
                self._open -= 1
        return answer

    def close(self) -> None:
        self._inner.close()

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, read whole, so that a call has ended when it is no longer counted."""
        for _ in range(1 if self._is_single else 2):
            answer = self._inner.handle_request(request)
            answer.read()
            answer.close()
            if answer.is_success:
                break
        headers = [
            (name, value) for name, value in answer.headers.multi_items() if name != "content-encoding"
        ]
        return httpx2.Response(answer.status_code, headers=headers, content=answer.content)


def _facts(scene: _Scene, oracle: Counts) -> Iterator[Fact]:
    peak = max(scene.gate.peak, oracle.in_flight_peak)
    yield Fact(
        name="in-flight-within-capacity",
        holds=peak <= CAPACITY,
        detail=f"{peak} calls in flight at most, capacity {CAPACITY}",
    )
    admitted = [name for name, end in scene.ended.items() if end != "leave-refused"]
    allowed, most = ATTEMPTS * len(admitted), oracle.attempts_most
    yield Fact(
        name="calls-within-attempts",
        holds=0 < oracle.calls <= allowed and most <= ATTEMPTS,
        detail=f"{oracle.calls} calls of {allowed}, {most} of one job, {ATTEMPTS} allowed",
    )
    refused = len(scene.ended) - len(admitted)
    yield Fact(
        name="one-job-without-leave",
        holds=refused == 1 and scene.ended.get(JOBS[-1]) == "leave-refused",
        detail=f"{refused} of {len(JOBS)} jobs ended for want of leave, 1 is due",
    )
    yield Fact(
        name="every-call-had-leave",
        holds=oracle.calls == scene.ledger.given,
        detail=f"{oracle.calls} calls, {scene.ledger.given} leaves",
    )
