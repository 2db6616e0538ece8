# SPDX-License-Identifier: Apache-2.0
"""Limits from the words of a command line, or from a policy file that it names.

What it decides: what is taken from where. What it leaves: how a rate is written, to ``core.rates``; which numbers are
limits, to ``limiter``.

- A policy says all limits or none: beside it no limit stands on the command line.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted
from truegreen.core.rates import rate_of
from truegreen.limiter.from_policy import limits_of as limits_of_policy
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.wiring.limiter_leave import Where, limits_in

HINT: Final = "truegreen limiter serve --help"
DEFAULTS: Final = {
    "rate": None,
    "burst": 1,
    "capacity": None,
    "tokens_per_minute": None,
    "lease_s": 60.0,
    "wait_s": 90.0,
}
"""Options that are limits, and what stands where one is left out."""


def limits_of(policy: Path | None, given: dict[str, Any]) -> Limits:
    """Limits from a policy file, or from options (the names of ``DEFAULTS``, None where one is left out).

    Raises: UsageProblem ``bad-command-line``, ``bad-rate``, ``limit-out-of-range``, and as ``limits_in``.
    """
    said = {name: value for name, value in given.items() if value is not None}
    if policy is None:
        return _of_options({**DEFAULTS, **said})
    if said:
        raise UsageProblem(
            "bad-command-line",
            f"{', '.join(said)} and a policy are given, and the policy says all limits",
            hint=HINT,
        )
    return limits_of_policy(
        limits_in(Where(source=str(policy.absolute()), repository=policy.absolute().parent))
    )


def _of_options(given: dict[str, Any]) -> Limits:
    calls, per_ns = _rate(given["rate"]) if given["rate"] is not None else (None, SECOND)
    return checked(
        Limits(
            calls=calls,
            per_ns=per_ns,
            burst=given["burst"],
            in_flight=given["capacity"],
            tokens=given["tokens_per_minute"],
            lease_ns=_nanoseconds("a lease", given["lease_s"]),
            wait_ns=_nanoseconds("a wait", given["wait_s"]),
        )
    )


def _rate(text: str) -> tuple[int, int]:
    try:
        return rate_of(text)
    except ValueError as err:
        raise UsageProblem(
            "bad-rate",
            f"{quoted(text)} is no rate, calls per time are asked, such as 10/s, 12/min or 5000/h",
            hint=HINT,
        ) from err


def _nanoseconds(name: str, seconds: float) -> int:
    if not math.isfinite(seconds):
        raise UsageProblem(
            "limit-out-of-range", f"{name} of {seconds} s is no time, a number of seconds is asked", hint=HINT
        )
    return round(seconds * SECOND)
