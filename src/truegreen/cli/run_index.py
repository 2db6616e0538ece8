# SPDX-License-Identifier: Apache-2.0
"""The verb ``run-index``: stores what the forge knows about runs and attempts, for the gate to read offline."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.core.index import RunIndex
from truegreen.core.outcome import Exit
from truegreen.wiring import run_index as wiring


@click.group(name="run-index")
def run_index() -> None:
    """Store a forge's runs and attempts for the gate."""


@run_index.command()
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to write the index."
)
@click.option("--repo", metavar="OWNER/NAME", help="The repository. Default: the event's.")
@click.option("--head-sha", metavar="SHA", help="The head commit. Default: the event's.")
@click.option(
    "--pull-request",
    "pull_requests",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="NUMBER",
    help="A pull request of that head; may be given again. Default: the event's.",
)
@click.option(
    "--workflow",
    "workflows",
    multiple=True,
    metavar="PATH",
    help="Take only runs of this workflow file; may be given again. Default: all.",
)
def fetch(
    out: Path,
    repo: str | None,
    head_sha: str | None,
    pull_requests: tuple[int, ...],
    workflows: tuple[str, ...],
) -> int:
    """Ask the forge and write the index.

    Every run, attempt, job and artifact of a head and of its pull requests' earlier heads.
    Reads GITHUB_TOKEN (actions: read, pull-requests: read) and GITHUB_API_URL. Exit 3 if the
    forge's lists do not add up; the file then says that it is incomplete, and the gate holds.
    """
    about = wiring.asked(repo, head_sha, pull_requests)
    index = wiring.fetched(about, workflows)
    wiring.store(index, out)
    click.echo(_line(index, out))
    return Exit.DONE if index.complete else Exit.HOLD


def _line(index: RunIndex, out: Path) -> str:
    attempts = sum(len(run.attempts) for run in index.runs)
    requests = "".join(f"#{number}" for number in index.pull_requests)
    state = "complete" if index.complete else "INCOMPLETE: the forge's lists do not add up, fetch it again"
    return (
        f"run index of {index.head_sha[:12]} in {index.repo}{requests}: {len(index.runs)} runs, {attempts} attempts, "
        f"{len(index.earlier_heads)} earlier heads, {state} ({out})"
    )
