# SPDX-License-Identifier: Apache-2.0
"""Reading ``truegreen.quarantine.toml``."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.quarantine.entries import MOST_PROBLEMS, Entry, quarantine_problems, read_quarantine

HEAD = 'schema = "truegreen/quarantine/v1"\n'
KEYS = {
    "id": '"tests/llm/test_tone.py::test_reply[de]"',
    "lane": '"model-tests"',
    "owner": '"@ana"',
    "reason": '"the judge sometimes answers in prose"',
    "ticket": '"#41"',
    "since": "2026-11-01",
    "expires": "2026-12-01",
}


def _entry(**changed):
    keys = {**KEYS, **changed}
    return "[[entry]]\n" + "".join(f"{name} = {value}\n" for name, value in keys.items() if value is not None)


def _said(text):
    return [str(problem) for problem in quarantine_problems(text.encode())]


def test_an_entry_is_read_whole():
    """A day stands for its first instant in UTC."""
    data = (HEAD + _entry(note='"see the log\\nof Monday"')).encode()
    read = read_quarantine(data)
    wanted = Entry(
        id="tests/llm/test_tone.py::test_reply[de]",
        lane="model-tests",
        owner="@ana",
        reason="the judge sometimes answers in prose",
        ticket="#41",
        since="2026-11-01T00:00:00Z",
        expires="2026-12-01T00:00:00Z",
        note="see the log\nof Monday",
    )
    assert ((wanted,), f"sha256:{hashlib.sha256(data).hexdigest()}") == (read.entries, read.digest)


def test_a_file_without_entries_is_an_empty_quarantine():
    """Nothing is excused by it."""
    assert () == read_quarantine(HEAD.encode()).entries


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-12-01", "2026-12-01T00:00:00Z"),
        ("2026-12-01T09:30:00Z", "2026-12-01T09:30:00Z"),
        ("2026-12-01 09:30:00+02:00", "2026-12-01T07:30:00Z"),
        ("2026-12-01T00:00:00-11:00", "2026-12-01T11:00:00Z"),
    ],
)
def test_an_end_is_an_instant(written, meant):
    """Whatever the offset, it is kept in UTC."""
    assert meant == read_quarantine((HEAD + _entry(expires=written)).encode()).entries[0].expires


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'truegreen.quarantine.toml: the file has no schema, asked "truegreen/quarantine/v1"'),
        (
            'schema = "truegreen/quarantine/v2"\nx = 1\n',
            'truegreen.quarantine.toml:1: schema is "truegreen/quarantine/v2", asked "truegreen/quarantine/v1"',
        ),
        (HEAD + "[[entry]\n", "truegreen.quarantine.toml:2: no TOML at column 8: "),
        (HEAD + "entries = 1\n", "truegreen.quarantine.toml:2: entries is no key of this file, "),
        (HEAD + "[entry]\n", "truegreen.quarantine.toml:2: entry is a table, asked tables [[entry]]"),
        (HEAD + "entry = [1]\n", "truegreen.quarantine.toml:2: entry[0] is 1, asked tables [[entry]]"),
        (
            HEAD + _entry(tickets='"x"'),
            "truegreen.quarantine.toml:10: entry[0].tickets is no key of an entry, the nearest is ticket",
        ),
        (HEAD + _entry(zzz='"x"'), "truegreen.quarantine.toml:10: entry[0].zzz is no key of an entry ["),
        (HEAD + _entry(ticket=None), "truegreen.quarantine.toml:2: the entry has no ticket, asked a ticket"),
        (
            HEAD + _entry(expires=None),
            "truegreen.quarantine.toml:2: the entry has no expires, asked a day such as ",
        ),
        (
            HEAD + _entry(owner='""'),
            'truegreen.quarantine.toml:5: entry[0].owner is "", asked a name of 1 to 100 characters',
        ),
        (
            HEAD + _entry(reason='" "'),
            'truegreen.quarantine.toml:6: entry[0].reason is " ", asked a single line',
        ),
        (
            HEAD + _entry(lane='"Lane"'),
            'truegreen.quarantine.toml:4: entry[0].lane is "Lane", asked a lane\'s name',
        ),
        (
            HEAD + _entry(since='"2026-11-01"'),
            'truegreen.quarantine.toml:8: entry[0].since is "2026-11-01", asked a day',
        ),
        (
            HEAD + _entry(since="2026-11-01T00:00:00Z"),
            "truegreen.quarantine.toml:8: entry[0].since is 2026-11-01 00:",
        ),
        (
            HEAD + _entry(expires='"2026-12-01"'),
            'truegreen.quarantine.toml:9: entry[0].expires is "2026-12-01", asked',
        ),
        (
            HEAD + _entry(expires="2026-12-01T09:30:00"),
            (
                "truegreen.quarantine.toml:9: entry[0].expires is 2026-12-01 09:30:00, asked a day such as 2026-12-01 or an "
                "instant such as 2026-12-01T09:00:00Z, without quotes"
            ),
        ),
        (
            HEAD + _entry(expires="2026-12-01T09:30:00.5Z"),
            "truegreen.quarantine.toml:9: entry[0].expires is 2026-12-01 09:30:00.500000+00:00, asked a day",
        ),
        (
            HEAD + _entry(expires="09:30:00"),
            "truegreen.quarantine.toml:9: entry[0].expires is 09:30:00, asked a day",
        ),
        (
            HEAD + _entry(expires="9999-12-31T23:59:59-01:00"),
            "truegreen.quarantine.toml:9: the time 9999-12-31T23:59:59-01:00 has no year in UTC",
        ),
        (
            HEAD + _entry(expires="2026-11-01"),
            "truegreen.quarantine.toml:9: the entry ends at 2026-11-01T00:00:00Z, asked later than its start 2026-11-01T0",
        ),
        (
            HEAD + _entry(expires="2026-11-01T01:00:00+02:00"),
            "truegreen.quarantine.toml:9: the entry ends at 2026-10-31T23:00:00Z, asked later than its start 2026-11-01T0",
        ),
        (
            HEAD + _entry() + _entry(expires="2027-01-01"),
            (
                'truegreen.quarantine.toml:11: "tests/llm/test_tone.py::test_reply[de]" stands twice in lane model-tests, '
                "first at truegreen.quarantine.toml:3"
            ),
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, said):
    """One sentence, one code."""
    found = _said(text)
    assert said == found[0][: len(said)]
    assert found[0].endswith(" [bad-quarantine]")
    with pytest.raises(EvidenceProblem) as caught:
        read_quarantine(text.encode())
    assert (found[0], 3) == (str(caught.value), caught.value.exit_code)


@pytest.mark.parametrize(
    "entry_id",
    [
        "tests/llm",
        "tests/llm/test_tone.py",
        "tests/llm/*::test_a",
        "tests/**",
        "test_?.py::x",
        "::x",
        "a::",
        "*",
    ],
)
def test_an_entry_names_a_case_not_a_file_or_a_pattern(entry_id):
    """A short entry would cover more than was meant."""
    assert ["truegreen.quarantine.toml:3"] == [
        line[: len("truegreen.quarantine.toml:3")] for line in _said(HEAD + _entry(id=f'"{entry_id}"'))
    ]


@pytest.mark.parametrize(
    "entry_id",
    [
        "a.py::t",
        "a.py::C::t[*-?]",
        "evals/a.test.ts > chat > tone: short",
        "a:b.py::t",
        "tests/c.yaml::tone-é",
    ],
)
def test_ids_of_every_runner_are_taken(entry_id):
    """Path and remainder; whatever stands in the remainder is text."""
    assert entry_id == read_quarantine((HEAD + _entry(id=f"'{entry_id}'")).encode()).entries[0].id


def test_one_case_may_stand_in_two_lanes():
    """It is the pair that may not stand twice."""
    assert [] == _said(HEAD + _entry() + _entry(lane='"other"'))


def test_everything_that_is_wrong_is_told_in_the_order_of_the_lines():
    """So that one look mends the file."""
    said = _said(HEAD + "x = 1\n" + _entry(owner=None, note="1", id="1") + _entry(expires="2026-10-01"))
    assert [2, 3, 4, 10, 18] == [int(line.split(":")[1]) for line in said]


def test_a_file_full_of_mistakes_is_not_read_to_its_end():
    """The list has a limit."""
    assert MOST_PROBLEMS == len(_said(HEAD + "[[entry]]\n" * 100))


VALUES = st.sampled_from(
    ['"a.py::t"', '"x"', '""', "1", "2026-11-01", "2026-12-01", "2026-12-01T00:00:00Z", "[]", "{}"]
)


@given(
    tables=st.lists(
        st.dictionaries(st.sampled_from([*KEYS, "note", "x"]), VALUES, max_size=9).map(
            lambda changed: _entry(**changed)
        )
        | st.sampled_from(["[x]\n", "\x00", '"', "", _entry()]),
        max_size=3,
    )
)
def test_any_file_is_read_whole_or_refused(tables):
    """No other error comes out, and what was read has ended after it began."""
    data = (HEAD + "".join(tables)).encode()
    problems = quarantine_problems(data)
    assert {"bad-quarantine"} >= {problem.code for problem in problems}
    entries = () if problems else read_quarantine(data).entries
    assert all(entry.since < entry.expires and entry.owner and entry.ticket for entry in entries)
    assert len({(entry.lane, entry.id) for entry in entries}) == len(entries)
