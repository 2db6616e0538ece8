# SPDX-License-Identifier: Apache-2.0
"""The verb ``policy``: shows every value with its source, or everything that is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli import problems
from truegreen.core.outcome import Exit
from truegreen.report.as_json import shown_json
from truegreen.report.policy_page import policy_json, policy_text
from truegreen.wiring import policy as wiring
from truegreen.wiring.checkout import repository_of

_FORM = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)


@click.group(name="policy", no_args_is_help=True, subcommand_metavar="VERB ...")
def policy() -> None:
    """Show the policy with the source of each value, or check a file."""


@policy.command(name="show")
@click.option(
    "--from",
    "source",
    default=wiring.WORKTREE,
    show_default=True,
    metavar="base|worktree|FILE",
    help="Whose policy. The gate reads that of base.",
)
@click.option("--base", metavar="BRANCH", help="The branch that base means. Default: the default branch.")
@click.option(
    "--repo",
    "repository",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The repository. Default: the one that holds this folder.",
)
@_FORM
def show(*, source: str, base: str | None, repository: Path | None, form: str) -> int:
    """Show every key with its value and where that came from."""
    found, origin = wiring.shown_policy(source, repository_of(repository, Path()), base)
    if form == "json":
        click.echo(shown_json(policy_json(found, origin)), nl=False)
    else:
        click.echo(policy_text(found, problems.in_one_line(origin)), nl=False)
    return Exit.DONE


@policy.command(name="check")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@_FORM
def check(*, file: Path, form: str) -> int:
    """Say all that is wrong with FILE, each with its line."""
    found = wiring.problems_of(file)
    if form == "json":
        listed = [{"code": problem.code, "message": problem.message} for problem in found]
        click.echo(shown_json({"schema": "truegreen/policy-check/v1", "problems": listed}), nl=False)
    elif found:
        for problem in found:
            click.echo(problems.shown(problem), nl=False, err=True)
    else:
        click.echo(f"{problems.in_one_line(str(file))} is a policy")
    return Exit.USAGE if found else Exit.DONE
