# SPDX-License-Identifier: Apache-2.0
"""How long an endpoint told a caller to wait: the grammar, the dates, never sooner than told."""

import calendar
import datetime as dt
import email.utils
import string
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.limiter.retry_after import (
    ENDLESS_NS,
    NS_PER_S,
    http_date,
    milliseconds_ns,
    seconds_up,
    told_ns,
    wait_ns,
)

NOW = dt.datetime(2026, 8, 13, 15, 35, 13, tzinfo=dt.UTC)
DAYS, LONG_DAYS, MONTHS = calendar.day_abbr, calendar.day_name, calendar.month_abbr


def seconds(value, now=NOW):
    """The wait in whole seconds, as the cases have it."""
    wait = wait_ns(value, now=now)
    return None if wait is None else Fraction(wait, NS_PER_S)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120),
        ("0", 0),
        (" 120 ", 120),
        ("\t7\t", 7),
        ("007", 7),
        ("0" * 5000 + "7", 7),
        *(
            (text, None)
            for text in (
                "-5",
                "+30",
                "1.5",
                "1e3",
                "0x10",
                "\uff11\uff12\uff10",
                "\u0663\u0660",
                "120, 60",
                "",
                "soon",
            )
        ),
        *(
            (text, None)
            for text in (" ", "1 2", "12\n", "\xa012", "1_000", "Infinity", "nan", "\xb2", "5s", '"5"')
        ),
    ],
)
def test_seconds_are_ascii_digits_between_optional_white_space(value, expected):
    """Everything else that is no date is as good as absent."""
    assert expected == seconds(value)


def test_a_number_too_long_to_compute_with_is_endless():
    """Five thousand nines are neither an error nor a short wait."""
    assert ENDLESS_NS == wait_ns("9" * 5000, now=NOW)
    assert ENDLESS_NS > wait_ns("9" * 18, now=NOW)


def slow_seconds(text):
    """The grammar, a character at a time."""
    rest = list(text)
    while rest and rest[0] in " \t":
        del rest[0]
    while rest and rest[-1] in " \t":
        del rest[-1]
    number = 0
    for character in rest:
        if character not in string.digits:
            return None
        number = number * 10 + string.digits.index(character)
    return number if rest else None


@given(st.text(alphabet="0123456789 \t\n+-.eExX,_\u0663\uff12", max_size=12))
def test_the_grammar_agrees_with_a_slow_reading(text):
    """No date has these characters alone."""
    assert slow_seconds(text) == seconds(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Thu, 13 Aug 2026 15:37:13 GMT", 120),
        ("Thursday, 13-Aug-26 15:37:13 GMT", 120),
        ("Thu Aug 13 15:37:13 2026", 120),
        ("Thu, 13 Aug 2026 15:37:13 -0000", 120),
        ("Thu, 13 Aug 2026 15:37:13 +0000", 120),
        ("Thu, 13 Aug 2026 15:37:13 UTC", 120),
        ("Thu, 13 Aug 2026 17:37:13 +0200", 120),
        ("Thu, 13 Aug 2026 10:07:13 -0530", 120),
        (" thu, 13 aug 2026 15:37:13 gmt\t", 120),
        ("Mon, 13 Aug 2026 15:37:13 GMT", 120),
        ("Thu, 13 Aug 2026 15:36:60 GMT", 107),
        ("Fri, 14 Aug 2026 00:00:00 GMT", 30287),
        ("Fri Aug 14 00:00:00 2026", 30287),
        ("Tue Sep  1 00:00:00 2026", 1585487),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Thu, 13 Aug 2026 15:35:13 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 251615665486),
        ("Tue, 29 Feb 2028 00:00:00 GMT", 48759887),
    ],
)
def test_the_three_forms_of_a_date_mean_utc(value, expected):
    """A date that has passed means now."""
    assert expected == seconds(value)


@pytest.mark.parametrize(
    "value",
    [
        "Thu, 30 Feb 2026 00:00:00 GMT",
        "Sun, 29 Feb 2026 00:00:00 GMT",
        "Fri, 31 Dec 10000 23:59:59 GMT",
        "Fri, 31 Dec 0000 23:59:59 GMT",
        "2026-08-13T15:37:13Z",
        "2026-08-13 15:37:13",
        "Thu, 13 Aug 2026 24:00:00 GMT",
        "Thu, 13 Aug 2026 15:60:13 GMT",
        "Thu, 13 Aug 2026 15:37:61 GMT",
        "Thu, 00 Aug 2026 15:37:13 GMT",
        "Thu, 13 Aug 2026 15:37:13",
        "Thu, 13 Aug 2026 15:37:13 EST",
        "Thu, 13 Aug 2026 15:37:13 +2400",
        "Thu, 13 Aug 2026 15:37:13 +0060",
        "Fri, 31 Dec 9999 23:59:59 -0001",
        "Fri, 31 Dec 9999 23:59:60 GMT",
        "Thu, 13 Aug 2026 15:37:13 GMT, Thu, 13 Aug 2026 15:37:13 GMT",
        "Thursday, 13 Aug 2026 15:37:13 GMT",
        "Thursday, 30-Feb-26 15:37:13 GMT",
        "Thu, 13-Aug-26 15:37:13 GMT",
        "Thursday, 13-Aug-2026 15:37:13 GMT",
        "Thu Aug 13 15:37:13 2026 GMT",
        "Thu Aug 3 15:37:13 2026",
        "Thu,13 Aug 2026 15:37:13 GMT",
        "Don, 13 Aug 2026 15:37:13 GMT",
        "Thu, 13 Aug \uff12\uff10\uff12\uff16 15:37:13 GMT",
        "Thu, 13 Aug 2026 15:37:13 GMT\n",
    ],
)
def test_what_names_no_point_is_no_date(value):
    """Impossible days, other forms, other years: as good as absent, and never an exception."""
    assert None is seconds(value)


