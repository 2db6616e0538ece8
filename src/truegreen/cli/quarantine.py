# SPDX-License-Identifier: Apache-2.0
"""The verb ``quarantine``: how its entries stand, and entries taken over from a ``flakes.yaml``."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli import problems
from truegreen.core.errors import not_in_this_version
from truegreen.core.outcome import Exit
from truegreen.quarantine.flakes import Imported
from truegreen.report.as_json import shown_json
from truegreen.wiring import quarantine as wiring
from truegreen.wiring.checkout import repository_of

LATER = ("add", "graduate", "list")
"""Sub-verbs of the design that are not built."""

_REPOSITORY = click.option(
    "--repo",
    "repository",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The repository. Default: the one that holds this folder.",
)


class _Group(click.Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The sub-verb; one that is not built says so before its options are read."""
        if cmd_name in LATER:
            raise not_in_this_version(f"the verb quarantine {cmd_name}", hint="truegreen quarantine --help")
        return super().get_command(ctx, cmd_name)


@click.group(name="quarantine", cls=_Group, no_args_is_help=True, subcommand_metavar="VERB ...")
def quarantine() -> None:
    """Cases that are known to be flaky: how their entries stand, and where they come from."""


@quarantine.command(name="check")
@click.argument("file", type=click.Path(path_type=Path), metavar="[FILE]", required=False)
@_REPOSITORY
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def check(*, file: Path | None, repository: Path | None, form: str) -> int:
    """Say how each entry stands now.

    Exit 1 if a merge would be held for it: an entry has expired or runs too long, or there are too many. Exit 3
    if the file cannot be read.
    """
    found = wiring.check(repository_of(repository, Path()), file)
    if form == "json":
        click.echo(shown_json(_document(found)), nl=False)
    else:
        _print(found)
    if found.overview is None:
        return Exit.HOLD
    return Exit.BLOCK if found.overview.holds else Exit.DONE


@quarantine.command(name="import")
@click.argument("file", type=click.Path(path_type=Path), metavar="FLAKES.YAML")
@click.option("--lane", metavar="NAME", help="The lane of every entry that names none.")
@click.option("--ticket", metavar="TEXT", help="The ticket of every entry that names none.")
@click.option(
    "--write", is_flag=True, help="Add the entries to truegreen.quarantine.toml. Default: print it."
)
@_REPOSITORY
def import_(*, file: Path, lane: str | None, ticket: str | None, write: bool, repository: Path | None) -> int:
    """Take over a list of flaky tests.

    Prints the whole new file, or adds to it with --write. What no entry can hold is named; an entry that is there
    already is never changed.
    """
    asked = wiring.Import(
        repository=repository_of(repository, Path()), file=file, lane=lane, ticket=ticket, is_written=write
    )
    made = wiring.import_flakes(asked)
    if not write:
        click.echo(made.text, nl=False)
    for line in _said(made, write=write):
        click.echo(problems.in_one_line(line), err=not write)
    return Exit.DONE


def _print(found: wiring.Checked) -> None:
    for problem in found.problems:
        click.echo(problems.shown(problem), nl=False, err=True)
    if found.overview is None:
        return
    for row in found.overview.rows:
        entry = row.entry
        ends = f"until {entry.expires}" if row.days_left >= 0 else f"since {entry.expires}"
        line = f"{row.standing:<9}  {ends}  {entry.lane}  {entry.id}  {entry.owner}  {entry.ticket}"
        click.echo(problems.in_one_line(line))
    total = len(found.overview.rows)
    click.echo(f"{total} of at most {found.limits.max_quarantined} entries")


def _document(found: wiring.Checked) -> dict[str, object]:
    rows = found.overview.rows if found.overview else ()
    return {
        "schema": "truegreen/quarantine-check/v1",
        "problems": [{"code": problem.code, "message": problem.message} for problem in found.problems],
        "holds": found.overview is None or found.overview.holds,
        "most_entries": found.limits.max_quarantined,
        "entries": [
            {
                "lane": row.entry.lane,
                "id": row.entry.id,
                "owner": row.entry.owner,
                "ticket": row.entry.ticket,
                "since": row.entry.since,
                "expires": row.entry.expires,
                "standing": row.standing,
                "days_left": row.days_left,
            }
            for row in rows
        ],
    }


def _said(made: Imported, *, write: bool) -> list[str]:
    done = "added" if write else "would be added"
    return [
        *(f"left out: {loss}" for loss in made.losses),
        *(f"there already: {entry.lane} {entry.id}" for entry in made.kept),
        f"{len(made.added)} {'entry' if len(made.added) == 1 else 'entries'} {done}",
    ]
