# SPDX-License-Identifier: Apache-2.0
"""The verb ``ledger``: a ledger counted again, and the baseline that says what judges."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.core.outcome import Exit
from truegreen.wiring.environment import environment
from truegreen.wiring.ledger import FORMATS, shown
from truegreen.wiring.ledger_baseline import BaselineRequest
from truegreen.wiring.ledger_baseline import baseline as make_baseline


@click.group("ledger", subcommand_metavar="VERB ...")
def ledger() -> None:
    """Ledgers of model tests: what their samples prove, and what is agreed to judge."""


@ledger.command("show")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output."
)
def show(file: Path, form: str) -> Exit:
    """Count the ledger in FILE again and say what its samples prove."""
    click.echo(shown(file, form), nl=False)
    return Exit.DONE


@ledger.command("baseline")
@click.option("--lane", metavar="NAME", help="One lane. Default: every lane that is sampled.")
@click.option("--reason", metavar="TEXT", help="Why it changes, in a sentence; needed to write.")
@click.option(
    "--ledger",
    "ledgers",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Agree on the endpoint and models of this ledger; may be given again.",
)
@click.option("--base", metavar="BRANCH", help="Branch that this goes into. Default: the default branch.")
@click.option(
    "--check", "is_check", is_flag=True, help="Write nothing; exit 1 if the committed file does not fit."
)
def baseline(
    *, lane: str | None, reason: str | None, ledgers: tuple[Path, ...], base: str | None, is_check: bool
) -> Exit:
    """Write truegreen.baseline.json from the tests as they are.

    It holds the ruler digest with its components, the case ids, and the files that cases name. Its diff is
    the announcement that a reviewer agrees to. No sample is taken.
    """
    if not is_check and not (reason or "").strip():
        raise click.UsageError("--reason is missing: say in a sentence why what judges changes")
    request = BaselineRequest(
        cwd=Path.cwd(), lane=lane, reason=reason, ledgers=ledgers, base=base, is_check=is_check
    )
    path, changes = make_baseline(request, environment())
    told = [line for change in changes for line in change.lines]
    for line in told:
        click.echo(in_one_line(line))
    if not told:
        click.echo(f"{path.name} fits")
        return Exit.DONE
    if is_check:
        click.echo(f"{path.name} does not fit: truegreen ledger baseline --reason TEXT")
        return Exit.BLOCK
    click.echo(f"written: {path.name}")
    return Exit.DONE
