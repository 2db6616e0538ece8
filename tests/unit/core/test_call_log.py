# SPDX-License-Identifier: Apache-2.0
"""One attempt as one line: read back whole, and readable by the shell tools of the article."""

import datetime as dt
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.call_log import MOST_BYTES, CallEntry, entries_of, entry_of, line_of, microseconds

OK = CallEntry(
    ended_us=1, took_s=1.5, waited_s=0.25, run="r", call="c", status=200, is_ok=True, end="complete"
)
TURNED_AWAY = CallEntry(waited_s=2.0, status=429, wants_again=True, reason="429-told")
TEXTS = st.text(max_size=60)


@given(
    st.builds(
        CallEntry,
        run=TEXTS,
        job=TEXTS,
        call=TEXTS,
        reason=TEXTS,
        is_ok=st.booleans(),
        attempt=st.integers(1, 9),
    )
)
def test_what_is_written_is_read_back(entry):
    """Any text in any field, one line, one entry."""
    line = line_of(entry)
    assert (1, True) == (line.count(b"\n"), line.endswith(b"\n"))
    assert entry == entry_of(line.decode())


@given(st.text(), st.text())
def test_a_line_is_short_whatever_it_tells(run, job):
    """Long texts are cut: one write of a line is not mixed with another's."""
    entry = CallEntry(run=run * 900, job=job * 900, call="\x01" * 900, reason="\x02" * 900, request="é" * 900)
    line = line_of(entry)
    assert len(line) <= MOST_BYTES
    assert entry_of(line.decode()) is not None


def test_a_line_that_is_still_too_long_keeps_its_run_and_loses_its_names():
    """Every character of them as an escape of six."""
    entry = CallEntry(run="\x01" * 900, job="\x02" * 900, resource="\x03" * 900, call="\x04" * 900)
    read = entry_of(line_of(entry).decode())
    assert ("\x01" * 200, "", "", "") == (read.run, read.job, read.resource, read.call)


def test_the_run_of_a_line_is_the_logs():
    """A caller cannot count for another run by accident."""
    assert "mine" == entry_of(line_of(OK, run="mine").decode()).run


def test_grep_and_awk_of_the_article_count_it(tmp_path):
    """Two answered calls, one turned away, 2.5 seconds waited, with the article's own commands."""
    log = tmp_path / "ci.log"
    log.write_bytes(b"".join(map(line_of, (OK, TURNED_AWAY, OK))))
    commands = (
        "grep -c 'model_call_ok' ci.log; grep -c 'status=429' ci.log; "
        """grep 'model_wait_seconds' ci.log | awk -F= '{s+=$2} END {print s"s total wait"}'"""
    )
    done = subprocess.run(["sh", "-c", commands], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ["2", "1", "2.5s total wait"] == done.stdout.split("\n")[:3]


def test_a_line_is_read_behind_what_a_ci_log_puts_before_it():
    """Job, step and time stand before a line in a downloaded log."""
    line = "gate\tmodel tests\t2026-11-29T10:00:00.123Z " + line_of(OK).decode()
    assert OK == entry_of(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("model_call_ok", CallEntry(status=200, is_ok=True)),
        ("10:01 status=429 x", CallEntry(status=429)),
        ("model_wait_seconds=1.25", CallEntry(waited_s=1.25)),
        ("job\t1970-01-01T00:00:01.5Z model_call_ok", CallEntry(ended_us=1_500_000, status=200, is_ok=True)),
        ("1970-01-01T00:00:00.1234567Z status=429", CallEntry(ended_us=123_456, status=429)),
        ("1970-02-30T00:00:00Z status=429", CallEntry(status=429)),
        ("model_call_ok status=200 model_wait_seconds=3", CallEntry(status=200, is_ok=True, waited_s=3.0)),
    ],
)
def test_a_foreign_line_is_read_for_what_it_says(line, expected):
    """The article's three words without our JSON."""
    assert expected == entry_of(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "exit_status=4290",
        "xmodel_call_okay",
        "model_wait_seconds=soon",
        line_of(OK).decode()[:-20],
        line_of(OK).decode().replace("call/v1", "call/v2"),
        line_of(OK).decode().replace('"took_s":1.5', '"took_s":-1.5'),
        line_of(OK).decode().replace('"took_s":1.5', '"attempt":0'),
        line_of(OK).decode().replace('"took_s":1.5', '"took_s":"long"'),
        '{"said":"' + "[" * 5000,
        '{"said":"\udcff"',
    ],
)
def test_everything_else_is_no_line(line):
    """Cut, foreign, contradictory or hostile text counts as nothing."""
    assert None is entry_of(line)


def test_the_entries_of_a_log_come_in_its_order():
    """Other lines are passed over."""
    text = "building…\n" + line_of(OK).decode() + "done\n\n" + line_of(TURNED_AWAY).decode()
    assert [OK, TURNED_AWAY] == list(entries_of(text))


def test_a_line_that_only_tells_a_wait_is_no_attempt():
    """The article logs calls and waits on lines of their own."""
    lines = ("model_call_ok", "status=429", "model_wait_seconds=1")
    assert [True, True, False] == [entry_of(line).is_attempt for line in lines]
    assert CallEntry(end="timeout").is_attempt


def test_time_is_counted_in_microseconds_of_utc():
    """Another zone is the same point."""
    east = dt.timezone(dt.timedelta(hours=2))
    assert 3_600_000_001 == microseconds(dt.datetime(1970, 1, 1, 3, 0, 0, 1, tzinfo=east))
