# SPDX-License-Identifier: Apache-2.0
"""Rates as people write them, and the worst window."""

import pytest

from truegreen.core.rates import SECOND, contract_problem, most_in_window, rate_of


@pytest.mark.parametrize(
    ("text", "rate"),
    [("12/min", (12, 60 * SECOND)), ("10/s", (10, SECOND)), ("9999999/h", (9_999_999, 3600 * SECOND))],
)
def test_a_rate_is_calls_and_a_period(text, rate):
    """Whole numbers of both."""
    assert rate == rate_of(text)


@pytest.mark.parametrize(
    "text", ["", "0/s", "-1/s", "1.5/s", "12", "12/m", "12/min ", "12 /min", "10000000/s", "1e3/s"]
)
def test_anything_else_is_no_rate(text):
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="is no rate"):
        rate_of(text)


@pytest.mark.parametrize(("burst", "most"), [(12, 23), (1, 12), (2, 13)])
def test_a_burst_adds_to_the_rate_in_one_window(burst, most):
    """12 a minute with a burst of 12 is 23 in the first minute after a quiet time."""
    assert most == most_in_window(12, 60 * SECOND, burst, 60 * SECOND)


def test_a_bucket_is_held_against_its_contract():
    """With the burst that would keep it, if there is one."""
    broken = contract_problem("12/min", 12, "12/min")
    assert "after a quiet time 23 calls fit into what is to hold 12/min; a burst of 1 keeps it" == broken
    assert contract_problem("12/min", 1, "12/min") is None
    assert contract_problem("1/s", 5, "20/min").endswith("the rate alone is above it")
