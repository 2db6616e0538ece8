# SPDX-License-Identifier: Apache-2.0
"""How long an endpoint told a caller to wait, in whole nanoseconds.

What it decides: which header values tell a time, and which. What it leaves: whether to wait it, to ``retry``.

- ``Retry-After`` in seconds is one or more ASCII digits (RFC 9110, 10.2.3) between optional spaces and tabs: no
  sign, point, exponent, other script or list.
- ``Retry-After`` as a date is one of the three forms of HTTP (RFC 9110, 5.6.7), always UTC; the first form also with
  a zone in numbers, as mail writes it, of which ``-0000`` is UTC. A two-digit year is the latest that lies no more
  than 50 years ahead. A day that does not exist, a fourth form and ISO 8601 are no dates. The weekday is not compared.
- ``retry-after-ms`` is digits with at most one point between them, in milliseconds.
- A date that has passed means 0. The clock is the answer's own ``Date`` where there is one, for a caller whose clock is
  fast would else come too soon.
- Of several values the largest stands, whatever the order; a value that tells no time counts as not there.
- Rounded up, to the nanosecond and again to a float: never sooner than told.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable
from typing import Final

NS_PER_S: Final = 1_000_000_000
MOST_DIGITS: Final = 18
"""Digits of a number that is computed with; a longer one is as good as endless."""
ENDLESS_NS: Final = 10**MOST_DIGITS * NS_PER_S
"""A wait beyond every limit."""

_WHITE: Final = " \t"
_SECONDS: Final = re.compile(r"[0-9]+")
_MILLISECONDS: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_DAY: Final = "(?:mon|tue|wed|thu|fri|sat|sun)"
_LONG_DAY: Final = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME: Final = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_ZONE: Final = r"(?:GMT|UTC?|(?P<sign>[+-])(?P<zone_hour>[0-9]{2})(?P<zone_minute>[0-9]{2}))"
_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        rf"{_DAY}, (?P<day>[0-9]{{1,2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} {_ZONE}",
        rf"{_LONG_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<short_year>[0-9]{{2}}) {_TIME} GMT",
        rf"{_DAY} {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})",
    )
)
_LEAP: Final = 60
_AHEAD_YEARS: Final = 50


def told_ns(
    retry_after: Iterable[str], retry_after_ms: Iterable[str], *, now: dt.datetime, date: str | None = None
) -> int | None:
    """The longest wait that the headers tell, in nanoseconds, or None if they tell none.

    ``now`` is the caller's clock, with its zone; ``date`` the answer's own ``Date``, which stands before it.
    """
    clock = (http_date(date, now=now) if date is not None else None) or now
    waits = [wait for value in retry_after if (wait := wait_ns(value, now=clock)) is not None]
    waits += [wait for value in retry_after_ms if (wait := milliseconds_ns(value)) is not None]
    return max(waits, default=None)


def wait_ns(value: str, *, now: dt.datetime) -> int | None:
    """The wait that one value of ``Retry-After`` tells, in nanoseconds, or None if it tells none."""
    text = value.strip(_WHITE)
    if _SECONDS.fullmatch(text):
        return _bounded(text) * NS_PER_S
    when = http_date(text, now=now)
    if when is None:
        return None
    return max(when - now, dt.timedelta()) // dt.timedelta(microseconds=1) * 1000


def milliseconds_ns(value: str) -> int | None:
    """The wait that one value of ``retry-after-ms`` tells, in nanoseconds, or None if it tells none."""
    found = _MILLISECONDS.fullmatch(value.strip(_WHITE))
    if found is None:
        return None
    whole, part = found[1], found[2] or ""
    beyond = 1 if part[6:].strip("0") else 0
    return _bounded(whole) * 1_000_000 + int(part[:6].ljust(6, "0")) + beyond


def http_date(value: str, *, now: dt.datetime) -> dt.datetime | None:
    """The point that a date of HTTP names, in UTC, or None if it names none; ``now`` places a two-digit year."""
    text = value.strip(_WHITE)
    for form in _FORMS:
        if found := form.fullmatch(text):
            try:
                return _point(found.groupdict(), now.astimezone(dt.UTC))
            except (ValueError, OverflowError):  # 30 February, hour 24, a zone that leads out of all years
                return None
    return None


def seconds_up(wait: int) -> float:
    """Nanoseconds as seconds, never less."""
    seconds = wait / NS_PER_S
    numerator, denominator = seconds.as_integer_ratio()
    return seconds if numerator * NS_PER_S >= wait * denominator else math.nextafter(seconds, math.inf)


def _bounded(digits: str) -> int:
    """The number, or one beyond every limit where it is too long to be computed with."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= MOST_DIGITS else 10**MOST_DIGITS


def _point(part: dict[str, str | None], now: dt.datetime) -> dt.datetime:
    def number(name: str) -> int:
        return int(part.get(name) or "0")

    second = number("second")
    if second > _LEAP:
        raise ValueError(second)
    month = _MONTHS.index(str(part["month"]).lower()) + 1
    day = (number("day"), number("hour"), number("minute"), min(second, _LEAP - 1))
    leap = dt.timedelta(seconds=1 if second == _LEAP else 0)
    if part.get("short_year") is not None:
        return _recent(number("short_year"), month, day, now) + leap
    zone = dt.timedelta(hours=number("zone_hour"), minutes=number("zone_minute"))
    if number("zone_minute") >= 60 or zone >= dt.timedelta(days=1):  # noqa: PLR2004 - minutes of an hour
        raise ValueError(zone)
    east = zone if part.get("sign") == "+" else -zone
    return dt.datetime(number("year"), month, *day, tzinfo=dt.UTC) - east + leap


def _recent(short: int, month: int, day: tuple[int, int, int, int], now: dt.datetime) -> dt.datetime:
    """The latest point of a year with these two digits that lies no more than 50 years ahead."""
    limit = (now.year + _AHEAD_YEARS, now.month, now.day, now.time())
    moment = dt.time(*day[1:])
    century = now.year // 100 * 100
    years = (century + 100 + short, century + short, century - 100 + short)
    year = next(one for one in years if (one, month, day[0], moment) <= limit)
    return dt.datetime(year, month, *day, tzinfo=dt.UTC)
