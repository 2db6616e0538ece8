# SPDX-License-Identifier: Apache-2.0
"""The measuring loop: starts the samples that the schedule names, hears how they ended, keeps every one.

What it decides: when a redraw may start, when a process that holds the tests is given up, and when a cap is
reached. What it leaves: which case and number come next, to ``schedule``; running, to the engine; the bucket, to
``buckets``.

- A number is given before its sample starts and is in the result whatever happens: one that never ended is
  ``invalid``, ``missing``.
- A started sample is awaited; nothing is cancelled because a rule was decided. Caps stop starts and await what
  runs; an interrupt leaves what runs missing.
- A redraw waits for the pause that the endpoint asked for, and so does every other start after a 429.
- A process that holds the tests and dies ends its samples by crash; another one is started for the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from truegreen.core.errors import ReachProblem
from truegreen.core.exchange import Exchange
from truegreen.core.ports import WirePort
from truegreen.core.wire import TOO_MANY_REQUESTS
from truegreen.sampling.buckets import sample_of
from truegreen.sampling.engines.messages import Ended, Found, FromHost, Running, Start
from truegreen.sampling.ledger import Sample
from truegreen.sampling.schedule import Scheduler
from truegreen.sampling.schedule import Start as Turn

MISSING = "missing"
FIRST_PAUSE_S = 0.5
"""Pause before a first redraw when the endpoint names none; doubled for each further one."""
LONGEST_PAUSE_S = 30.0
"""Longest pause that is kept, whatever the endpoint asks for."""
GRACE_S = 10.0
"""Seconds beyond a sample's time limit after which the process that should have ended it is given up."""
SETTLE_S = 5.0
"""Seconds that the exchanges of an ended sample get to end."""
FRUITLESS_ENGINES = 3
"""Processes in a row that die before any sample ends, after which the run is given up."""


class EnginePort(Protocol):
    """The process that holds the tests."""

    def start(self, start: Start) -> None:
        """Start one sample."""
        ...

    def hear(self, limit_s: float | None) -> FromHost | None:
        """What it says within the limit, or None."""
        ...

    def kill(self) -> None:
        """End it and all its samples."""
        ...


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How samples are taken."""

    timeout_s: float
    """Time limit of one sample; 0 for none."""
    truncated: str
    """``invalid`` or ``fail``."""
    max_calls: int | None = None
    """Most calls to the endpoint."""
    max_seconds: float | None = None
    """How long samples may be started."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop is handed."""

    open_engine: Callable[[], EnginePort]
    """Starts another process that holds the same suite and is ready for samples."""
    wire: WirePort
    """What sees the endpoint's traffic."""
    environment: Callable[[int, int, str], dict[str, str]]
    """Case index, number and token to the sample's environment."""
    hide: Callable[[str], str]
    """Takes secrets out of a text."""
    clock_s: Callable[[], float]
    """Monotonic seconds."""
    told: Callable[[str, Sample], None]
    """Hears of each ended sample."""


class _Running(msgspec.Struct, kw_only=True):
    """One sample on its way."""

    turn: Turn
    index: int
    due_s: float
    """When it may start."""
    began_s: float | None = None
    """When it was handed to the engine."""
    pid: int | None = None

    @property
    def token(self) -> str:
        """Its name on the wire; what follows the hyphen is its number."""
        draw = "" if self.turn.draw == 1 else f".{self.turn.draw}"
        return f"{self.index}{draw}-{self.turn.n}"


