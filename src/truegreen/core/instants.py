# SPDX-License-Identifier: Apache-2.0
"""Points in time as texts of one form: UTC, RFC 3339, whole seconds, ``2026-11-29T17:00:00Z``.

What it decides: which texts name a real point in time. What it leaves: what the time is, to the clock port.

- One width and one zone, so that texts in this form sort as the points that they name.
- A leap second (``:60``) is refused: it names no point that the standard library can compute with.
"""

from __future__ import annotations

import datetime as dt
import re

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

_TEXT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z")


def instant(text: str) -> dt.datetime:
    """The point that a text of this form names, with UTC as its zone.

    Raises: EvidenceProblem ``bad-time`` for another form and for a day or time that does not exist.
    """
    if found := _TEXT.fullmatch(text):
        year, month, day, hour, minute, second = map(int, found.groups())
        try:
            return dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC)
        except ValueError:  # 30 February, hour 24
            pass
    raise EvidenceProblem("bad-time", f"the time is {quoted(text)}, asked UTC RFC 3339 in whole seconds")


def is_instant(text: str) -> bool:
    """Whether a text is UTC RFC 3339 in whole seconds and names a day and time that exist."""
    try:
        instant(text)
    except EvidenceProblem:
        return False
    return True


def instant_text(point: dt.datetime) -> str:
    """The text of a point that has a zone; fractions of a second are cut off.

    Raises: EvidenceProblem ``bad-time`` for a point that lies outside the years 1 to 9999 in UTC.
    """
    try:
        return point.astimezone(dt.UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"
    except OverflowError as err:
        raise EvidenceProblem("bad-time", f"the time {point.isoformat()} has no year in UTC") from err
