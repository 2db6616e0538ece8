# SPDX-License-Identifier: Apache-2.0
"""``truegreen conformance DIR``: cases with right answers, run through the product's own functions."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.conformance.run import Report, text_lines
from truegreen.core.outcome import Exit
from truegreen.report.as_json import shown_json
from truegreen.wiring.conformance import run_folder


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
def conformance(folder: Path, as_json: bool) -> int:  # noqa: FBT001 - click's call
    """Run the case files of a folder and say which answers agree.

    Exit 0 if every answer agrees, 1 if one differs, 3 if none differs and a case could not be answered.
    """
    report = run_folder(folder)
    if as_json:
        click.echo(shown_json(report.as_json), nl=False)
    else:
        for line in text_lines(report):
            click.echo(in_one_line(line))
    return exit_code(report)


def exit_code(report: Report) -> int:
    """The exit code that a report means."""
    summary = report.summary
    if summary["disagree"]:
        return Exit.BLOCK
    return Exit.HOLD if summary["unsupported"] or summary["unreadable"] else Exit.DONE
