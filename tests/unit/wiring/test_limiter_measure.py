# SPDX-License-Identifier: Apache-2.0
"""Logs read, and the file that keeps their numbers."""

import datetime as dt
import json
import tomllib

import pytest

from truegreen.core.call_log import CallEntry, line_of, microseconds
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.wiring import limiter_measure
from truegreen.wiring.limiter_measure import keep, measured, window_of

END = dt.datetime(2026, 11, 29, tzinfo=dt.UTC)


def log(path, *hours_ago, status=200):
    """A log whose calls ended so long before the end of the window."""
    entries = [
        CallEntry(ended_us=microseconds(END - dt.timedelta(hours=hours)), status=status, is_ok=status == 200)
        for hours in hours_ago
    ]
    path.write_bytes(b"".join(map(line_of, entries)) + b"\xff torn")
    return path


def test_logs_are_counted_within_the_window(tmp_path):
    """Two files, a line that is none, calls before and after."""
    paths = [log(tmp_path / "a", 200, 160, 0), log(tmp_path / "b", 1, -1)]
    page = measured(paths, window="7d", until="2026-11-29T00:00:00Z")
    assert (3, "not-needed", "7d") == (page.numbers.calls, page.row.then["verdict"], page.window)


@pytest.mark.parametrize("until", ["never", "", "2026-02-30T00:00:00Z"])
def test_an_end_that_is_no_time_is_a_usage_error(tmp_path, until):
    """It stands on the command line: exit 2, not 3."""
    with pytest.raises(UsageProblem, match="the time is") as caught:
        measured([log(tmp_path / "a", 1)], window="7d", until=until)
    assert ("bad-window", 2) == (caught.value.code, caught.value.exit_code)


def test_without_an_end_the_window_ends_now(tmp_path):
    """A call of this moment is in it."""
    path = tmp_path / "a"
    path.write_bytes(line_of(CallEntry(ended_us=microseconds(dt.datetime.now(dt.UTC)), status=429)))
    assert "lower-concurrency" == measured([path], window="1h", until=None).row.then["verdict"]


@pytest.mark.parametrize("text", ["", "7", "d", "0d", "-7d", "7 d", "7w", "1.5d", "99999d", "\u0667d"])
def test_a_window_is_days_or_hours(text):
    """Anything else is refused."""
    with pytest.raises(UsageProblem, match="bad-window"):
        window_of(text)


def test_days_and_hours():
    """What is asked."""
    assert (dt.timedelta(days=7), dt.timedelta(hours=36)) == (window_of("7d"), window_of("36h"))


def test_the_numbers_are_kept_as_toml_or_json(tmp_path):
    """By the file's name; another name is refused before anything is written."""
    page = measured([log(tmp_path / "a", 1, status=429)], window="7d", until="2026-11-29T00:00:00Z")
    for name, read in (("n.toml", tomllib.loads), ("n.json", json.loads)):
        keep(page, tmp_path / name)
        kept = read((tmp_path / name).read_text())
        assert (1, "lower-concurrency", "2026-11-29T00:00:00Z") == (
            kept["rate_limited"],
            kept["verdict"],
            kept["measured_at"],
        )
    with pytest.raises(UsageProblem, match="bad-numbers-file"):
        keep(page, tmp_path / "n.yaml")
    assert not (tmp_path / "n.yaml").exists()


def test_a_log_that_is_not_there_is_an_error(tmp_path):
    """No empty week is made of it."""
    with pytest.raises(ReachProblem, match="file-unreadable"):
        measured([tmp_path / "nowhere"], window="7d", until=None)


def test_a_log_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    """Not counted in part."""
    monkeypatch.setattr(limiter_measure, "MAX_BYTES", 10)
    with pytest.raises(UsageProblem, match="log-too-large"):
        measured([log(tmp_path / "a", 1)], window="7d", until=None)
