# SPDX-License-Identifier: Apache-2.0
"""The verb ``gate``: reads evidence and says admit, hold or block."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from truegreen import version
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.outcome import Exit
from truegreen.wiring import gate as wiring
from truegreen.wiring.checkout import repository_of, working_copies_of
from truegreen.wiring.environment import environment
from truegreen.wiring.screens import FORMATS, screen
from truegreen.wiring.tripwire import refuse_code_of_the_change

_PATH = click.Path(path_type=Path)


@click.group(name="gate", invoke_without_command=True, subcommand_metavar="[self-test]")
@click.option(
    "--evidence",
    "evidence",
    type=_PATH,
    multiple=True,
    metavar="DIR|ZIP",
    help="Folder or zip with records; may be given again.",
)
@click.option("--lane", metavar="NAME", help="Ask about one lane alone: HOLDS, FAILS or UNKNOWN.")
@click.option(
    "--subject-from",
    type=click.Choice(["github", "git"]),
    help="Where the event comes from. Default: github in GitHub Actions, else git.",
)
@click.option(
    "--policy-from",
    type=click.Choice(["base", "worktree"]),
    default="base",
    show_default=True,
    help="Whose policy counts; worktree never counts in CI.",
)
@click.option(
    "--base", metavar="BRANCH", help="With git: the branch that this goes into. Default: the default branch."
)
@click.option(
    "--run-index", type=_PATH, metavar="FILE", help="The stored run index (truegreen run-index fetch)."
)
@click.option(
    "--repo",
    "repository",
    type=_PATH,
    metavar="DIR",
    help="The clone. Default: the one that holds this folder.",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output."
)
@click.option("--decision", type=_PATH, metavar="FILE", help="Also write the decision record.")
@click.option(
    "--bundle", type=_PATH, metavar="FILE", help="Also write everything that the decision was made from."
)
@click.option(
    "--replay", type=_PATH, metavar="BUNDLE", help="Make the decision of a bundle again, byte for byte."
)
@click.pass_context
def gate(  # noqa: PLR0913 - one parameter an option
    context: click.Context,
    *,
    evidence: tuple[Path, ...],
    lane: str | None,
    subject_from: str | None,
    policy_from: str,
    base: str | None,
    run_index: Path | None,
    repository: Path | None,
    form: str,
    decision: Path | None,
    bundle: Path | None,
    replay: Path | None,
) -> int:
    """Read the evidence and say admit, hold or block.

    Offline: runs no test, calls no model, opens no socket, executes nothing of the change.
    Policy comes from the tip of the base branch, what was tested is recomputed by git.
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context, "self-test")
        return Exit.DONE
    if replay is not None:  # reads one file: there is no repository under test
        _refuse_options(context, "--replay", "replay", "form")
        made, record = wiring.replayed(replay, version())
    else:
        clone = repository_of(repository, Path())
        refuse_code_of_the_change(working_copies_of(Path(), clone), environment())
        request = wiring.Request(
            evidence=evidence,
            repository=clone,
            run_index=run_index,
            subject_from=subject_from,
            policy_from=policy_from,
            only_lane=lane,
            base=base,
            bundle=bundle,
            decision=decision,
        )
        made, record = wiring.decided(request, environment(), version())
    if form == "text":
        from truegreen.cli.colours import show  # noqa: PLC0415 - the other forms do without
        from truegreen.report.text import screen_of  # noqa: PLC0415 - as above

        show(screen_of(made))
    else:
        click.echo(screen(made, record, form, environment()), nl=False)
    return made.exit_code


def _refuse_options(context: click.Context, beside: str, *used: str) -> None:
    """An option that would do nothing is an error, not a surprise."""
    for option in context.command.params:
        name = option.name or ""
        if name not in used and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageProblem(
                "bad-command-line",
                f"{option.opts[0]} does nothing beside {beside}",
                hint="truegreen gate --help",
            )


@gate.command(name="self-test")
def self_test() -> int:
    """Try every known way to fool the gate on it, a row each."""
    from truegreen.wiring.rehearsal.run import rehearse  # noqa: PLC0415 - only this verb needs the stage

    fine = True
    for row in rehearse(environment(), repository_of(None, Path())):
        fine = fine and row.is_fine
        told = f"{row.found}" if row.is_fine else f"{row.found}, asked {row.asked}"
        click.echo(f"{'ok  ' if row.is_fine else 'FAIL'}  {row.id:<22} {told:<30} {row.words}")
    if not fine:
        raise EvidenceProblem(
            "self-test-failed",
            "a way to fool the gate did not get the asked answer, see the rows that say FAIL",
            hint="report it with truegreen --version",
            contradictory=True,
        )
    return Exit.DONE