class Measuring:
    """One run of the loop."""

    def __init__(
        self,
        cases: Sequence[Found],
        schedule: Scheduler,
        settings: Settings,
        world: World,
        engine: EnginePort | None = None,
    ) -> None:
        """Nothing started yet; ``engine`` is the process that collected the cases, if it can serve them."""
        self._index = {case.id: index for index, case in enumerate(cases)}
        self._schedule = schedule
        self._settings = settings
        self._world = world
        self._engine = engine
        self._running: dict[tuple[str, int], _Running] = {}
        self._tokens_of_pid: dict[int, set[str]] = {}
        self._asked = Counter[str]()
        self._pause_until = 0.0
        self._fruitless = 0
        self.read: set[str] = set()
        """Files from the root that samples opened."""
        self.claimed: set[int] = set()
        """Numbers of the exchanges that belong to a sample."""
        self.missing: list[Turn] = []
        """What was started and never ended."""
        self.ended = "measured"
        """One of ``ledger.ENDED``, as far as the loop knows: cases left undecided by losses show in their states."""

    def run(self) -> None:
        """Take samples until the schedule wants no more, a cap is reached or somebody interrupts.

        Raises: ReachProblem ``engine-ended`` if processes die again and again before any sample ends.
        """
        began = self._world.clock_s()
        try:
            while not self._schedule.is_done:
                self._keep_caps(self._world.clock_s() - began)
                self._start_due()
                self._listen()
        except KeyboardInterrupt:
            self.ended = "interrupted"
        finally:
            if self._engine is not None and self._running:
                self._engine.kill()
            self.missing = list(self._schedule.unended())

    def _keep_caps(self, passed_s: float) -> None:
        limits = self._settings
        room = self._room()
        if room is not None and room <= 0 and not self._running:
            self._stop("cap-calls")
        elif limits.max_seconds is not None and passed_s >= limits.max_seconds:
            self._stop("cap-minutes")

    def _room(self) -> int | None:
        """How many more samples the cap on calls leaves, if each of those that run makes one; None without a cap."""
        most = self._settings.max_calls
        return None if most is None else most - self._world.wire.count() - len(self._running)

    def _stop(self, ended: str) -> None:
        if self._schedule.is_undecided and self.ended == "measured":
            self.ended = ended
        self._schedule.stop()

    def _start_due(self) -> None:
        """Take what the schedule gives and hand on what is due, as far as the calls reach."""
        now = self._world.clock_s()
        for turn in self._schedule.starts(self._room()):
            pause = 0.0 if turn.draw == 1 else min(FIRST_PAUSE_S * 2.0 ** (turn.draw - 2), LONGEST_PAUSE_S)
            self._running[turn.case, turn.n] = _Running(
                turn=turn, index=self._index[turn.case], due_s=max(now + pause, self._pause_until)
            )
        for one in [one for one in self._running.values() if one.began_s is None and one.due_s <= now]:
            self._hand_over(one)

    def _hand_over(self, one: _Running) -> None:
        try:
            if self._engine is None:
                self._engine = self._world.open_engine()
            one.began_s = self._world.clock_s()
            self._engine.start(
                Start(
                    index=one.index,
                    n=one.turn.n,
                    draw=one.turn.draw,
                    env=self._world.environment(one.index, one.turn.n, one.token),
                    timeout_s=self._settings.timeout_s,
                )
            )
        except ReachProblem as err:
            self._lose_engine(err)

    def _listen(self) -> None:
        try:
            if self._engine is None:
                self._engine = self._world.open_engine()
            message = self._engine.hear(self._patience())
        except ReachProblem as err:
            self._lose_engine(err)
            return
        match message:
            case Running():
                self._take_up(message)
            case Ended():
                self._fruitless = 0
                self._end(message)
            case _:
                self._give_up_overdue()

    def _patience(self) -> float | None:
        """Seconds until something is due whatever the engine says."""
        now = self._world.clock_s()
        dues = [one.due_s for one in self._running.values() if one.began_s is None]
        if self._settings.timeout_s:
            dues += [end for one in self._running.values() if (end := self._overdue_s(one)) is not None]
        return max(0.0, min(dues) - now) if dues else 1.0

    def _overdue_s(self, one: _Running) -> float | None:
        if one.began_s is None or not self._settings.timeout_s:
            return None
        return one.began_s + self._settings.timeout_s + GRACE_S

    def _take_up(self, message: Running) -> None:
        one = self._one(message)
        if one is not None and one.pid is None:
            one.pid = message.pid
            self._world.wire.watch(message.pid)
            self._tokens_of_pid.setdefault(message.pid, set()).add(one.token)

    def _one(self, message: Running | Ended) -> _Running | None:
        """The sample that the engine speaks of; None for one that is over."""
        for one in self._running.values():
            if (one.index, one.turn.n, one.turn.draw) == (message.index, message.n, message.draw):
                return one
        return None

    def _end(self, message: Ended) -> None:
        one = self._one(message)
        if one is None:
            return
        del self._running[one.turn.case, one.turn.n]
        self.read |= set(message.read)
        exchanges = self._exchanges_of(one)
        self._asked[one.turn.case] += len(exchanges)
        sample = sample_of(
            message,
            exchanges,
            truncated=self._settings.truncated,
            asks_elsewhere=self._asked[one.turn.case] > len(exchanges),
            hide=self._world.hide,
        )
        self._pause_after(exchanges)
        self._schedule.ended(one.turn.case, sample)
        self._world.told(one.turn.case, sample)

    def _exchanges_of(self, one: _Running) -> tuple[Exchange, ...]:
        """What the wire saw of one sample: by its token, and by the process that runs it alone.

        A client that outlives a sample keeps the first one's address; within one process samples follow one
        another, so what no earlier sample claimed is this one's.
        """
        tokens, pids = {one.token}, set[int]()
        if one.pid is not None and self._is_alone(one):
            tokens |= self._tokens_of_pid[one.pid]
            pids = {one.pid}
        seen = self._world.wire.settle(tokens, pids, SETTLE_S)
        ours = tuple(exchange for exchange in seen if exchange.id not in self.claimed)
        self.claimed |= {exchange.id for exchange in ours}
        return ours

    def _is_alone(self, one: _Running) -> bool:
        return not any(other.pid == one.pid for other in self._running.values())

    def _pause_after(self, exchanges: Sequence[Exchange]) -> None:
        """After a 429 nothing starts before the time that the endpoint named."""
        limited = [e for e in exchanges if e.status == TOO_MANY_REQUESTS]
        named = [pause for e in limited if (pause := pause_s(e.retry_after)) is not None]
        if named:
            self._pause_until = max(self._pause_until, self._world.clock_s() + max(named))

    def _give_up_overdue(self) -> None:
        """The engine had to end a sample and did not: end the engine."""
        now = self._world.clock_s()
        if any((end := self._overdue_s(one)) is not None and end <= now for one in self._running.values()):
            self._lose_engine(None)

    def _lose_engine(self, err: ReachProblem | None) -> None:
        """The process is gone, with every sample that it ran."""
        self._fruitless += 1
        if self._engine is not None:
            self._engine.kill()
        self._engine = None
        now = self._world.clock_s()
        for one in [one for one in self._running.values() if one.began_s is not None]:
            limit = self._settings.timeout_s
            is_overdue = bool(limit) and (one.began_s or now) + limit <= now
            self._end(
                Ended(
                    index=one.index,
                    n=one.turn.n,
                    draw=one.turn.draw,
                    status="time-limit" if is_overdue else "crashed",
                    reason="time-limit" if is_overdue else "engine-ended",
                    detail=f"no end within {limit:g} s"
                    if is_overdue
                    else "the test process ended before the test did",
                    duration_ms=round((now - (one.began_s or now)) * 1000),
                )
            )
        if err is not None and self._fruitless >= FRUITLESS_ENGINES:
            raise err


def pause_s(retry_after: str | None) -> float | None:
    """Seconds that an answer asks to wait, at most ``LONGEST_PAUSE_S``; None if it names none that we read."""
    if retry_after is None:
        return None
    digits, unit = (retry_after[:-2], 0.001) if retry_after.endswith("ms") else (retry_after, 1.0)
    digits = digits.strip()
    if not digits.replace(".", "", 1).isascii() or not digits.replace(".", "", 1).isdigit():
        return None
    return min(float(digits) * unit, LONGEST_PAUSE_S)
