# SPDX-License-Identifier: Apache-2.0
"""The numbers of call logs, against a slow count, and what they say."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.call_log import CallEntry
from truegreen.limiter.measure import DAY_US, measure_table, numbers_of, verdict

S = 1_000_000
WEEK_US = 7 * DAY_US


def entry(ended_s, took_s=1.0, *, status=200, waited_s=0.0, run="r", **more):
    """An attempt."""
    return CallEntry(
        ended_us=round(ended_s * S),
        took_s=took_s,
        waited_s=waited_s,
        status=status,
        is_ok=status == 200,
        end="complete",
        run=run,
        **more,
    )


def test_the_articles_numbers():
    """Two runs: calls answered, turned away, waited, wall clock, peak, time-outs, repeated."""
    numbers = numbers_of(
        {
            "log": [
                entry(10, 2, waited_s=8),
                entry(11, 2),
                entry(12, 3, status=429, wants_again=True),
                entry(15, 1, attempt=2, waited_s=2),
                entry(100, 60, run="s", status=None, wants_again=True),
            ],
            "other": [entry(5, run="")],
        }
    )
    first, other, second = sorted(numbers.runs, key=lambda run: run.run != "r")
    assert (3, 4, 1, 10.0, 15.0, 3) == (
        *(first.calls, first.attempts, first.rate_limited),
        *(first.waited_s, first.wall_s, first.peak),
    )
    assert (3, 1) == (first.budget.requests, first.budget.repeated)
    assert ["other", "s"] == sorted([other.run, second.run])
    assert (4, 6, 1, 3, 3, 3) == (
        *(numbers.calls, numbers.attempts, numbers.rate_limited),
        *(numbers.peak, numbers.refused_from, len(numbers.runs)),
    )
    assert (10.0 / (15.0 + 60.0 + 1.0), 2) == (numbers.waiting, numbers.capacity)


ATTEMPTS = st.lists(
    st.builds(
        entry,
        st.integers(0, 12),
        st.integers(0, 6).map(float),
        status=st.sampled_from([200, 429]),
        run=st.sampled_from(["r", "s"]),
    ),
    max_size=14,
)


@given(ATTEMPTS)
def test_peaks_agree_with_a_slow_count(entries):
    """At the moment of each leave, everybody who has left and not ended; one that took no time is there for itself."""
    numbers = numbers_of({"log": entries})

    def spans(chosen):
        return [(one.ended_us - round(one.took_s * S), one) for one in chosen]

    def peak(chosen):
        loads = {}
        for place, (left, _) in enumerate(spans(chosen)):
            others = [
                (at, it)
                for number, (at, it) in enumerate(spans(chosen))
                if number != place and at <= left and max(it.ended_us, at + 1) > left
            ]
            loads[place] = 1 + len(others)
        return loads

    loads = peak(entries)
    assert max(loads.values(), default=None) == numbers.peak
    for run in numbers.runs:
        assert max(peak([one for one in entries if one.run == run.run]).values()) == run.peak
    refused = [loads[place] for place, one in enumerate(entries) if one.status == 429]
    if refused and len({one.ended_us - round(one.took_s * S) for one in entries}) == len(entries):
        assert min(refused) == numbers.refused_from


def test_a_window_has_its_ends():
    """What ended before it or after it is not counted; what tells no time is, and is said."""
    entries = [entry(1), entry(2), entry(3), CallEntry(status=200, is_ok=True)]
    numbers = numbers_of({"log": entries}, since_us=2 * S, until_us=2 * S)
    assert (2, 1, 2 * S, 2 * S) == (numbers.attempts, numbers.without_time, numbers.from_us, numbers.to_us)


def test_a_log_and_its_copy_count_once():
    """By the call that a line names; lines that name none are taken as they come."""
    named, nameless = entry(1, call="c"), entry(1)
    numbers = numbers_of({"log": [named, nameless], "copy": [named, nameless]})
    assert 3 == numbers.attempts


def test_the_articles_own_lines_are_counted():
    """Calls and waits on lines of their own, no time anywhere: no peak and no wall clock are made up."""
    lines = [CallEntry(status=200, is_ok=True), CallEntry(status=429), CallEntry(waited_s=4.5)]
    numbers = numbers_of({"ci.log": lines})
    assert (1, 2, 1, 4.5, None, None, None) == (
        *(numbers.calls, numbers.attempts, numbers.rate_limited, numbers.waited_s),
        *(numbers.wall_s, numbers.peak, numbers.capacity),
    )


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], "nothing-measured"),
        ([entry(8 * 86400)], "measure-longer"),
        ([entry(0), entry(7 * 86400)], "not-needed"),
        ([entry(0), entry(10, waited_s=5)], "own-limit-is-tight"),
        ([entry(0), entry(1, status=429)], "lower-concurrency"),
        ([entry(8 * 86400), entry(8 * 86400 + 1, status=429)], "lower-concurrency"),
        ([entry(0), entry(10, status=429, waited_s=5)], "raise-capacity"),
        ([CallEntry(status=200, is_ok=True)], "measure-longer"),
        ([CallEntry(status=429)], "lower-concurrency"),
    ],
)
def test_the_verdict(entries, expected):
    """The article's three, and what it leaves open."""
    numbers = numbers_of({"log": entries})
    assert expected == verdict(numbers, since_us=0).then["verdict"]


def test_a_tenth_of_the_wall_clock_is_much():
    """Below it is little."""
    much = numbers_of({"log": [entry(10, 9, waited_s=1, status=429)]})
    little = numbers_of({"log": [entry(10, 9.1, waited_s=0.9, status=429)]})
    assert ["raise-capacity", "lower-concurrency"] == [
        verdict(one, since_us=0).then["verdict"] for one in (much, little)
    ]


def test_one_call_that_is_turned_away_alone_leaves_a_capacity_of_one():
    """Never zero."""
    assert 1 == numbers_of({"log": [entry(1, status=429)]}).capacity


def test_every_combination_has_its_row():
    """The table's product, whole."""
    table = measure_table()
    found = {
        table.decide(**dict(zip(table.fields, values, strict=True))).id
        for values in itertools.product(*table.fields.values())
    }
    assert {row.id for row in table.rows} == found
