# SPDX-License-Identifier: Apache-2.0
"""Points in time as texts."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.core.instants import instant, instant_text

POINTS = st.datetimes(timezones=st.just(dt.UTC)).map(lambda point: point.replace(microsecond=0))


@given(POINTS)
def test_a_point_comes_back_from_its_text(point):
    """Whole seconds lose nothing."""
    assert point == instant(instant_text(point))


@given(POINTS, POINTS)
def test_texts_sort_as_their_points(one, other):
    """So that two texts can be compared as they are."""
    assert (one < other) == (instant_text(one) < instant_text(other))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+00:00",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00z",
        "2026-1-1T00:00:00Z",
        "2026-01-01T00:00:00.0Z",
        "2026-01-01T00:00:00Z\n",
        "٢٠٢٦-01-01T00:00:00Z",
    ],
)
def test_another_form_is_no_time(text):
    """One form, so that nothing sorts wrongly in silence."""
    with pytest.raises(EvidenceProblem) as caught:
        instant(text)
    assert "bad-time" == caught.value.code


def test_an_offset_is_taken_into_account_and_fractions_are_cut():
    """The text is UTC."""
    east = dt.timezone(dt.timedelta(hours=2))
    assert "2025-12-31T22:00:00Z" == instant_text(dt.datetime(2026, 1, 1, 0, 0, 0, 999_999, tzinfo=east))


def test_a_point_without_a_year_in_utc_is_refused():
    """9999 west of Greenwich is 10000 in Greenwich."""
    west = dt.timezone(dt.timedelta(hours=-1))
    with pytest.raises(EvidenceProblem, match="has no year in UTC"):
        instant_text(dt.datetime(9999, 12, 31, 23, 30, tzinfo=west))
