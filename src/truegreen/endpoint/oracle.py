# SPDX-License-Identifier: Apache-2.0
"""What a fake endpoint knows of its calls: the truth that tests compare with.

What it decides: what is counted. What it leaves: who asks, to ``server`` (``GET /_oracle``) and ``fake``.

- Every call is counted; of the first ``MOST_CALLS`` each is kept.
- A sample number comes from the request; without one it is the next of the prompt, in order of arrival.
- In flight is a call from its last request byte to its last reply byte, whether it is taken or refused: what a
  client's own limit must hold down. ``taken_peak`` counts only calls that the endpoint's limits took.
- A call is a **retry** if it says so (``x-stainless-retry-count`` above 0), or if the same request (path, body
  and named sample) came before and got no answer: an error, half of one, or its client did not wait for it.
  A request that was answered and comes again is another sample, not a retry.
- Retries that say so are an SDK's; those that do not are of a layer above it. Where both are above 0, two layers
  repeat each other's attempts.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from http import HTTPStatus
from typing import Any, Final

import msgspec

MOST_CALLS: Final = 200_000


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model."""

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
    api: str = "chat"
    """Which API it asked: ``chat``, ``responses`` or ``messages``."""
    attempt: int = 1
    """Which attempt at its request it is, from 1."""
    told_retry: int | None = None
    """``x-stainless-retry-count``, if it came."""
    refused_by: str | None = None
    """The endpoint's own limit that refused it: ``rate`` or ``in-flight``."""

    @property
    def is_answer(self) -> bool:
        """Whether the reply, once sent, is an answer to the request."""
        return self.status == HTTPStatus.OK and self.fault is None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts at one moment."""

    calls: int
    """Calls of a model that were whole requests."""
    requests: int
    """How many different requests they made: calls without their retries and repeats."""
    retries: int
    """Calls that are a retry."""
    told_retries: int
    """Those of them that say so: an SDK's."""
    attempts_most: int
    """The most attempts at one request."""
    refused: dict[str, int]
    """Calls that the endpoint's own limits refused, by limit."""
    taken_peak: int
    """The most calls that it had taken at once."""
    other_requests: int
    """Requests to other paths, and requests that were none."""
    in_flight: int
    """Calls that are under way."""
    in_flight_peak: int
    """The most calls that were under way at once."""
    statuses: dict[str, int]
    """Calls by status sent; ``none`` for those without."""
    prompts: dict[str, int]
    """Calls by prompt digest."""
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


class Entered(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is under way."""

    number: int
    """In the order of arrival, from 1."""
    attempt: int
    """Which attempt at its request it is, from 1."""


class _Open(msgspec.Struct, kw_only=True):
    """What is known of a call under way."""

    request: str
    attempt: int
    is_taken: bool = False
    is_answer: bool = False


class Oracle:
    """Counts while the endpoint runs; may be read from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrivals: Counter[tuple[str, ...]] = Counter()
        self._numbers: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._prompts: Counter[str] = Counter()
        self._kept: list[Call] = []
        self._calls = self._others = self._peak = self._taken = self._taken_peak = 0
        self._open: dict[int, _Open] = {}
        self._numbers_of_calls = itertools.count(1)
        self._requests: set[str] = set()
        self._unanswered: dict[str, list[int]] = {}
        self._attempts: Counter[int] = Counter()
        self._retries = self._told = 0
        self._refused: Counter[str] = Counter()

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

    def enter(self, *, request: str, told_retry: int | None) -> Entered:
        """A call is under way; ``request`` is the digest of what makes two requests the same."""
        with self._lock:
            earlier = self._unanswered.get(request)
            attempt = 1 + (max(earlier) if earlier else 0)
            if earlier:
                earlier.remove(attempt - 1)
            if told_retry:
                attempt = max(attempt, 1 + told_retry)
            number = next(self._numbers_of_calls)
            self._open[number] = _Open(request=request, attempt=attempt)
            self._peak = max(self._peak, len(self._open))
            self._requests.add(request)
            self._attempts[attempt] += 1
            self._retries += attempt > 1
            self._told += bool(told_retry)
            return Entered(number=number, attempt=attempt)

    def take(self, number: int) -> None:
        """The endpoint's limits took the call."""
        with self._lock:
            self._open[number].is_taken = True
            self._taken += 1
            self._taken_peak = max(self._taken_peak, self._taken)

    def reply(self, number: int, call: Call) -> None:
        """A reply was chosen."""
        with self._lock:
            self._open[number].is_answer = call.is_answer
            self._calls += 1
            self._statuses["none" if call.status is None else str(call.status)] += 1
            self._prompts[call.prompt] += 1
            if call.refused_by is not None:
                self._refused[call.refused_by] += 1
            if len(self._kept) < MOST_CALLS:
                self._kept.append(call)

    def leave(self, number: int, *, is_sent: bool) -> bool:
        """It is no longer; ``is_sent`` says whether its client was there to the end. Whether it was taken."""
        with self._lock:
            ended = self._open.pop(number)
            self._taken -= ended.is_taken
            if not (is_sent and ended.is_answer):
                self._unanswered.setdefault(ended.request, []).append(ended.attempt)
            return ended.is_taken

    def other(self) -> None:
        """A request that is no call of a model."""
        with self._lock:
            self._others += 1

    def counts(self) -> Counts:
        """The counts now."""
        with self._lock:
            return Counts(
                calls=self._calls,
                requests=len(self._requests),
                retries=self._retries,
                told_retries=self._told,
                attempts_most=max(self._attempts, default=0),
                refused=dict(self._refused),
                taken_peak=self._taken_peak,
                other_requests=self._others,
                in_flight=len(self._open),
                in_flight_peak=self._peak,
                statuses=dict(self._statuses),
                prompts=dict(self._prompts),
                kept=tuple(self._kept),
            )


def shown(counts: Counts) -> dict[str, Any]:
    """The counts as ``GET /_oracle`` gives them."""
    document: dict[str, Any] = msgspec.to_builtins(counts)
    return {**document, "kept_all": len(counts.kept) == counts.calls}
