# SPDX-License-Identifier: Apache-2.0
"""What happened at one proxy or transport from its start to its end.

What it decides: what is counted, and whether the run is red. What it leaves: printing it and the exit code, to
the doors.

- A miss stays here whatever the program under test makes of the answer: a run with one is red.
- So are a recording that could not be kept, an answer of a recording that could not be sent, in a replay what arrived
  and was no request that a recording could answer, and nothing else.
- A proxy may serve for weeks: of exchanges the last are kept, of misses and troubles the first; misses are counted.
- Every method may be called from any thread.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Final

import msgspec

from truegreen.core.errors import TruegreenProblem
from truegreen.core.exchange import Exchange
from truegreen.core.ports import RecordingPort
from truegreen.core.recording import Answered, Asked, Miss
from truegreen.proxy.modes import Mode

MOST_KEPT: Final = 10_000
"""Exchanges, misses and troubles, of each how many are kept."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Something that makes a run red although the client got an answer."""

    code: str
    """Kebab-case code."""
    message: str
    """One sentence."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a session."""

    mode: str
    """``live``, ``record`` or ``replay``."""
    requests: int
    """Requests that were served, canaries left out."""
    hits: int
    """Requests that a recording answered."""
    missed: int
    """Requests that no recording answered."""
    misses: tuple[Miss, ...]
    """The first of their misses, in order."""
    kept: int
    """Answers that were written."""
    not_kept: tuple[tuple[str, int], ...]
    """Why answers were not written, and how many."""
    troubles: tuple[Trouble, ...]
    """The first of what else makes the run red."""
    upstream_calls: int
    """Attempts that were sent upstream."""
    retries: int
    """Attempts after the first of a request."""
    refused_leave: int
    """Requests that got no leave."""
    waited_s: float
    """Seconds spent waiting for leave, over all requests."""
    layers: tuple[tuple[str, int], ...]
    """Other retry layers that requests showed, and in how many."""
    rejected: int
    """What arrived and was no request that can be served."""

    @property
    def is_red(self) -> bool:
        """Whether the run fails, whatever the program under test returned."""
        return bool(self.missed or self.misses or self.has_failed)

    @property
    def has_failed(self) -> bool:
        """Whether it is red for something else than a miss: only this proxy knows of it."""
        return bool(self.troubles or (self.mode == Mode.REPLAY.value and self.rejected))


class Session:
    """Counts of one session, and the way to its recordings."""

    def __init__(self, mode: Mode, recordings: RecordingPort | None) -> None:
        self._mode = mode
        self._recordings = recordings
        self._lock = threading.Lock()
        self._count: Counter[str] = Counter()
        self._not_kept: Counter[str] = Counter()
        self._layers: Counter[str] = Counter()
        self._missed: list[tuple[Asked, Miss]] = []
        self._troubles: list[Trouble] = []
        self._exchanges: deque[Exchange] = deque(maxlen=MOST_KEPT)
        self._waited_s = 0.0

    def play(self, asked: Asked, *, is_canary: bool = False) -> Answered | Miss:
        """The recorded answer, or the miss, counted. Raises: as ``RecordingPort.play``."""
        if self._recordings is None:
            raise AssertionError("replay without recordings is refused at the start")
        played = self._recordings.play(asked)
        if not is_canary:
            with self._lock:
                if isinstance(played, Miss):
                    self._count["missed"] += 1
                    if len(self._missed) < MOST_KEPT:
                        self._missed.append((asked, played))
                else:
                    self._count["hits"] += 1
        return played

    def keep(self, asked: Asked, answered: Answered) -> None:
        """Write a recording; what prevents it makes the run red and changes no answer."""
        if self._recordings is None:
            raise AssertionError("recording without recordings is refused at the start")
        try:
            self._recordings.keep(asked, answered)
        except TruegreenProblem as problem:
            self.trouble(problem)
        else:
            self.add("kept")

    def layer(self, name: str) -> None:
        """A request showed another retry layer."""
        with self._lock:
            self._layers[name] += 1

    def leave_out(self, reason: str) -> None:
        """An answer is not written for this kebab-case reason."""
        with self._lock:
            self._not_kept[reason] += 1

    def trouble(self, problem: TruegreenProblem) -> None:
        """Something makes the run red."""
        with self._lock:
            if len(self._troubles) < MOST_KEPT:
                self._troubles.append(Trouble(code=problem.code, message=problem.message))

    def add(self, what: str) -> int:
        """Count one more of a kind, and how many there are."""
        with self._lock:
            self._count[what] += 1
            return self._count[what]

    def wait(self, seconds: float) -> None:
        """A request waited so long for leave."""
        with self._lock:
            self._waited_s += seconds

    def exchange(self, exchange: Exchange) -> None:
        """One exchange has ended."""
        with self._lock:
            self._exchanges.append(exchange)

    def exchanges(self) -> tuple[Exchange, ...]:
        """The last exchanges that have ended, by id."""
        with self._lock:
            return tuple(sorted(self._exchanges, key=lambda one: one.id))

    def missed(self) -> tuple[tuple[Asked, Miss], ...]:
        """The first requests that no recording answered, each with its miss, in order."""
        with self._lock:
            return tuple(self._missed)

    def tally(self) -> Tally:
        """The counts now."""
        with self._lock:
            return Tally(
                mode=self._mode.value,
                requests=self._count["requests"],
                hits=self._count["hits"],
                missed=self._count["missed"],
                misses=tuple(miss for _, miss in self._missed),
                kept=self._count["kept"],
                not_kept=tuple(sorted(self._not_kept.items())),
                troubles=tuple(self._troubles),
                upstream_calls=self._count["upstream_calls"],
                retries=self._count["retries"],
                refused_leave=self._count["refused_leave"],
                waited_s=self._waited_s,
                layers=tuple(sorted(self._layers.items())),
                rejected=self._count["rejected"],
            )
