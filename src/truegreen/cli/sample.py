# SPDX-License-Identifier: Apache-2.0
"""``truegreen sample``: run a lane's model tests many times and write how often they pass."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.cli.sample_screen import screen
from truegreen.core.outcome import Exit
from truegreen.sampling.summary import lines
from truegreen.wiring.environment import environment
from truegreen.wiring.sample import sample as run
from truegreen.wiring.sample_request import SampleRequest


@click.command("sample")
@click.argument("paths", nargs=-1)
@click.option("--lane", metavar="NAME", help="Lane of the policy; needed where more than one is sampled.")
@click.option("--rule", type=click.Choice(["smoke", "fixed"]), help="Stopping rule, in place of the lane's.")
@click.option(
    "--runs",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Exactly N samples a case (rule fixed). SAMPLE_RUNS does the same.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the record goes; artifacts/<lane>.<part>.<attempt>.truegreen.json otherwise.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "fork", "async", "xdist", "serial"]),
    default="auto",
    show_default=True,
    help="How samples are run.",
)
@click.option(
    "--check",
    "is_check",
    is_flag=True,
    help="Decide by the merge table as well: exit 1 where it blocks, 3 where it holds. FLAKY_BUDGET allows so many unsteady cases.",
)
@click.option(
    "--earlier",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="DIR|ZIP",
    help="Records of earlier attempts, to go on from; may be given more than once.",
)
@click.option(
    "--run-index",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The stored run index, which says which attempts there are.",
)
@click.option(
    "--subject-from",
    type=click.Choice(["github", "git"]),
    help="Where the event comes from; told by the environment otherwise.",
)
@click.option("--base", metavar="BRANCH", help="Base branch of a working copy.")
@click.option("--part", default="all", show_default=True, help="Name of the lane's part.")
@click.option(
    "-j",
    "--jobs",
    "slots",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Samples in flight at once; the lane's concurrency otherwise.",
)
def sample(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    lane: str | None,
    rule: str | None,
    runs: int | None,
    ledger: Path | None,
    engine: str,
    is_check: bool,
    earlier: tuple[Path, ...],
    run_index: Path | None,
    subject_from: str | None,
    base: str | None,
    part: str,
    slots: int | None,
) -> Exit:
    """Run model tests many times and write a ledger of how often each passes.

    PATHS are files and folders with tests and cases, or ids of single cases; without them the lane's `tests` of
    truegreen.toml.
    Exit codes: 0 measured what was asked, 3 not all of it, 130 interrupted (what was measured is kept).
    """
    request = SampleRequest(
        cwd=Path.cwd(),
        lane=lane,
        rule=rule,
        runs=runs,
        ledger=ledger,
        engine=engine,
        is_check=is_check,
        earlier=earlier,
        run_index=run_index,
        subject_from=subject_from,
        base=base,
        part=part,
        slots=slots,
        paths=paths,
    )
    with screen() as shown:
        sampled = run(request, environment(), shown)
    for line in lines(sampled.body):
        click.echo(line)
    for notice in sampled.notices:
        click.echo(f"note: {notice}")
    for line in sampled.checked.lines() if sampled.checked else ():
        click.echo(in_one_line(line))
    here = Path.cwd()
    shown_path = sampled.path.relative_to(here) if sampled.path.is_relative_to(here) else sampled.path
    click.echo(f"ledger: {shown_path}")
    return sampled.code
