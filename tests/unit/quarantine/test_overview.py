# SPDX-License-Identifier: Apache-2.0
"""How the entries of one file stand."""

import pytest

from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.quarantine.entries import Entry, Quarantine
from truegreen.quarantine.live import Limits
from truegreen.quarantine.overview import overview

LIMITS = Limits(max_quarantined=2, max_quarantine_days=30)
NOW = "2026-11-15T12:00:00Z"


def _entry(case, since="2026-11-01T00:00:00Z", expires="2026-12-01T00:00:00Z"):
    return Entry(id=case, lane="l", owner="@ana", reason="r", ticket="#1", since=since, expires=expires)


def _overview(*entries, now=NOW):
    return overview(Quarantine(entries=entries, digest=sha256_of(b"")), LIMITS, now)


@pytest.mark.parametrize(
    ("entry", "standing", "days_left", "holds"),
    [
        (_entry("a"), "live", 15, False),
        (_entry("a", expires="2026-11-22T12:00:00Z"), "ends soon", 7, False),
        (_entry("a", expires="2026-11-22T12:00:01Z"), "live", 7, False),
        (_entry("a", expires=NOW), "expired", 0, True),
        (_entry("a", expires="2026-11-15T11:59:59Z"), "expired", -1, True),
        (_entry("a", since="2026-11-16T00:00:00Z"), "not yet", 15, False),
        (_entry("a", expires="2026-12-02T00:00:00Z"), "too long", 16, True),
        (_entry("a", since="2026-01-01T00:00:00Z", expires=NOW), "expired", 0, True),
    ],
)
def test_each_entry_has_one_standing(entry, standing, days_left, holds):
    """The weightiest; the file holds a merge if one of them would."""
    found = _overview(entry)
    assert [(standing, days_left)] == [(row.standing, row.days_left) for row in found.rows]
    assert (holds, False) == (found.holds, found.too_many)


def test_the_entry_that_ends_first_stands_first():
    """Whatever the order of the file."""
    found = _overview(_entry("b"), _entry("a"), _entry("c", expires="2026-11-20T00:00:00Z"))
    assert ["c", "a", "b"] == [row.entry.id for row in found.rows]


def test_too_many_entries_hold_and_each_still_stands_as_it_does():
    """One problem does not hide the others."""
    found = _overview(_entry("a"), _entry("b"), _entry("c", expires=NOW))
    assert (True, True) == (found.too_many, found.holds)
    assert ["expired", "live", "live"] == [row.standing for row in found.rows]


def test_an_empty_file_holds_nothing():
    """It excuses nothing either."""
    assert ((), False) == (_overview().rows, _overview().holds)


def test_a_clock_that_says_no_time_is_refused():
    """Nothing is live at no time."""
    with pytest.raises(EvidenceProblem, match="bad-time"):
        _overview(_entry("a"), now="")
