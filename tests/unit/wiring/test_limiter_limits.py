# SPDX-License-Identifier: Apache-2.0
"""Limits as a command line writes them."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.limiter.limits import SECOND
from truegreen.wiring.limiter_limits import limits_of, rate_of

GIVEN = {
    "rate": None,
    "burst": 1,
    "capacity": None,
    "tokens_per_minute": None,
    "lease_s": 60.0,
    "wait_s": 90.0,
}


@pytest.mark.parametrize(
    ("text", "calls", "seconds"),
    [
        ("10/s", 10, 1),
        ("12/min", 12, 60),
        ("5000/h", 5000, 3600),
    ],
)
def test_a_rate_is_calls_in_a_time(text, calls, seconds):
    """In whole numbers."""
    assert (calls, seconds * SECOND) == rate_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10",
        "10/",
        "/s",
        "0/s",
        "-1/s",
        "1.5/s",
        "10/0s",
        "10/w",
        "10 /s",
        "10/s ",
        "1e3/s",
        "\u0661/s",
        "10/s/s",
    ],
)
def test_anything_else_is_no_rate(text):
    """Exit 2, with three that are."""
    with pytest.raises(UsageProblem, match="10/s, 12/min or 5000/h") as caught:
        rate_of(text)
    assert "bad-rate" == caught.value.code


def test_options_become_limits():
    """Seconds in nanoseconds; what is left out is no limit."""
    limits = limits_of(**{**GIVEN, "rate": "12/min", "capacity": 6, "lease_s": 0.5})
    assert (12, 60 * SECOND, 6, None, SECOND // 2) == (
        limits.calls,
        limits.per_ns,
        limits.in_flight,
        limits.tokens,
        limits.lease_ns,
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"capacity": 0},
        {"capacity": -1},
        {"rate": "10/s", "burst": 0},
        {"tokens_per_minute": 0},
        {"capacity": 1, "lease_s": float("nan")},
        {"capacity": 1, "wait_s": float("inf")},
        {"capacity": 1, "lease_s": 0.0},
        {"capacity": 1, "wait_s": -1.0},
    ],
)
def test_numbers_that_are_no_limits_are_refused(given):
    """Zero, negative, no number, and no limit at all."""
    with pytest.raises(UsageProblem) as caught:
        limits_of(**{**GIVEN, **given})
    assert "limit-out-of-range" == caught.value.code
