# SPDX-License-Identifier: Apache-2.0
"""What the shapes of part 4 need of the product: functions that wiring hands in, and what these give back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Taken(Protocol):
    """One request at a bucket."""

    @property
    def reason(self) -> str | None:
        """Kebab-case reason of a refusal; None if it may leave."""
        ...

    @property
    def wait_s(self) -> float | None:
        """Seconds until it may; 0 if it may now, None if no wait is long enough."""
        ...

    @property
    def level(self) -> float:
        """Units left after it."""
        ...


class Bucket(Protocol):
    """One ledger with a rate."""

    def level_after(self, seconds: float) -> float:
        """Units in it so many seconds after the level that was given."""
        ...

    def take(self, cost: int, seconds: float) -> Taken:
        """Ask for leave so many seconds after the level that was given, without waiting."""
        ...

    def greedy(self, seconds: int) -> int:
        """How many units leave within so many seconds, asked for as early as each may."""
        ...

    def problem(self, allowed: int, seconds: int) -> str | None:
        """Why these limits let more than ``allowed`` units into a window of so many seconds, or None."""
        ...


class Ruled(Protocol):
    """The ruling on a first attempt."""

    @property
    def again(self) -> bool:
        """Whether it may be repeated."""
        ...

    @property
    def reason(self) -> str:
        """Kebab-case reason."""
        ...

    @property
    def told_s(self) -> float | None:
        """The wait that its headers tell, in seconds; None if they tell none that counts."""
        ...


Buckets = Callable[[Any, Any, Any], Bucket]
"""A bucket of a capacity, a refill per second and a level. Raises: UsageProblem."""
Stack = Callable[[int, int, int, str], tuple[int, str | None]]
"""Calls on the wire of harness attempts around SDK retries at an endpoint's status, and why the client is refused."""
Rule = Callable[[int, Mapping[str, str], dt.datetime, float | None], Ruled]
"""Rules on a status with headers by a clock; the last is the longest wait, None for the product's own."""
Read = Callable[[int, str, bytes], tuple[str, Ruled, bool]]
"""The signal of an answer by status, content type and body, the ruling on it, and whether its end mark came."""
