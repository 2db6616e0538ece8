# SPDX-License-Identifier: Apache-2.0
"""Which entries count: base's only, dropped or shortened by head at once, never at or after their end."""

import datetime as dt

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.instants import instant, instant_text
from truegreen.core.outcome import Word
from truegreen.quarantine.entries import Entry, Quarantine
from truegreen.quarantine.live import Limits, Unreadable, live, reading

LIMITS = Limits(max_quarantined=3, max_quarantine_days=30)
CASE = "tests/test_chat.py::test_tone"
NOW = "2026-11-15T12:00:00Z"
BAD = Unreadable(why="truegreen.quarantine.toml:3: no TOML")


def _entry(case=CASE, lane="l", since="2026-11-01T00:00:00Z", expires="2026-12-01T00:00:00Z"):
    return Entry(id=case, lane=lane, owner="@ana", reason="r", ticket="#1", since=since, expires=expires)


def _file(*entries):
    return Quarantine(entries=entries, digest=sha256_of(b""))


def _live(base, head, now=NOW, *, base_ids=None):
    return live(base, head, now, limits=LIMITS, base_ids=base_ids)


def _codes(causes):
    return [(cause.code, cause.facts.get("where")) for cause in causes]


def test_an_entry_on_base_that_head_keeps_excuses_exactly_its_case():
    """Its neighbours with the same beginning are counted; so is another lane."""
    found = _live(_file(_entry()), _file(_entry()))
    assert "2026-12-01T00:00:00Z" == found.excused_until("l", CASE)
    for lane, case in [
        ("l", CASE + "_policy"),
        ("l", CASE + "[fr]"),
        ("l", CASE[:-1]),
        ("m", CASE),
        ("l", CASE + " "),
    ]:
        assert found.excused_until(lane, case) is None
    assert ((), ()) == (found.causes, found.notes)


def test_what_only_head_has_excuses_nothing():
    """An author cannot excuse the own change."""
    found = _live(None, _file(_entry()))
    assert ({}, ()) == (found.entries, found.causes)


@pytest.mark.parametrize("head", [None, _file(), _file(_entry(case=CASE + "2"))])
def test_what_head_drops_is_dropped_at_once(head):
    """Whether the entry, all entries or the file is gone."""
    assert {} == _live(_file(_entry()), head).entries


@pytest.mark.parametrize(
    ("base", "head", "until"),
    [
        ("2026-12-01T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-20T00:00:00Z"),
        ("2026-11-20T00:00:00Z", "2026-12-01T00:00:00Z", "2026-11-20T00:00:00Z"),
    ],
)
def test_the_earlier_end_counts(base, head, until):
    """Shortened by head: at once. Extended by head: not before it is on base."""
    found = _live(_file(_entry(expires=base)), _file(_entry(expires=head)))
    assert until == found.excused_until("l", CASE)


@pytest.mark.parametrize(
    ("now", "is_excused"),
    [
        ("2026-10-31T23:59:59Z", False),
        ("2026-11-01T00:00:00Z", True),
        ("2026-11-30T23:59:59Z", True),
        ("2026-12-01T00:00:00Z", False),
        ("2026-12-01T00:00:01Z", False),
    ],
)
def test_an_entry_counts_from_its_start_until_before_its_end(now, is_excused):
    """The instant of expiry is expired."""
    assert is_excused == (_live(_file(_entry()), _file(_entry()), now).excused_until("l", CASE) is not None)


def test_an_expired_entry_on_base_holds_whoever_keeps_it():
    """With the name of its owner; it excuses nothing."""
    old = _entry(expires=NOW)
    found = _live(_file(old), _file(old))
    (cause,) = found.causes
    assert ("quarantine-expired", Word.HOLD, "l", CASE) == (cause.code, cause.word, cause.lane, cause.case)
    assert {"id": CASE, "owner": "@ana", "ticket": "#1", "where": "base", "expires": NOW} == cause.facts
    assert {} == found.entries


