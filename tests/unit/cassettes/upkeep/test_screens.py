# SPDX-License-Identifier: Apache-2.0
"""Lines on a terminal, whole screens."""

from factories.sessions import hit, miss, session
from truegreen.cassettes.upkeep import screens
from truegreen.cassettes.upkeep.listing import Row, Sums
from truegreen.cassettes.upkeep.reading import ABSENT, Change
from truegreen.cassettes.upkeep.run_log import Log, run_of


def _row(**changes):
    said = {
        "file": "a.json", "template": "labels", "version": "4", "model_asked": "m", "model_served": "m-1", "answers": 2,
        "statuses": (200, 429), "recorded_at": "2026-11-29T21:00:00Z", "tokens": None, "problem": "",
    }  # fmt: skip
    return Row(**(said | changes))


def test_a_table_aligns_and_names_what_is_unusual():
    """Another model that answered, another status, a file that cannot be read."""
    lines = list(screens.table([_row(), _row(file="b.json", problem="cassette-truncated")]))
    assert [
        "file    template                            model    answers  tokens  recorded",
        "a.json  labels 4                            m (m-1)  2 (429)  -       2026-11-29T21:00:00Z",
        "b.json  cannot be read: cassette-truncated",
        "2 recordings, 1 cannot be read",
    ] == lines
    assert ["0 recordings"] == list(screens.table([]))


def test_differences_are_cut_where_they_are_long():
    """The path stands whole."""
    found = [Change(at="a.b", old=ABSENT, new="x" * 300), Change(at="c", old=1, new=True)]
    lines = list(screens.changes(found))
    assert ["a.b", "  - (absent)"] == lines[:2]
    assert lines[2].endswith("…")
    assert ["c", "  - 1", "  + true", "2 differences"] == lines[3:]


def test_a_page_shows_texts_line_by_line():
    """And values as JSON."""
    shown = {
        "key": "sha256:1", "template": None, "model_asked": "m", "ignored": {}, "redactions": [],
        "request": {"body": {"a": [1]}}, "answers": [{"status": 200, "text": "one\ntwo", "usage": None}],
    }  # fmt: skip
    lines = list(screens.page("a.json", shown))
    assert lines.index("request") < lines.index("answer 1 of 1")
    assert ["  status: 200", "  text:", "    | one", "    | two", "  usage: null"] == lines[-5:]


def test_weeks_say_where_templates_churn():
    """One whole run, one of a part, a line that cannot be read."""
    runs = [
        run_of(
            session(hits=(hit("a.json", count=8),), misses=(miss("labels", count=2),), unused=("b.json",))
        ),
        run_of(session(complete=False, incomplete_because="-k")),
    ]
    assert [
        "2026-W48    2 of 11 requests missed (18.2 %) in 2 runs  more than one in ten: templates churn",
        "missed          2  labels",
        "unused      1 recordings in the last complete run, 2026-11-23T10:01:00Z",
        "unreadable  1 lines of the log: its numbers are not certain",
    ] == list(screens.log_lines(Log(runs=tuple(runs), unreadable=1)))
    assert ["runs        0 in the log"] == list(screens.log_lines(Log(runs=(), unreadable=0)))


def test_numbers_of_an_empty_folder():
    """Nothing was ever recorded."""
    empty = Sums(
        recordings=0, unreadable=1, answers=0, bytes=0, tokens=0, redactions=0, templates=(), models=(), oldest=None,
        newest=None,
    )  # fmt: skip
    lines = list(screens.numbers(empty))
    assert ("recordings  0 (1 more cannot be read)", "recorded    never") == (lines[0], lines[-1])


def test_nothing_asked_has_no_rate():
    """A run without a request, and no complete one."""
    run = run_of(session(hits=(), complete=False, incomplete_because="-k"))
    assert ["2026-W48    0 of 0 requests missed (-) in 1 runs"] == list(
        screens.log_lines(Log(runs=(run,), unreadable=0))
    )


def test_numbers_name_templates_and_models():
    """The most first."""
    sums = Sums(
        recordings=3, unreadable=0, answers=3, bytes=9, tokens=1, redactions=0, templates=(("labels", 2), ("(none)", 1)),
        models=(("m", 3),), oldest="2026-01-01T00:00:00Z", newest="2026-01-02T00:00:00Z",
    )  # fmt: skip
    assert ["template        2  labels", "template        1  (none)", "model           3  m"] == list(
        screens.numbers(sums)
    )[-3:]


def test_a_part_that_is_no_object_is_one_line():
    """As a shortened value."""
    shown = {
        "key": "k",
        "template": None,
        "model_asked": None,
        "ignored": {},
        "redactions": [],
        "request": "x",
        "answers": [],
    }
    assert '  "x"' == list(screens.page("a.json", shown))[-1]
