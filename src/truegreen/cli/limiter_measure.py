# SPDX-License-Identifier: Apache-2.0
"""``truegreen limiter measure``: what a week of calls says about limits."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.core.outcome import Exit
from truegreen.limiter.measure_page import document, text_lines
from truegreen.report.as_json import shown_json
from truegreen.wiring.limiter_measure import keep, measured


@click.command(name="measure")
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--window", default="7d", show_default=True, metavar="TIME", help="How far back: days or hours."
)
@click.option("--until", metavar="TIME", help="End of the window, UTC. Default: now.")
@click.option(
    "--write",
    "target",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the numbers in a file of the repository, .toml or .json.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def measure(*, logs: tuple[Path, ...], window: str, until: str | None, target: Path | None, form: str) -> int:
    """Count calls, calls that were turned away and seconds waited, and say what follows.

    Reads call logs, and any log with the words model_call_ok, status=429 or model_wait_seconds=. Exit 0 if the
    numbers say something, 3 if there are too few of them.
    """
    page = measured(logs, window=window, until=until)
    if form == "json":
        click.echo(shown_json(document(page)), nl=False)
    else:
        for line in text_lines(page):
            click.echo(in_one_line(line))
    if target is not None:
        keep(page, target)
    return Exit.DONE if page.row.then["told"] == "yes" else Exit.HOLD
