# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal and in a log."""

import sys

from truegreen.cli.sample_screen import LiveScreen, PlainScreen, screen
from truegreen.sampling.ledger import Sample
from truegreen.sampling.schedule import Progress


def _progress(passed, read, *, is_open):
    return Progress(passed=passed, read=read, outstanding=0, is_open=is_open)


def test_a_log_has_a_line_for_each_case_that_is_done(capsys):
    """And none in between; notices come first, whatever characters they hold."""
    shown = PlainScreen()
    shown.planned(("a", "b"), ("careful\x1b[31m",), engine="fork")
    shown.ended("a", Sample(n=1, bucket="pass"), _progress(1, 1, is_open=True))
    shown.ended("a", Sample(n=2, bucket="pass"), _progress(2, 2, is_open=False))
    shown.ended("a", Sample(n=3, bucket="pass"), _progress(2, 2, is_open=False))
    shown.ended("b", Sample(n=1, bucket="fail"), _progress(0, 2, is_open=False))
    assert [
        "note: careful\\x1b[31m",
        "sampling 2 cases (engine fork)",
        "2/2 a (1 cases open)",
        "0/2 b (0 cases open)",
    ] == capsys.readouterr().err.splitlines()


class Recorder:
    """Stands in for rich's console and status."""

    def __init__(self):
        self.lines, self.states = [], []

    def print(self, text, **_):
        """A line."""
        self.lines.append(text)

    def update(self, text):
        """The live line."""
        self.states.append(text)


def test_a_terminal_has_a_live_line_beside(monkeypatch):
    """Refreshed so often that a person sees it move, and not for every sample."""
    recorder = Recorder()
    shown = LiveScreen(recorder, recorder)
    shown.planned(("f::a",), (), engine="async")
    for n in range(1, 50):
        shown.ended("f::a", Sample(n=n, bucket="pass"), _progress(n, n, is_open=n < 49))
    assert ["sampling 1 cases (engine async)", "49/49 f::a (0 cases open)"] == recorder.lines
    assert "1 samples, 1 cases open · 1/1 a" == recorder.states[0]
    assert len(recorder.states) < 49


def test_where_the_error_stream_goes_decides(monkeypatch, capsys):
    """A pipe is no terminal."""
    with screen() as shown:
        assert type(shown) is PlainScreen
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with screen() as shown:
        assert type(shown) is LiveScreen
