# SPDX-License-Identifier: Apache-2.0
"""The log of replays and what it tells."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.sessions import hit, miss, session
from truegreen.cassettes.upkeep.run_log import appended, missed_most, read_log, run_of, weeks


def _log(*sessions):
    data = b""
    for one in sessions:
        data += appended(data, run_of(one))
    return data


def test_a_run_is_one_line_and_is_added_once():
    """The same run, given again, adds nothing; another one does."""
    one, other = session(), session(ended_at="2026-11-24T10:00:00Z")
    data = _log(one, other, one)
    assert (2, 2) == (data.count(b"\n"), len(read_log(data).runs))


def test_hits_and_misses_are_counted_by_request():
    """And misses by template, unnamed ones too."""
    run = run_of(
        session(
            hits=(hit("a.json", count=3), hit("b.json")), misses=(miss("labels", count=2), miss(digit="3"))
        )
    )
    assert (4, 3, {"(none)": 1, "labels": 2}) == (run.hits, run.misses, run.missed_templates)


def test_only_a_complete_run_says_what_is_unused():
    """After a selection nothing is."""
    part = session(complete=False, incomplete_because="-k", unused=("b.json",))
    assert ((), ("b.json",)) == (run_of(part).unused, run_of(session(unused=("b.json",))).unused)


@pytest.mark.parametrize(
    ("misses", "hits", "churns"), [(1, 9, False), (2, 9, True), (0, 0, False), (1, 0, True)]
)
def test_more_than_one_in_ten_says_that_templates_churn(misses, hits, churns):
    """Exactly one in ten does not."""
    one = session(
        hits=(hit("a.json", count=hits),) if hits else (), misses=(miss(count=misses),) if misses else ()
    )
    (week,) = weeks(read_log(_log(one)).runs)
    assert (churns, misses, hits) == (week.churns, week.misses, week.hits)
    assert (Fraction(misses, misses + hits) if misses + hits else None) == week.miss_rate


def test_weeks_are_those_of_the_calendar():
    """ISO weeks in UTC: a Sunday night and the Monday after it are two; New Year's Day may be last year's."""
    ends = ("2026-11-29T23:59:59Z", "2026-11-30T00:00:00Z", "2027-01-01T00:00:00Z", "2026-11-23T00:00:00Z")
    found = weeks(read_log(_log(*(session(ended_at=end) for end in ends))).runs)
    assert [("2026-W48", 2), ("2026-W49", 1), ("2026-W53", 1)] == [(week.week, week.runs) for week in found]


def test_templates_that_missed_most_come_first():
    """Over all runs."""
    runs = read_log(
        _log(session(misses=(miss("a"), miss("b", digit="3", count=4))), session(misses=(miss("a"),)))
    ).runs
    assert (("b", 4), ("a", 2)) == missed_most(runs)


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"{}", b"\xff", b'{"schema": "truegreen/replay-run/v2"}', b"x" * 100],
)
def test_a_line_that_is_none_is_counted(line):
    """And hides none of the others."""
    data = _log(session())
    read = read_log(data + line + b"\n" + _log(session(ended_at="2026-12-01T00:00:00Z")))
    assert (2, 1) == (len(read.runs), read.unreadable)


def test_a_log_that_was_cut_goes_on_in_a_new_line():
    """A writer that died in the middle of a line spoils that line only."""
    data = _log(session())
    for cut in range(1, len(data) - 1):
        torn = data + data[:cut]
        more = appended(torn, run_of(session(ended_at="2026-12-01T00:00:00Z")))
        assert (2, 1) == (len(read_log(torn + more).runs), read_log(torn + more).unreadable)


@pytest.mark.parametrize(
    ("field", "value"), [("hits", -1), ("at", "yesterday"), ("at", "2026-13-01T00:00:00Z"), ("hits", True)]
)
def test_a_line_with_impossible_values_is_none(field, value):
    """Counts are counts, times are times."""
    import json

    line = json.loads(_log(session()))
    assert (0, 1) == (len(read_log(json.dumps(line | {field: value}).encode()).runs), 1)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data):
    """Whatever stands in a log, it is read."""
    read = read_log(data)
    assert len(read.runs) + read.unreadable == sum(bool(line) for line in data.split(b"\n"))
