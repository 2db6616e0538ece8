# SPDX-License-Identifier: Apache-2.0
"""Limits from the words of a command line.

What it decides: how a rate is written. What it leaves: which numbers are limits, to ``limiter.limits``.

- A rate is a whole number of calls and a unit: ``10/s``, ``12/min``, ``5000/h``.
"""

from __future__ import annotations

import math
import re
from typing import Final

from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted
from truegreen.limiter.limits import SECOND, Limits, checked

RATE: Final = re.compile(r"([1-9][0-9]{0,6})/(s|min|h)")
UNIT_NS: Final = {"s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}


def limits_of(  # noqa: PLR0913 - a parameter for each limit
    *,
    rate: str | None,
    burst: int,
    capacity: int | None,
    tokens_per_minute: int | None,
    lease_s: float,
    wait_s: float,
) -> Limits:
    """Limits from options, None for no such limit.

    Raises: UsageProblem ``bad-rate``, ``limit-out-of-range``.
    """
    calls, per_ns = rate_of(rate) if rate else (None, SECOND)
    return checked(
        Limits(
            calls=calls,
            per_ns=per_ns,
            burst=burst,
            in_flight=capacity,
            tokens=tokens_per_minute,
            lease_ns=_nanoseconds("a lease", lease_s),
            wait_ns=_nanoseconds("a wait", wait_s),
        )
    )


def _nanoseconds(name: str, seconds: float) -> int:
    if not math.isfinite(seconds):
        raise UsageProblem(
            "limit-out-of-range",
            f"{name} of {seconds} s is no time, a number of seconds is asked",
            hint="truegreen limiter serve --help",
        )
    return round(seconds * SECOND)


def rate_of(text: str) -> tuple[int, int]:
    """Calls, and the nanoseconds in which they are allowed.

    Raises: UsageProblem ``bad-rate``.
    """
    found = RATE.fullmatch(text)
    if found is None:
        raise UsageProblem(
            "bad-rate",
            f"{quoted(text)} is no rate, calls per time are asked, such as 10/s, 12/min or 5000/h",
            hint="truegreen limiter serve --help",
        )
    return int(found[1]), UNIT_NS[found[2]]
