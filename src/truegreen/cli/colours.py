# SPDX-License-Identifier: Apache-2.0
"""A screen on standard output: with colours where a person looks at a terminal, plain everywhere else.

- What is shown is the same; a pipe, a file and a log get no escapes, and no library for them is loaded.
"""

from __future__ import annotations

import sys

import click

from truegreen.report.screen import Screen, plain_screen

COLOURS = {
    "admit": "bold green",
    "hold": "bold yellow",
    "block": "bold red",
    "dim": "dim",
    "strong": "bold",
    "": "",
}


def show(screen: Screen) -> None:
    """Print the screen."""
    if sys.stdout is None or not sys.stdout.isatty():
        click.echo(plain_screen(screen), nl=False)
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal pays for it
    from rich.text import Text  # noqa: PLC0415 - as above

    console = Console(highlight=False, emoji=False, markup=False, soft_wrap=True)
    for line in screen:
        text = Text()
        for span in line:
            text.append(span.text, style=COLOURS[span.style])
        text.rstrip()
        console.print(text)
