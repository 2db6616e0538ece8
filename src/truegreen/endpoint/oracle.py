# SPDX-License-Identifier: Apache-2.0
"""What a fake endpoint knows of its calls: the truth that tests compare with.

What it decides: what is counted. What it leaves: who asks, to ``server`` (``GET /_oracle``) and ``fake``.

- Every call is counted; of the first ``MOST_CALLS`` each is kept.
- A sample number comes from the request; without one it is the next of the prompt, in order of arrival.
- In flight is a call from its last request byte to its last reply byte.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, Final

import msgspec

MOST_CALLS: Final = 200_000


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One chat call."""

    rule: str
    """Id of the rule that answered."""
    prompt: str
    """Digest of its prompt."""
    sample: str
    """Its sample number."""
    arrival: int
    """How many calls of this sample had arrived before it."""
    status: int | None
    """Status that was sent."""
    outcome: str | None
    """What the sample was drawn to get; none where a status fault came instead of an answer."""
    fault: str | None
    """Kind of the fault that hit it."""
    is_stored: bool
    """Whether the response cache answered."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts at one moment."""

    calls: int
    """Chat calls that were whole requests."""
    other_requests: int
    """Requests to other paths, and requests that were none."""
    in_flight: int
    """Calls that are under way."""
    in_flight_peak: int
    """The most calls that were under way at once."""
    statuses: dict[str, int]
    """Chat calls by status sent; ``none`` for those without."""
    prompts: dict[str, int]
    """Chat calls by prompt digest."""
    kept: tuple[Call, ...]
    """Calls in the order in which their replies were chosen."""

    @property
    def too_many_requests(self) -> int:
        """How many calls got 429."""
        return self.statuses.get("429", 0)

    def outcomes(self, prompt: str | None = None) -> dict[str, str | None]:
        """Sample number to outcome, of one prompt or of all if there is only one."""
        prompts = {call.prompt for call in self.kept}
        wanted = prompt or (next(iter(prompts)) if len(prompts) == 1 else None)
        return {call.sample: call.outcome for call in self.kept if call.prompt == wanted}


class Oracle:
    """Counts while the endpoint runs; may be read from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrivals: Counter[tuple[str, ...]] = Counter()
        self._numbers: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._prompts: Counter[str] = Counter()
        self._kept: list[Call] = []
        self._calls = self._others = self._open = self._peak = 0

    def number(self, digest: str) -> str:
        """The next sample number of a prompt whose call has none."""
        with self._lock:
            self._numbers[digest] += 1
            return str(self._numbers[digest])

    def arrive(self, *, digest: str, sample: str) -> dict[str, int]:
        """How many calls of the sample, the prompt and the endpoint came before this one; and count it."""
        keys = {"sample": (digest, sample), "prompt": (digest,), "endpoint": ()}
        with self._lock:
            before = {name: self._arrivals[key] for name, key in keys.items()}
            self._arrivals.update(keys.values())
            return before

    def reply(self, call: Call) -> None:
        """A reply was chosen."""
        with self._lock:
            self._calls += 1
            self._statuses["none" if call.status is None else str(call.status)] += 1
            self._prompts[call.prompt] += 1
            if len(self._kept) < MOST_CALLS:
                self._kept.append(call)

    def other(self) -> None:
        """A request that is no chat call."""
        with self._lock:
            self._others += 1

    def enter(self) -> None:
        """A call is under way."""
        with self._lock:
            self._open += 1
            self._peak = max(self._peak, self._open)

    def leave(self) -> None:
        """It is no longer."""
        with self._lock:
            self._open -= 1

    def counts(self) -> Counts:
        """The counts now."""
        with self._lock:
            return Counts(
                calls=self._calls,
                other_requests=self._others,
                in_flight=self._open,
                in_flight_peak=self._peak,
                statuses=dict(self._statuses),
                prompts=dict(self._prompts),
                kept=tuple(self._kept),
            )


def shown(counts: Counts) -> dict[str, Any]:
    """The counts as ``GET /_oracle`` gives them."""
    document: dict[str, Any] = msgspec.to_builtins(counts)
    return {**document, "kept_all": len(counts.kept) == counts.calls}