@pytest.mark.parametrize("head", [None, _file()])
def test_whoever_drops_an_expired_entry_is_not_held_for_it(head):
    """Somebody must be able to clean up."""
    assert () == _live(_file(_entry(expires=NOW)), head).causes


def test_renewing_an_expired_entry_does_not_bring_it_back():
    """An extension counts only from base, and base's entry is over."""
    found = _live(_file(_entry(expires=NOW)), _file(_entry()))
    assert ([("quarantine-expired", "base")], {}) == (_codes(found.causes), found.entries)


def test_a_head_that_brings_an_expired_entry_is_held():
    """Merged, it would hold everybody: shortened into the past, or new and already over."""
    for base in (_file(_entry()), None):
        found = _live(base, _file(_entry(expires=NOW)))
        assert ([("quarantine-expired", "head")], {}) == (_codes(found.causes), found.entries)


def test_a_clock_that_steps_back_gives_the_answer_of_the_earlier_time():
    """Nothing is remembered between two calls."""
    file = _file(_entry())
    before = _live(file, file)
    after = _live(file, file, "2027-01-01T00:00:00Z")
    assert [("quarantine-expired", "base")] == _codes(after.causes)
    assert before == _live(file, file)


@pytest.mark.parametrize("now", ["", "2026-11-15", "2026-11-15T12:00:00+00:00", "9"])
def test_a_clock_that_says_no_time_excuses_nothing(now):
    """An empty text sorts before every end."""
    with pytest.raises(EvidenceProblem, match="bad-time"):
        _live(_file(_entry()), _file(_entry()), now)


@pytest.mark.parametrize(
    ("base", "head", "codes"),
    [
        (BAD, BAD, [("quarantine-unreadable", "base")]),
        (_file(_entry()), BAD, [("quarantine-unreadable", "head")]),
        (None, BAD, [("quarantine-unreadable", "head")]),
        (BAD, _file(_entry()), []),
        (BAD, None, []),
    ],
)
def test_a_file_that_cannot_be_read_holds_and_excuses_nothing(base, head, codes):
    """All but the head that mends it."""
    found = _live(base, head)
    assert (codes, {}) == (_codes(found.causes), found.entries)


MANY = _file(*(_entry(case=f"a.py::t{number}") for number in range(4)))
LONG = _file(_entry(expires="2026-12-01T00:00:01Z"))


@pytest.mark.parametrize(
    ("base", "head", "codes"),
    [
        (MANY, MANY, [("quarantine-too-many", "base")]),
        (_file(), MANY, [("quarantine-too-many", "head")]),
        (LONG, LONG, [("quarantine-too-long", "base")]),
        (None, LONG, [("quarantine-too-long", "head")]),
        (MANY, _file(*MANY.entries[:3]), []),
        (LONG, _file(_entry()), []),
        (BAD, LONG, [("quarantine-unreadable", "base")]),
    ],
)
def test_a_file_beyond_the_policys_limits_holds(base, head, codes):
    """Too many entries, or one that runs too long; a head that is in order mends it."""
    found = _live(base, head)
    assert codes == _codes(found.causes)
    assert {} == found.entries or not codes


def test_a_head_that_mends_a_long_entry_is_excused_until_the_shorter_end():
    """What both files agree on counts."""
    assert "2026-12-01T00:00:00Z" == _live(LONG, _file(_entry())).excused_until("l", CASE)


@pytest.mark.parametrize(
    ("now", "notes"),
    [
        ("2026-11-23T23:59:59Z", []),
        ("2026-11-24T00:00:00Z", ["quarantine-expiring"]),
        ("2026-11-30T23:59:59Z", ["quarantine-expiring"]),
        ("2026-12-01T00:00:00Z", []),
        ("2026-10-31T23:59:59Z", ["quarantine-not-yet"]),
    ],
)
def test_the_end_is_announced_seven_days_before(now, notes):
    """A note never changes the word."""
    found = _live(_file(_entry()), _file(_entry()), now)
    assert [(code, None) for code in notes] == [(note.code, note.word) for note in found.notes]


