# SPDX-License-Identifier: Apache-2.0
"""Taking over a ``flakes.yaml``."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem, TruegreenProblem, UsageProblem
from truegreen.quarantine.entries import read_quarantine
from truegreen.quarantine.flakes import imported, read_flakes

NOW = "2026-09-10T00:00:00Z"
LIST = """\
# known flakes
- id: "tests/test_upload.py::test_resume"
  first_seen: 2026-09-02
  expires: 2026-10-02
  owner: "@emery"
  reason: "the mock sometimes returns 500"
"""
ENTRY = """
[[entry]]
id = "tests/test_upload.py::test_resume"
lane = "l"
owner = "@emery"
reason = "the mock sometimes returns 500"
ticket = "#1"
since = 2026-09-02
expires = 2026-10-02
"""
HEAD = 'schema = "truegreen/quarantine/v1"\n'


def _import(text, existing=None, *, lane="l", ticket="#1", now=NOW):
    data = existing.encode() if existing is not None else None
    return imported(read_flakes(text.encode(), name="flakes.yaml"), data, now, lane=lane, ticket=ticket)


def _refused(text, existing=None, **flags):
    with pytest.raises(UsageProblem) as caught:
        _import(text, existing, **flags)
    return caught.value.code, caught.value.message


def test_a_row_becomes_an_entry():
    """``first_seen`` is its start; lane and ticket come from the flags."""
    made = _import(LIST)
    assert (HEAD + ENTRY, (), ()) == (made.text, made.kept, made.losses)
    assert ["tests/test_upload.py::test_resume"] == [entry.id for entry in made.added]


def test_entries_are_added_behind_what_is_there():
    """Comments, order and line ends of the file stay."""
    there = "# ours\r\n" + HEAD.strip() + ENTRY.replace("resume", "other").replace("\n", "\r\n")
    made = _import(LIST, there)
    assert made.text.startswith(there)
    assert 2 == len(read_quarantine(made.text.encode()).entries)
    assert '\r\n[[entry]]\r\nid = "tests/test_upload.py::test_resume"\r\n' in made.text[len(there) :]


def test_a_file_without_a_last_line_end_gets_one():
    """The first new line does not run into it."""
    assert 2 == len(
        tomllib.loads(_import(LIST, (HEAD + ENTRY.replace("resume", "x")).rstrip()).text)["entry"]
    )


@pytest.mark.parametrize("name", ["lane", "ticket"])
def test_what_the_list_does_not_say_is_asked(name):
    """Neither lane nor ticket is made up."""
    code, said = _refused(LIST, **{name: None})
    assert ("import-incomplete", f"flakes.yaml:2: the entry has no {name}, which the list does not say") == (
        code,
        said,
    )


def test_a_row_that_says_lane_and_ticket_keeps_them():
    """The flags only stand in."""
    made = _import(LIST + "  lane: other\n  ticket: '#9'\n  note: |\n    seen on\n    Monday\n")
    (entry,) = made.added
    assert ("other", "#9", "seen on\nMonday\n") == (entry.lane, entry.ticket, entry.note)


def test_what_no_entry_can_hold_is_named():
    """With its line."""
    assert ('flakes.yaml:7: an entry has no "retry_count"',) == _import(LIST + "  retry_count: 2\n").losses


@pytest.mark.parametrize(("now", "added"), [("2026-10-01T23:59:59Z", 1), ("2026-10-02T00:00:00Z", 0)])
def test_a_row_that_is_over_is_left_out_and_named(now, added):
    """It would excuse nothing and hold everybody."""
    made = _import(LIST, now=now)
    lost = 'flakes.yaml:2: "tests/test_upload.py::test_resume" expired at 2026-10-02T00:00:00Z'
    assert (added, () if added else (lost,)) == (len(made.added), made.losses)


def test_importing_twice_changes_nothing():
    """What is there word by word is kept."""
    once = _import(LIST).text
    again = _import(LIST, once)
    assert (once, (), 1) == (again.text, again.added, len(again.kept))


def test_an_entry_that_is_there_with_other_words_is_not_replaced():
    """Both values are named."""
    code, said = _refused(LIST.replace("10-02", "10-03"), HEAD + ENTRY)
    assert "entry-exists" == code
    assert (
        'flakes.yaml:2: "tests/test_upload.py::test_resume" is in the quarantine with expires "2026-10-02T00:00:00Z", '
        'the list says "2026-10-03T00:00:00Z"'
    ) == said


def test_an_expired_entry_that_is_there_is_not_replaced_either():
    """A renewal is a change that somebody makes and somebody reviews."""
    assert (
        "entry-exists"
        == _refused(LIST.replace("10-02", "12-02"), HEAD + ENTRY, now="2026-11-01T00:00:00Z")[0]
    )


@pytest.mark.parametrize("text", ["", "[]\n", "---\n", "# nothing\n", "null\n"])
def test_an_empty_list_adds_nothing(text):
    """And is no error."""
    assert (HEAD, ()) == (_import(text).text, _import(text).added)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n", "flakes.yaml:1: a table, asked a list"),
        ("- a\n", 'flakes.yaml:1: "a", asked id, owner, reason, first_seen and expires'),
        ("--- []\n--- []\n", "flakes.yaml: 2 documents, asked 1"),
        (LIST.replace('  owner: "@emery"\n', ""), "flakes.yaml:2: the entry has no owner, asked a name"),
        (
            LIST.replace("2026-10-02", "soon"),
            'flakes.yaml:4: expires is "soon", asked a day such as 2026-11-01',
        ),
        (
            LIST.replace("2026-10-02", "2026-02-30"),
            'flakes.yaml:4: expires is "2026-02-30", asked a day such as',
        ),
        (
            LIST.replace("2026-10-02", "20261002"),
            "flakes.yaml:4: expires is 20261002, asked a day such as 2026-11-01",
        ),
        (LIST.replace("2026-10-02", "~"), "flakes.yaml:4: expires is null, asked a day such as 2026-11-01"),
        (
            LIST.replace("2026-10-02", "2026-10-02 10:00:00"),
            "flakes.yaml:2: expires is 2026-10-02 10:00:00, asked a day",
        ),
        (
            LIST.replace("2026-10-02", "2026-09-01"),
            "flakes.yaml:2: the entry ends at 2026-09-01T00:00:00Z, asked later",
        ),
        (
            LIST.replace('"@emery"', "2026-09-01"),
            'flakes.yaml:5: owner is the date "2026-09-01", asked a text',
        ),
        (LIST.replace('"@emery"', "7"), "flakes.yaml:2: owner is 7, asked a name"),
        (
            LIST.replace("::test_resume", ""),
            'flakes.yaml:2: id is "tests/test_upload.py", asked the whole id of one case',
        ),
        (
            LIST + LIST.partition("\n")[2],
            'flakes.yaml:7: "tests/test_upload.py::test_resume" stands twice in the list',
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, said):
    """No row is guessed at, and none is dropped in silence."""
    code, found = _refused(text)
    assert ("bad-flakes", said) == (code, found[: len(said)])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (LIST.replace('"@emery"', "no"), "yaml-two-readings"),
        (LIST.replace('"@emery"', "1e3"), "yaml-two-readings"),
        (LIST + "  owner: '@ana'\n", "yaml-two-readings"),
        (LIST.replace('"@emery"', "!x y"), "bad-yaml"),
        ("- [\n", "bad-yaml"),
    ],
)
def test_a_scalar_that_readers_read_differently_is_refused(text, code):
    """Where a text is asked; a date without quotes is a date where a date is asked."""
    assert code == _refused(text)[0]


def test_a_quoted_date_is_a_date_too():
    """Lists of both spellings are about."""
    assert "2026-10-02T00:00:00Z" == _import(LIST.replace("2026-10-02", "'2026-10-02'")).added[0].expires


def test_an_instant_keeps_its_offset_and_a_start_its_day():
    """An entry starts with its day."""
    text = LIST.replace("2026-10-02", "2026-10-02T10:00:00+02:00").replace(
        "2026-09-02", "2026-09-02T11:30:00Z"
    )
    (entry,) = _import(text).added
    assert ("2026-09-02T00:00:00Z", "2026-10-02T08:00:00Z") == (entry.since, entry.expires)


def test_a_file_that_is_there_and_cannot_be_read_stays_as_it_is():
    """Nothing is added to what nobody can read."""
    with pytest.raises(EvidenceProblem, match="bad-quarantine"):
        _import(LIST, "x")
    with pytest.raises(EvidenceProblem, match="bad-quarantine"):
        _import(LIST, HEAD + "entry = []\n")


TEXTS = st.text(alphabet="ab\"\\'\n\t\x7f\u2028é#:{}[]", min_size=1, max_size=8)


@given(reason=TEXTS, note=TEXTS, ticket=TEXTS)
def test_whatever_the_texts_the_new_file_can_be_read(reason, note, ticket):
    """What was imported comes back word by word, or the row is refused."""
    row = {
        "id": "a::b",
        "first_seen": "2026-09-02",
        "expires": "2026-10-02",
        "owner": "x",
        "reason": reason,
        "note": note,
    }
    text = "- " + "\n  ".join(f"{name}: {_yaml(value)}" for name, value in row.items()) + "\n"
    refused, made = "", None
    try:
        made = _import(text, ticket=ticket)
    except TruegreenProblem as problem:
        refused = problem.code
    entries = read_quarantine(made.text.encode()).entries if made else ()
    found = [(entry.reason, entry.note, entry.ticket) for entry in entries]
    assert (refused, found) in [("bad-flakes", []), ("", [(reason, note, ticket)])]


def _yaml(text):
    return '"' + "".join(f"\\U{ord(char):08x}" for char in text) + '"'


def test_what_a_terminal_would_obey_stands_as_an_escape():
    """A list may come from anybody, and its entries are printed; the value is the same."""
    text = "seen\u202e on\x9b31m \U000e0041"
    made = _import(LIST + r'  note: "seen\u202e on\x9b31m \U000e0041"' + "\n").text
    assert all(line.isprintable() for line in made.splitlines())
    assert text == tomllib.loads(made)["entry"][-1]["note"]
