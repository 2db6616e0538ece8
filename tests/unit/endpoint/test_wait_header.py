# SPDX-License-Identifier: Apache-2.0
"""Each form in which a wait is told, read back by the standard library."""

from email.utils import mktime_tz, parsedate_tz

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.endpoint.wait_header import FORMS, http_date, wait_headers

NS = 1_000_000_000


@pytest.mark.parametrize(
    ("form", "wait_ns", "expected"),
    [
        ("none", NS, []),
        ("seconds", NS, ["Retry-After: 1"]),
        ("seconds", NS + 1, ["Retry-After: 2"]),
        ("seconds", 0, ["Retry-After: 0"]),
        ("milliseconds", 1, ["retry-after-ms: 1"]),
        ("milliseconds", 1_500_000_000, ["retry-after-ms: 1500"]),
    ],
)
def test_numbers_are_rounded_up(form, wait_ns, expected):
    """Who waits as told is not early."""
    assert expected == wait_headers(form, wait_ns)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("imf-date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("rfc850-date", "Sunday, 06-Nov-94 08:49:37 GMT"),
        ("asctime-date", "Sun Nov  6 08:49:37 1994"),
    ],
)
def test_dates_are_those_of_the_rfc(form, expected):
    """The RFC's own example in its three forms."""
    assert expected == http_date(form, 784111777)


@given(
    form=st.sampled_from(["imf-date", "rfc850-date", "asctime-date"]),
    now_s=st.integers(0, 2_000_000_000),
    wait_ns=st.integers(0, 10**14),
)
def test_a_date_is_never_sooner_than_the_wait(form, now_s, wait_ns):
    """Counted from the last moment of the second that now lies in; and no more than two seconds later."""
    date, told = wait_headers(form, wait_ns, now_s=now_s)
    assert now_s == mktime_tz(parsedate_tz(date.partition(": ")[2]))
    until_s = mktime_tz(parsedate_tz(told.partition(": ")[2] + (" GMT" if form == "asctime-date" else "")))
    assert now_s + 1 + wait_ns / NS <= until_s <= now_s + 2 + wait_ns / NS


def test_every_form_is_known():
    """The table of the scenario's keys offers these."""
    assert 6 == len(FORMS)
    assert all(wait_headers(form, NS) for form in FORMS if form != "none")
