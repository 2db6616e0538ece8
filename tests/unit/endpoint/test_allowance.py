# SPDX-License-Identifier: Apache-2.0
"""The endpoint's own limits on a clock of the test."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.endpoint.allowance import Limit, Meter
from truegreen.endpoint.scenario import Allowance

S = 1_000_000_000


class Clock:
    """Nanoseconds that a test moves."""

    def __init__(self):
        self.now = 5 * S

    def __call__(self):
        """Where it stands."""
        return self.now


def _meter(**allowance):
    clock = Clock()
    return Meter(Allowance(**allowance), clock), clock


def test_an_endpoint_without_limits_takes_everything():
    """The default."""
    meter, _ = _meter()
    assert [None] * 1000 == [meter.take() for _ in range(1000)]


def test_a_burst_then_the_rate():
    """Three at once, then one each half second; the refused are told how long."""
    meter, clock = _meter(per_s=2, burst=3)
    replies = [meter.take() for _ in range(4)]
    assert ([None] * 3, Limit.RATE) == (replies[:3], replies[3].limit)
    assert S // 2 == meter.take().wait_ns
    clock.now += S // 2 - 1
    assert 1 == meter.take().wait_ns
    clock.now += 1
    assert [None, S // 2] == [meter.take(), meter.take().wait_ns]


def test_who_is_refused_pays_nothing():
    """A thousand refusals do not push the next leave away."""
    meter, clock = _meter(per_s=1)
    meter.take()
    assert {S} == {meter.take().wait_ns for _ in range(1000)}
    clock.now += S
    assert None is meter.take()


def test_places_in_flight_come_back():
    """The third waits for one of two to end; it costs no rate."""
    meter, _ = _meter(per_s=1000, burst=3, in_flight=2)
    assert [None, None] == [meter.take(), meter.take()]
    assert Limit.IN_FLIGHT is meter.take().limit
    meter.give_back()
    assert None is meter.take()


def test_a_clock_that_steps_back_neither_locks_nor_fills():
    """An hour back, then on: one interval later there is one call."""
    meter, clock = _meter(per_s=1)
    meter.take()
    clock.now -= 3600 * S
    assert S == meter.take().wait_ns
    clock.now += S
    assert [None, S] == [meter.take(), meter.take().wait_ns]


@given(
    per_s=st.sampled_from([0.5, 1, 3, 7, 1000]),
    burst=st.integers(1, 5),
    steps=st.lists(st.integers(0, 3 * S), min_size=1, max_size=60),
)
def test_no_window_holds_more_than_the_rate_and_one_burst(per_s, burst, steps):
    """Over every window of every run of calls, exactly (fractions)."""
    meter, clock = _meter(per_s=per_s, burst=burst)
    taken = []
    for step in steps:
        clock.now += step
        if meter.take() is None:
            taken.append(clock.now)
    interval = Fraction(round(S / per_s))
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            assert last - first + 1 <= burst + (taken[last] - taken[first]) / interval


@pytest.mark.parametrize("per_s", [0.001, 100_000])
def test_the_told_wait_is_exact(per_s):
    """One nanosecond earlier is too early."""
    meter, clock = _meter(per_s=per_s)
    meter.take()
    wait_ns = meter.take().wait_ns
    clock.now += wait_ns - 1
    assert None is not meter.take()
    clock.now += 1
    assert None is meter.take()
