# SPDX-License-Identifier: Apache-2.0
"""Attempts are read as they were written, and what cannot be read counts as one."""

from truegreen.guards.attempts import UNREADABLE, Attempt, read, told

LINE = b'{"layer":"audit","what":"connect","address":"1.2.3.4:80","program":"python","pid":7}\n'
ONE = Attempt(layer="audit", what="connect", address="1.2.3.4:80", program="python", pid=7)


def test_no_file_is_no_attempt(tmp_path):
    """Nobody wrote anything."""
    assert () == read(tmp_path / "attempts.jsonl")


def test_a_line_is_an_attempt(tmp_path):
    """With its program and process."""
    path = tmp_path / "attempts.jsonl"
    path.write_bytes(LINE + b"\n" + LINE)
    assert (ONE, ONE) == read(path)


def test_what_cannot_be_read_is_an_attempt_too(tmp_path):
    """A cut line, an unknown field, bytes that are no text."""
    path = tmp_path / "attempts.jsonl"
    path.write_bytes(LINE[:20] + b"\n" + LINE.replace(b"pid", b"dip") + b"\xff\xfe\n")
    assert (UNREADABLE,) * 3 == read(path)


def test_equal_attempts_are_told_once():
    """With their count, in the order of the first."""
    other = Attempt(layer="packet", what="lookup", address="api.example")
    again = Attempt(layer="audit", what="connect", address="1.2.3.4:80", program="python", pid=8)
    assert ("connect 1.2.3.4:80 by python [audit] (2 times)", "lookup api.example [packet]") == told(
        [ONE, other, again]
    )