@pytest.mark.parametrize(
    ("base_ids", "codes"),
    [
        (None, []),
        ({"l": {CASE}}, []),
        ({"l": {CASE + "[de]"}}, ["quarantine-unmatched"]),
        ({"m": {CASE}}, ["quarantine-unmatched"]),
        ({}, ["quarantine-unmatched"]),
    ],
)
def test_an_entry_that_matches_no_case_of_base_is_noted(base_ids, codes):
    """Head's ids have no say: a head that deletes the test makes no entry stale."""
    assert codes == [note.code for note in _live(_file(_entry()), _file(_entry()), base_ids=base_ids).notes]


def test_a_revision_without_the_file_has_no_quarantine():
    """Absent, unreadable and read are three things."""
    data = b'schema = "truegreen/quarantine/v1"\n'
    assert (None, _file()) == (reading(None), msgspec.structs.replace(reading(data), digest=sha256_of(b"")))
    assert reading(b"\xff").why.startswith("truegreen.quarantine.toml:1: byte 0 is 0xff")
    assert isinstance(reading(b""), Unreadable)


def _at(day):
    return instant_text(dt.datetime(2026, 11, 1, tzinfo=dt.UTC) + dt.timedelta(days=day))


ENTRIES = st.builds(
    lambda case, lane, since, days: _entry(case, lane, _at(since), _at(since + days)),
    st.sampled_from(["a::1", "a::1[x]", "a::2"]),
    st.sampled_from(["l", "m"]),
    st.integers(-5, 5),
    st.integers(1, 35),
)
FILES = st.lists(ENTRIES, max_size=4, unique_by=lambda entry: (entry.lane, entry.id)).map(
    lambda some: _file(*some)
)
READINGS = st.one_of(st.none(), st.just(BAD), FILES)
TIMES = st.integers(-6, 45).map(_at)


def _in_order(read):
    if read is None:
        return True
    return (
        isinstance(read, Quarantine)
        and len(read.entries) <= 3
        and all(
            instant(entry.expires) - instant(entry.since) <= dt.timedelta(days=30) for entry in read.entries
        )
    )


@given(base=READINGS, head=READINGS, now=TIMES)
def test_the_rules_hold_for_every_pair_of_files(base, head, now):
    """Written down a second time, case by case, from the text of the rules."""
    found = _live(base, head, now)
    base_entries = {(e.lane, e.id): e for e in base.entries} if isinstance(base, Quarantine) else {}
    head_entries = {(e.lane, e.id): e for e in head.entries} if isinstance(head, Quarantine) else {}
    for lane in ("l", "m"):
        for case in ("a::1", "a::1[x]", "a::2"):
            mine, theirs = base_entries.get((lane, case)), head_entries.get((lane, case))
            counts = (
                mine is not None
                and theirs is not None
                and _in_order(head)
                and mine.since <= now
                and now < mine.expires
                and now < theirs.expires
            )
            wanted = min(mine.expires, theirs.expires) if counts else None
            assert wanted == found.excused_until(lane, case)
    expired = {
        key
        for key, entry in head_entries.items()
        if entry.expires <= now or (key in base_entries and base_entries[key].expires <= now)
    }
    if _in_order(head):
        assert expired == {(cause.lane, cause.case) for cause in found.causes}
    else:
        assert found.causes
    assert {Word.HOLD} >= {cause.word for cause in found.causes}
    assert {None} >= {note.word for note in found.notes}


@given(base=FILES, head=FILES, now=TIMES, drop=st.integers(0, 3), from_base=st.booleans())
def test_taking_an_entry_away_never_excuses_more(base, head, now, drop, from_base):
    """From either file, unless the file was out of order before."""
    one = base if from_base else head
    fewer = _file(*(entry for number, entry in enumerate(one.entries) if number != drop))
    after = _live(fewer, head, now) if from_base else _live(base, fewer, now)
    before = _live(base, head, now)
    if _in_order(base) and _in_order(head):
        assert set(after.entries) <= set(before.entries)
