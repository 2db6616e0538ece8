# SPDX-License-Identifier: Apache-2.0
"""Rates as people write them, such as ``12/min``, and what a full bucket lets through in the worst window.

What it decides: how a text becomes whole numbers, and the most calls in a window. What it leaves: giving leave, to
``limiter``.

- A rate is a whole number of calls and a unit: nothing is rounded before it is counted.
- A full bucket refills while it is spent: a window of length W sees ``burst + ceil(W / spacing) - 1`` calls.
"""

from __future__ import annotations

import re
from typing import Final

SECOND: Final = 1_000_000_000
"""Nanoseconds."""
UNITS: Final = {"s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}
"""Nanoseconds of the units in which a rate is written."""
RATE: Final = r"[1-9][0-9]{0,6}/(?:s|min|h)"
"""What a rate looks like."""


def rate_of(text: str) -> tuple[int, int]:
    """Calls, and the period in nanoseconds in which they may be made. Raises: ValueError for another text."""
    if not re.fullmatch(RATE, text):
        raise ValueError(f"{text!r} is no rate, such as 12/min")
    calls, _, unit = text.partition("/")
    return int(calls), UNITS[unit]


def most_in_window(calls: int, per_ns: int, burst: int, window_ns: int) -> int:
    """The most calls that a window of this length sees: its start is in it, its end is not."""
    spacing_ns = -(-per_ns // calls)
    return burst + -(-window_ns // spacing_ns) - 1


def contract_problem(rate: str, burst: int, contract: str) -> str | None:
    """Why a bucket breaks a contract such as "at most 12 in any minute", or None if it keeps it.

    Both are texts such as ``12/min``.
    """
    allowed, window_ns = rate_of(contract)
    most = most_in_window(*rate_of(rate), burst, window_ns)
    if most <= allowed:
        return None
    largest = allowed - (most - burst)
    cure = f"a burst of {largest} keeps it" if largest >= 1 else "the rate alone is above it"
    return f"after a quiet time {most} calls fit into what is to hold {contract}; {cure}"
