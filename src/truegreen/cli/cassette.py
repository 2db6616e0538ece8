# SPDX-License-Identifier: Apache-2.0
"""The verb ``cassette``: recordings of a model endpoint, and the proof that their keys cover them."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli import cassette_upkeep, problems
from truegreen.cli.cassette_check import check
from truegreen.cli.cassette_record import record
from truegreen.cli.cassette_seal import seal
from truegreen.core.outcome import Exit
from truegreen.report.as_json import shown_json
from truegreen.wiring import cassettes as wiring


@click.group(name="cassette", no_args_is_help=True, subcommand_metavar="VERB ...")
def cassette() -> None:
    """Recordings of a model endpoint: what stands in them, and whether it can be trusted."""


for _verb in (*cassette_upkeep.VERBS, check, record, seal):
    cassette.add_command(_verb)


@cassette.command(name="verify-key")
@click.argument("folder", type=click.Path(path_type=Path), metavar="[FOLDER]", default=wiring.FOLDER)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def verify_key(*, folder: Path, form: str) -> int:
    """Prove that every value of every recorded request is part of its key.

    Each value is changed, retyped and taken away, and the key has to move, unless the recording itself declares the
    path as volatile. FOLDER is "cassettes" if left out. Exit 1 with the path where a key does not move, or where a
    recording contradicts itself; exit 3 if there is no recording or one cannot be read.
    """
    found = wiring.verify_keys(folder)
    if form == "json":
        click.echo(shown_json(found.as_json), nl=False)
    else:
        _print(found)
    return found.exit_code


def _print(found: wiring.Verified) -> None:
    for problem in found.problems:
        click.echo(problems.shown(problem), nl=False, err=True)
    for proof in found.proofs:
        for one in proof.unmoved:
            click.echo(problems.in_one_line(f"{proof.name}: {one.path}: {one.what} does not move the key"))
    for proof in found.proofs:
        if proof.declared:
            paths = ", ".join(proof.declared)
            click.echo(problems.in_one_line(f"{proof.name}: declared volatile: {paths}"))
        if proof.redacted:
            click.echo(
                f"{proof.name}: marks stand for secrets ({proof.redacted}), its key cannot be computed"
            )
    moved = "every one moves the key" if found.exit_code == Exit.DONE else "NOT every one moves the key"
    click.echo(f"recordings {len(found.proofs)}, values {found.values}, changes {found.changes}: {moved}")
