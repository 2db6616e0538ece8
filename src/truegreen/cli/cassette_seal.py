# SPDX-License-Identifier: Apache-2.0
"""The verb ``cassette seal``: a recorder's own key, and seals over recordings."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.core.outcome import Exit
from truegreen.wiring.cassette_seal import new_key as make_key
from truegreen.wiring.cassette_seal import seal_folder
from truegreen.wiring.environment import environment


@click.command(name="seal")
@click.argument("folder", type=click.Path(path_type=Path), metavar="[FOLDER]", default=Path("cassettes"))
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="The recorder's private key.")
@click.option(
    "--file", "files", multiple=True, metavar="NAME", help="One file of the folder; may be given again."
)
@click.option(
    "--new-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Make a private key, seal nothing, and print its public key.",
)
def seal(*, folder: Path, key: Path | None, files: tuple[str, ...], new_key: Path | None) -> int:
    """Vouch for recordings with a key that the base's policy lists.

    A sealed recording counts whoever commits it, from a fork too. FOLDER is "cassettes" if left out; every file of
    it is sealed, or those that are named. Keep the key off the repository and out of CI.
    """
    if (key is None) is (new_key is None):
        raise click.UsageError("give either --key FILE or --new-key FILE")
    if new_key is not None:
        public = make_key(new_key)
        click.echo(in_one_line(f"private key: {new_key} (keep it out of the repository)"))
        click.echo("list the public key in truegreen.toml of the base branch:")
        click.echo(f'[cassettes]\nkeys = ["{public}"]')
        return Exit.DONE
    sealed = seal_folder(folder, key or Path(), environment(), files)
    for name in sealed.files:
        click.echo(in_one_line(f"sealed {name}"))
    click.echo(in_one_line(f"seal: {sealed.path}, by {sealed.key}"))
    return Exit.DONE
