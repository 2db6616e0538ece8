# SPDX-License-Identifier: Apache-2.0
"""How an endpoint says when to come again: each form of ``Retry-After`` that a client must read.

What it decides: the header's name and value. What it leaves: how long the wait is, to ``allowance`` and to the
scenario.

- Whole seconds are rounded up, so that who waits as told is never early.
- A date is of the wall clock, and the ``Date`` that it counts from stands beside it.

Sources: RFC 9110 sections 10.2.3 (Retry-After) and 5.6.7 (its three forms of a date); ``retry-after-ms`` as the
OpenAI and Anthropic SDKs read it.
"""

from __future__ import annotations

import time
from typing import Final

SECOND_NS: Final = 1_000_000_000
MILLISECOND_NS: Final = 1_000_000
FORMS: Final = ("seconds", "milliseconds", "imf-date", "rfc850-date", "asctime-date", "none")
"""How a wait may be told; ``none`` says nothing."""
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def wait_headers(form: str, wait_ns: int, *, now_s: int | None = None) -> list[str]:
    """Headers that tell a wait; ``now_s`` is the wall clock in seconds since 1970, read if it is not given."""
    if form == "none":
        return []
    if form == "seconds":
        return [f"Retry-After: {-(-wait_ns // SECOND_NS)}"]
    if form == "milliseconds":
        return [f"retry-after-ms: {-(-wait_ns // MILLISECOND_NS)}"]
    now_s = int(time.time()) if now_s is None else now_s
    until_s = now_s + 1 + -(-wait_ns // SECOND_NS)  # the second that now lies in has begun
    return [f"Date: {http_date('imf-date', now_s)}", f"Retry-After: {http_date(form, until_s)}"]


def http_date(form: str, at_s: int) -> str:
    """A time in one of the three forms; names are English whatever the locale."""
    at = time.gmtime(at_s)
    day, month = DAYS[at.tm_wday], MONTHS[at.tm_mon - 1]
    clock = f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}"
    if form == "rfc850-date":
        return f"{day}, {at.tm_mday:02}-{month}-{at.tm_year % 100:02} {clock} GMT"
    if form == "asctime-date":
        return f"{day[:3]} {month} {at.tm_mday:2} {clock} {at.tm_year:04}"
    return f"{day[:3]}, {at.tm_mday:02} {month} {at.tm_year:04} {clock} GMT"
