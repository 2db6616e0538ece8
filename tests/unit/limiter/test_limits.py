# SPDX-License-Identifier: Apache-2.0
"""Limits: what is none, what the worst window sees, what two policies share."""

import pytest
from msgspec.structs import replace

from truegreen.core.errors import UsageProblem
from truegreen.limiter.limits import (
    LONGEST,
    MINUTE,
    SECOND,
    Limits,
    checked,
    contract_problem,
    divided,
    most_in,
    stricter,
)


@pytest.mark.parametrize(
    "given",
    [
        {"calls": 0},
        {"calls": -1},
        {"calls": 1_000_001},
        {"calls": True},
        {"calls": 0.2},
        {"calls": 1, "per_ns": 0},
        {"calls": 1, "per_ns": LONGEST + 1},
        {"calls": 1, "burst": 0},
        {"calls": 1, "burst": -3},
        {"in_flight": 0},
        {"in_flight": -1},
        {"tokens": 0},
        {"tokens": 10, "token_burst": 0},
        {"calls": 1, "lease_ns": 0},
        {"calls": 1, "wait_ns": -1},
        {},
    ],
)
def test_zero_negative_and_absurd_numbers_are_no_limits(given):
    """Each is refused by name; so is a set that limits nothing."""
    with pytest.raises(UsageProblem) as found:
        checked(Limits(**given))
    assert "limit-out-of-range" == found.value.code


def test_a_token_burst_that_is_left_out_is_a_minutes_tokens():
    """And there is none without tokens."""
    assert 600 == checked(Limits(tokens=600)).token_burst
    assert 5 == checked(Limits(tokens=600, token_burst=5)).token_burst
    assert checked(Limits(calls=1, token_burst=5)).token_burst is None


@pytest.mark.parametrize(("calls", "spacing"), [(3, 333_333_334), (1000, 1_000_000), (7, 142_857_143)])
def test_a_spacing_is_rounded_up(calls, spacing):
    """Rounding down would let one call too many through, sooner or later."""
    assert spacing == Limits(calls=calls).spacing_ns


@pytest.mark.parametrize(
    ("calls", "burst", "most"), [(12, 12, 23), (12, 1, 12), (15, 15, 29), (60, 1, 60), (7, 1, 7)]
)
def test_a_full_bucket_and_its_refill_fit_into_one_window(calls, burst, most):
    """12 a minute with a burst of 12 is 23 in the first minute after a quiet time; a burst of 1 keeps 12."""
    assert most == most_in(Limits(calls=calls, per_ns=MINUTE, burst=burst), MINUTE)


def test_a_bucket_that_breaks_its_contract_is_told_with_its_cure():
    """Both numbers and the burst that keeps it."""
    broken = Limits(calls=12, per_ns=MINUTE, burst=12)
    assert (
        "after a quiet time 23 calls fit into 60 s, where 12 are allowed; a burst of 1 keeps it"
        == contract_problem(broken, 12, MINUTE)
    )
    assert contract_problem(replace(broken, burst=1), 12, MINUTE) is None
    assert contract_problem(broken, 23, MINUTE) is None


def test_a_rate_above_the_contract_has_no_cure_in_its_burst():
    """Nor has one that is not there."""
    fast = Limits(calls=20, per_ns=MINUTE)
    assert "the rate alone is above it" in contract_problem(fast, 12, MINUTE)
    assert "there is no rate" in contract_problem(Limits(in_flight=2), 12, MINUTE)
    assert most_in(Limits(in_flight=2), MINUTE) is None


def test_two_policies_share_the_smaller_of_each():
    """The slower rate, the smaller cap, and what only one of them limits."""
    one = checked(Limits(calls=10, burst=5, in_flight=6, wait_ns=SECOND))
    other = checked(Limits(calls=30, per_ns=MINUTE, burst=9, tokens=100, lease_ns=SECOND))
    both = Limits(
        calls=30,
        per_ns=MINUTE,
        burst=5,
        in_flight=6,
        tokens=100,
        token_burst=100,
        lease_ns=SECOND,
        wait_ns=SECOND,
    )
    assert both == stricter(one, other) == stricter(other, one)
    unrated = checked(Limits(in_flight=1, burst=2))
    assert 5 == stricter(one, unrated).burst == stricter(unrated, one).burst
    assert stricter(unrated, unrated).calls is None


def test_shares_of_a_limit_add_up_to_less_than_it():
    """A divided limit begins empty, so that new shares give nothing away."""
    whole = checked(Limits(calls=10, burst=7, in_flight=7, tokens=100))
    share = divided(whole, 3)
    assert (10, 3 * SECOND, 2, 2, 33, 33, False) == (
        share.calls,
        share.per_ns,
        share.burst,
        share.in_flight,
        share.tokens,
        share.token_burst,
        share.starts_full,
    )
    assert 2 == divided(checked(Limits(in_flight=6)), 3).in_flight


def test_a_limit_that_is_smaller_than_the_number_of_shares_is_not_divided():
    """Rounding it up to 1 each would be above it together."""
    with pytest.raises(UsageProblem, match="capacity is 2 and cannot be divided into 3 shares"):
        divided(checked(Limits(in_flight=2)), 3)
