# SPDX-License-Identifier: Apache-2.0
"""The product's ledger as conformance asks it, beside a bucket in fractions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import UsageProblem
from truegreen.wiring.conformance_limits import bucket, stack


def slow(capacity, refill, level, asks):
    """A bucket as the textbook has it, exact."""
    at, told = Fraction(0), []
    level = Fraction(level)
    for cost, seconds in asks:
        level, at = min(Fraction(capacity), level + (seconds - at) * refill), Fraction(seconds)
        if cost > capacity:
            told.append((None, level))
        elif cost <= level:
            level -= cost
            told.append((0, level))
        else:
            told.append(((cost - level) / refill, level))
    return told


ASKS = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 30)), max_size=12).map(
    lambda asks: sorted(asks, key=lambda ask: ask[1])
)


@given(st.integers(1, 10), st.sampled_from(["0.2", "1", "2", "0.5", "10"]), st.integers(0, 10), ASKS)
def test_a_bucket_is_the_textbooks(capacity, refill, level, asks):
    """Whatever is asked when: the wait and what is left."""
    level = min(level, capacity)
    made = bucket(capacity, float(refill), level)
    found = [made.take(cost, seconds) for cost, seconds in asks]
    right = slow(capacity, Fraction(refill), level, asks)
    assert [(None if wait is None else float(wait), float(left)) for wait, left in right] == [
        (one.wait_s, one.level) for one in found
    ]


@pytest.mark.parametrize("numbers", [(0, 1, 0), (1, 0, 0), (1, 1, 2), (1.5, 1, 1), ("1", 1, 1), (True, 1, 1)])
def test_numbers_that_are_no_bucket_are_refused(numbers):
    """Never an endless loop."""
    with pytest.raises(UsageProblem, match="limit-out-of-range"):
        bucket(*numbers)


def test_greedy_stops_at_a_bucket_that_is_empty_for_longer():
    """One now, the next after the window."""
    assert 1 == bucket(1, 0.001, 1).greedy(60)
    assert 0 == bucket(1, 0.001, 0).greedy(60)


def test_layers_are_counted_and_refused():
    """Both answers of one question."""
    assert (12, "sdk-retries-enabled") == stack(4, 2, 429, "openai-python")
    assert (4, None) == stack(4, 0, 429, "")
