# SPDX-License-Identifier: Apache-2.0
"""The verb ``why``: explains a reason code or a decision."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli.colours import show
from truegreen.core.outcome import Exit
from truegreen.wiring import why as wiring


@click.command(name="why")
@click.argument("target", metavar="[CODE|DECISION.json]", required=False)
@click.option(
    "--format", "form", type=click.Choice(wiring.FORMATS), default="text", show_default=True, help="Output."
)
def why(target: str | None, form: str) -> int:
    """Explain a reason code, or the decision in a file.

    Says the cause in plain words, the evidence behind it, the next action, and the command that reproduces it. Without
    an argument the decision is read that `truegreen gate --decision decision.truegreen.json` left here.
    """
    answer = wiring.why(target, Path())
    if form == "text":
        show(answer.screen())
    else:
        click.echo(answer.text(form), nl=False)
    return Exit.DONE
