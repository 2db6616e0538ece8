# SPDX-License-Identifier: Apache-2.0
"""Measured numbers for people, tools and the repository."""

import tomllib

from truegreen.core.call_log import CallEntry
from truegreen.limiter.measure import numbers_of, verdict
from truegreen.limiter.measure_page import Page, document, text_lines, toml_text

S = 1_000_000


def page(entries, window="7d"):
    """The page of one log."""
    numbers = numbers_of({"log": entries})
    row = verdict(numbers, since_us=0)
    return Page(numbers=numbers, row=row, window=window, measured_at="2026-11-29T00:00:00Z")


def entry(ended_s, **more):
    """An attempt of one second."""
    status = more.pop("status", 200)
    return CallEntry(
        ended_us=ended_s * S, took_s=1.0, status=status, is_ok=status == 200, end="complete", run="r", **more
    )


BUSY = page(
    [
        entry(10, waited_s=4.0),
        entry(11, status=429, wants_again=True),
        entry(13, attempt=2, layer="openai-sdk\x7f", request="sha256:x"),
        CallEntry(status=200, is_ok=True),
    ]
)


def test_people_read_a_line_a_number_and_the_verdict_last():
    """The whole screen."""
    assert [
        "calls per run   1.5 (2 runs, 3 answered)",
        "rate-limited    1 of 4 attempts (25.0 %)",
        "waited          4.0 s; wall clock unknown",
        "peak in flight  1; calls were turned away from 1 on",
        "time-outs       0, 0 s",
        "repeated        1 attempts, 0 refused by the budget",
        "retry layer     openai-sdk\x7f: 1 attempts of 1 calls beside ours",
        "without a time  1 attempts: counted, in no peak and no wall clock",
        f"verdict         lower-concurrency: {BUSY.row.why}",
        "capacity        1, below the load at which calls were turned away",
    ] == list(text_lines(BUSY))


def test_a_log_with_times_has_its_share_of_the_wall_clock():
    """Waited and called."""
    lines = list(text_lines(page([entry(10, waited_s=4.0)])))
    assert "waited          4.0 s, 80.0 % of 5.0 s wall clock" == lines[2]
    assert "capacity        1, the measured peak" == lines[-1]


def test_without_times_there_is_no_peak():
    """And no capacity."""
    lines = list(text_lines(page([CallEntry(status=429)])))
    assert "peak in flight  unknown" in lines
    assert not lines[-1].startswith("capacity")


def test_nothing_measured_says_only_that():
    """No numbers are made up."""
    assert [
        "verdict         nothing-measured: no call stands in the window: there is nothing to decide by"
    ] == list(text_lines(page([])))


def test_the_file_of_the_repository_is_toml_that_says_the_same():
    """Whatever a layer's name holds."""
    for one in (BUSY, page([]), page([CallEntry(status=200, is_ok=True)])):
        assert document(one) == tomllib.loads(toml_text(one))
        assert toml_text(one).startswith(f"# {one.row.why}\n")
