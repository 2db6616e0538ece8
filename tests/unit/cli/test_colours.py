# SPDX-License-Identifier: Apache-2.0
"""Colours where a person looks at a terminal, nowhere else."""

import os
import pty
import re
import subprocess
import sys
import typing

import pytest

from truegreen.cli.colours import COLOURS, show
from truegreen.report.screen import Style, line, paragraph, plain_screen

SCREEN = (*paragraph("a [bold]b[/bold] :smile: " + "long " * 60), (), line("  x  "))


def _on_a_terminal(*arguments, **variables):
    """What a terminal of 40 columns gets from the command."""
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "40", **variables}
    command = [sys.executable, "-m", "truegreen", *arguments]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        read = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            read += part
        assert (0, b"") == (process.wait(), process.stderr.read())
    os.close(ours)
    return read.decode().replace("\r\n", "\n")


def _piped(*arguments):
    ran = subprocess.run(
        [sys.executable, "-m", "truegreen", *arguments], capture_output=True, text=True, check=True
    )
    return ran.stdout


def test_every_style_has_a_colour():
    """A style without one would crash on a terminal only."""
    assert set(typing.get_args(Style)) == set(COLOURS)


def test_a_pipe_gets_no_escape():
    """The text is the plain screen, byte for byte."""
    assert "\x1b" not in _piped("why", "case-broken")


def test_a_terminal_gets_colours_around_the_same_text():
    """Without its escapes the screen is the plain one: not wrapped, no markup read."""
    shown = _on_a_terminal("why", "case-broken")
    assert "\x1b[1;31mcase-broken (block)\x1b[0m" in shown
    assert _piped("why", "case-broken") == re.sub(r"\x1b\[[0-9;]*m", "", shown)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colours_gets_none(variables):
    """Both usual ways of saying so."""
    assert "\x1b[1;31m" not in _on_a_terminal("why", "case-broken", **variables)


def test_words_in_brackets_stay_words(capsys):
    """What looks like markup or an emoji's name is text."""
    show(SCREEN)
    assert plain_screen(SCREEN) == capsys.readouterr().out