@pytest.mark.parametrize(
    ("now", "short", "year"),
    [
        (2026, "26", 2026),
        (2026, "75", 2075),
        (2026, "77", 1977),
        (2026, "99", 1999),
        (2099, "05", 2105),
        (2000, "99", 1999),
        (2000, "49", 2049),
    ],
)
def test_a_short_year_is_the_latest_within_fifty_years(now, short, year):
    """RFC 9110: what seems more than 50 years ahead lies behind."""
    point = http_date(f"Monday, 02-Mar-{short} 00:00:00 GMT", now=dt.datetime(now, 6, 1, tzinfo=dt.UTC))
    assert dt.datetime(year, 3, 2, tzinfo=dt.UTC) == point


def test_fifty_years_are_counted_to_the_second():
    """One second beyond them is a hundred years ago."""
    assert 2076 == http_date("Thursday, 13-Aug-76 15:35:13 GMT", now=NOW).year
    assert 1976 == http_date("Thursday, 13-Aug-76 15:35:14 GMT", now=NOW).year


POINTS = st.integers(631_152_000, 2**31).map(lambda seconds: dt.datetime.fromtimestamp(seconds, dt.UTC))


@given(POINTS, st.sampled_from(["fixdate", "rfc850", "asctime", "zone"]), st.integers(0, 999_999))
def test_dates_agree_with_the_standard_library(point, form, fraction):
    """An independent parser, told that a date without a zone is UTC; the clock stands within a second."""
    day, month = DAYS[point.weekday()], MONTHS[point.month]
    text = {
        "fixdate": f"{day}, {point:%d} {month} {point:%Y %H:%M:%S} GMT",
        "rfc850": f"{LONG_DAYS[point.weekday()]}, {point:%d}-{month}-{point:%y %H:%M:%S} GMT",
        "asctime": f"{day} {month} {point.day:2} {point:%H:%M:%S %Y}",
        "zone": f"{day}, {point:%d} {month} {point:%Y %H:%M:%S} -0730",
    }[form]
    now = NOW.replace(microsecond=fraction)
    right = email.utils.parsedate_to_datetime(text)
    right = right.replace(tzinfo=right.tzinfo or dt.UTC)
    left = Fraction((right - now) // dt.timedelta(microseconds=1), 10**6)
    assert max(Fraction(0), left) == seconds(text, now)


@given(st.text(max_size=40))
def test_no_text_breaks_the_reading(text):
    """A header is another's text: a wait or nothing."""
    wait = told_ns([text], [text], now=NOW, date=text)
    assert wait is None or wait >= 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1500", 1_500_000_000),
        ("0", 0),
        (" 2 ", 2_000_000),
        ("0.5", 500_000),
        ("1.0000001", 1_000_001),
        ("1.0000000", 1_000_000),
        ("9" * 30, 10**18 * 1_000_000),
        *((text, None) for text in ("-1", "1e3", ".5", "5.", "1,5", "", "\u0663", "1.5.2", "nan")),
    ],
)
def test_milliseconds_are_digits_with_a_point(value, expected):
    """Rounded up to the nanosecond."""
    assert expected == milliseconds_ns(value)


@pytest.mark.parametrize(
    ("header", "ms", "expected"),
    [
        ((), (), None),
        (("soon",), ("x",), None),
        (("1",), ("1500",), 1.5),
        (("2",), ("1500",), 2),
        (("5", "60", "7"), (), 60),
        (("soon", "5"), (), 5),
        (("0", "Thu, 13 Aug 2026 15:37:13 GMT"), (), 120),
        (("120, 60",), ("10",), 0.01),
    ],
)
def test_of_several_values_the_largest_stands(header, ms, expected):
    """Whatever their order; what tells no time is not there."""
    for one, other in ((header, ms), (header[::-1], ms[::-1])):
        wait = told_ns(one, other, now=NOW)
        assert expected == (None if wait is None else wait / NS_PER_S)


def test_a_date_is_meant_by_the_endpoints_own_clock():
    """The caller's clock is a minute fast; the endpoint still means two minutes."""
    value, date = "Thu, 13 Aug 2026 15:37:13 GMT", "Thu, 13 Aug 2026 15:35:13 GMT"
    fast = NOW + dt.timedelta(minutes=1)
    assert 120 == told_ns([value], [], now=fast, date=date) / NS_PER_S
    assert 60 == told_ns([value], [], now=fast, date="nonsense") / NS_PER_S


@given(st.integers(0, 2**80))
def test_seconds_are_never_fewer_than_told(wait):
    """A float of the nanoseconds may be larger, by one step at most."""
    told = Fraction(wait, NS_PER_S)
    assert told <= Fraction(seconds_up(wait)) <= told * (1 + Fraction(1, 2**51)) + Fraction(1, 10**300)
