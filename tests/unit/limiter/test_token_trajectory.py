# SPDX-License-Identifier: Apache-2.0
"""Tokens that are given back are never spent twice, and never lost either."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from truegreen.limiter import token_trajectory
from truegreen.limiter.ledger import new_ledger
from truegreen.limiter.limits import MINUTE, Limits, checked
from truegreen.limiter.state import Place

LIMITS = checked(Limits(tokens=60, token_burst=100))
"""A token a second, so that a token is ``LIMITS.token_ns``."""
TOKEN = LIMITS.token_ns


def level(spent, cap, now):
    """What is left in a bucket of a token a second that was full at 0; ``spent`` are (time, tokens) in order."""
    left, at = Fraction(cap), 0
    for time, tokens in spent:
        left, at = min(Fraction(cap), left + Fraction(time - at, TOKEN)) - tokens, time
    return min(Fraction(cap), left + Fraction(now - at, TOKEN))


def reserve(ledger, name, tokens, at):
    """The ledger with a reservation that leaves at ``at``."""
    place = Place(name, 1, "", "", 1, tokens, at, at, at, at, is_started=True)
    return token_trajectory.reserved(ledger, place, TOKEN)


def test_what_a_full_bucket_would_have_lost_is_not_given_back():
    """100 reserved and 10 used; 50 more were taken half a minute later: 50 are left, not 90."""
    ledger = reserve(new_ledger(LIMITS, 0), "a", 100, 0)
    ledger = reserve(ledger, "b", 50, 50 * TOKEN)
    ledger = token_trajectory.settled(ledger, 0, 10, TOKEN)
    assert 50 == 100 - (token_trajectory.arrival(ledger) - 50 * TOKEN) // TOKEN


steps = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 100), st.integers(0, 130), st.booleans(), st.integers(0, 5)),
    max_size=14,
)


@settings(max_examples=300, deadline=None)
@given(steps)
def test_the_level_is_that_of_a_bucket_which_knew_the_usage_beforehand(taken):
    """After any order of reservations and settlements, to the token: nothing twice, nothing lost."""
    ledger, now, spent, open_ = new_ledger(LIMITS, 0), 0, [], []
    for index, (pause, tokens, used, settles, which) in enumerate(taken):
        now += pause * TOKEN
        spent.append((now, tokens))
        ledger = reserve(ledger, str(index), tokens, now)
        open_.append(index)
        if settles:
            number = which % len(open_)
            done = open_.pop(number)
            ledger = token_trajectory.settled(ledger, number, used, TOKEN)
            spent[done] = (spent[done][0], used)
        arrival = max(now, token_trajectory.arrival(ledger))
        assert level(spent, 100, now) == 100 - Fraction(arrival - now, TOKEN)


def test_a_reservation_that_is_not_settled_counts_whole():
    """Its place goes, what it had reserved stays spent."""
    ledger = reserve(new_ledger(LIMITS, 0), "a", 30, 0)
    ledger = token_trajectory.settled(ledger, 0, None, TOKEN)
    assert (30 * TOKEN, ()) == (token_trajectory.arrival(ledger), ledger.places)


def test_nothing_is_left_of_places_that_are_gone():
    """One number remains, however many there were."""
    ledger = new_ledger(LIMITS, 0)
    for index in range(5):
        ledger = reserve(ledger, str(index), 10, index * MINUTE)
    for _ in range(5):
        ledger = token_trajectory.settled(ledger, 2 if len(ledger.places) > 2 else 0, 0, TOKEN)
    assert ledger == replace(ledger, places=(), token_ns=token_trajectory.arrival(ledger))
