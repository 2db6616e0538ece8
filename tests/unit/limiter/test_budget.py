# SPDX-License-Identifier: Apache-2.0
"""How many calls a run may repeat."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.call_log import CallEntry
from truegreen.limiter.budget import Budget, BudgetRule, of_run, sentence, with_entry

FIRST = CallEntry(status=200, is_ok=True)
WANTS = CallEntry(status=429, wants_again=True)
AGAIN = CallEntry(status=429, attempt=2, wants_again=True)
ENTRIES = st.lists(st.sampled_from([FIRST, WANTS, AGAIN]), max_size=300)


def slow(entries, rule):
    """Tokens as exact fractions, counted anew for each attempt."""
    granted = []
    for place, entry in enumerate(entries):
        if not entry.wants_again:
            continue
        requests = sum(one.attempt == 1 for one in entries[: place + 1])
        if max(Fraction(rule.reserve), Fraction(rule.percent, 100) * requests) - len(granted) >= 1:
            granted.append(place)
    return len(granted)


@given(ENTRIES, st.integers(0, 5), st.integers(0, 40))
def test_the_count_agrees_with_a_slow_one(entries, reserve, percent):
    """Whatever the order."""
    rule = BudgetRule(reserve=reserve, percent=percent)
    budget = of_run(entries, "", rule)
    wanted = sum(one.wants_again for one in entries)
    assert (slow(entries, rule), wanted) == (budget.repeated, budget.repeated + budget.refused)


@given(ENTRIES)
def test_no_more_than_a_tenth_or_the_reserve_is_repeated(entries):
    """The promise of the summary."""
    budget = of_run(entries, "")
    assert budget.repeated <= max(10, budget.requests / 10)


def test_an_endpoint_that_is_down_is_not_asked_three_times_by_everybody():
    """A thousand calls that all fail: a hundred repetitions, not two thousand."""
    budget = of_run([WANTS] * 1000, "")
    assert (1000, 100, 900) == (budget.requests, budget.repeated, budget.refused)


def test_runs_do_not_share():
    """Another run in the same log has a budget of its own."""
    other = CallEntry(status=429, wants_again=True, run="other")
    assert Budget(requests=1, repeated=1) == of_run(
        [*[other] * 50, CallEntry(run="r", wants_again=True)], "r"
    )


def test_without_reserve_the_tenth_request_brings_the_first_repetition():
    """Nine are not enough."""
    rule = BudgetRule(reserve=0)
    nine = of_run([FIRST] * 9, "", rule)
    assert (False, True) == (nine.has_room(rule), with_entry(nine, FIRST, rule).has_room(rule))


def test_the_summary_says_what_is_used_and_refused():
    """One line."""
    assert "retry budget: 0 of 10 used by 0 calls, 0 refused" == sentence(Budget())
    assert "retry budget: 1 of 10 used by 1 call, 0 refused" == sentence(of_run([WANTS], ""))
    assert "retry budget: 100 of 100 used by 1000 calls, 900 refused" == sentence(of_run([WANTS] * 1000, ""))
