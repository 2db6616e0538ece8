# SPDX-License-Identifier: Apache-2.0
"""The verb ``cassette record``: what a pull request asked in vain, recorded by a maintainer."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.core.outcome import Exit
from truegreen.wiring.cassette_record import Recorded, RecordRequest, wanted
from truegreen.wiring.cassette_record import record as record_them
from truegreen.wiring.environment import environment


@click.command(name="record")
@click.option("--pr", type=click.IntRange(1), required=True, metavar="N", help="The pull request.")
@click.option(
    "--evidence",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Folder or zip with its contract-check record; may be given again.",
)
@click.option("--upstream", required=True, metavar="URL", help="The endpoint that is asked.")
@click.option(
    "--cassettes",
    type=click.Path(path_type=Path),
    default=Path("cassettes"),
    show_default=True,
    metavar="DIR",
    help="Folder of the recordings.",
)
@click.option("--alias", metavar="NAME", help="Name of the endpoint in keys, as the replay had it.")
@click.option(
    "--volatile", multiple=True, metavar="PATH", help="A place that is not keyed; may be given again."
)
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="Seal them with this key.")
@click.option("--yes", is_flag=True, help="Send what is shown. Without this nothing is sent.")
def record(  # noqa: PLR0913 - one parameter an option
    *,
    pr: int,
    evidence: tuple[Path, ...],
    upstream: str,
    cassettes: Path,
    alias: str | None,
    volatile: tuple[str, ...],
    key: Path | None,
    yes: bool,
) -> int:
    """Record what a pull request's replay missed, on a maintainer's machine.

    Reads the requests from the record that the pull request's lane left; nothing of it is checked out or run. Shows
    them, sends them with --yes, with the key of OPENAI_API_KEY or ANTHROPIC_API_KEY, and prints how to push what was
    recorded. To record on your own branch: truegreen proxy run --mode record.

    Exit 1 if a request was not recorded, 2 in CI, 3 without --yes.
    """
    request = RecordRequest(
        pull_request=pr,
        evidence=evidence,
        upstream=upstream,
        folder=cassettes,
        alias=alias,
        volatile=volatile,
        key=key,
    )
    found = wanted(request, environment())
    for one in found:
        click.echo(in_one_line(one.shown))
    asked = [one.asked for one in found if one.asked is not None]
    if not yes or not asked:
        click.echo(f"{len(asked)} of {len(found)} requests can be sent; nothing was sent")
        return Exit.HOLD if asked else Exit.BLOCK
    done = record_them(request, asked, environment())
    _print(done, request)
    return Exit.BLOCK if done.failed or len(asked) < len(found) else Exit.DONE


def _print(done: Recorded, request: RecordRequest) -> None:
    for line in done.failed:
        click.echo(in_one_line(line))
    click.echo(f"{done.kept} answers kept")
    if not done.files:
        return
    names = [str(request.folder / name) for name in done.files]
    if done.sealed is not None:
        names.append(str(done.sealed.path))
    click.echo("read them, then push them to the pull request's branch:")
    click.echo(in_one_line(f"  gh pr checkout {request.pull_request}"))
    click.echo(in_one_line(f"  git add {' '.join(names)}"))
    click.echo(in_one_line(f'  git commit -m "recordings for pull request {request.pull_request}"'))
    click.echo("  git push")
