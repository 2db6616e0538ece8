# SPDX-License-Identifier: Apache-2.0
"""The verb ``proxy run``: a command that reaches the model by the proxy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import click

from truegreen.core.errors import UsageProblem

GUARDS = ("auto", "namespace", "landlock", "preload", "audit")


@click.command(name="run", context_settings={"allow_interspersed_args": False})
@click.option(
    "--mode",
    type=click.Choice(("replay", "record", "live")),
    required=True,
    help="Play recordings, make them, or pass on.",
)
@click.option(
    "--cassettes",
    type=click.Path(path_type=Path),
    default=Path("cassettes"),
    show_default=True,
    metavar="DIR",
    help="Folder of the recordings.",
)
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="[ID=]URL",
    help="An endpoint, or one that stands for a provider; may be given again. Default: those of the environment, "
    "else OpenAI's and Anthropic's own.",
)
@click.option(
    "--guard",
    type=click.Choice(GUARDS),
    default="auto",
    show_default=True,
    help="What keeps a replay from everything else; one that is named and not allowed here is exit 3.",
)
@click.option(
    "--allow-port",
    "ports",
    type=click.IntRange(1, 65535),
    multiple=True,
    metavar="N",
    help="A port on loopback that may be asked too; may be given again.",
)
@click.option(
    "--volatile",
    multiple=True,
    metavar="PATH",
    help="A place of requests that is not keyed; may be given again.",
)
@click.option(
    "--pace",
    type=click.Choice(("at-once", "recorded", "adversarial")),
    default="at-once",
    show_default=True,
    help="How a replay plays pieces.",
)
@click.option("--keep-errors", is_flag=True, help="Record whole answers that are not 2xx too.")
@click.option(
    "--log", type=click.Path(path_type=Path), metavar="FILE", help="Append every call, for live and record."
)
@click.option(
    "--session", type=click.Path(path_type=Path), metavar="FILE", help="Also write what a replay came to."
)
@click.option("--whole", is_flag=True, help="The command runs everything: what was not played is unused.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD [ARG]...")
def run(
    *, mode: str, command: tuple[str, ...], pace: str, keep_errors: bool, session: Path | None, **asked: Any
) -> NoReturn:
    """Run a command whose only way to the model is the proxy.

    Starts the proxy on free ports of loopback, tries the guard, sets the variables that SDKs read, runs CMD and
    passes signals on. Exit 1 for a miss or an attempt to get past the proxy, even if CMD swallowed it; 3
    for a replay with --whole that asked for nothing; else CMD's own exit code.
    """
    from truegreen.proxy.modes import Mode, Options, Pace  # noqa: PLC0415 - asyncio, which the help need not load
    from truegreen.wiring import proxy_run  # noqa: PLC0415 - as above
    from truegreen.wiring.environment import environment  # noqa: PLC0415 - as above

    for option, is_used, needed in (
        ("--session", session is not None, "replay"),
        ("--keep-errors", keep_errors, "record"),
    ):
        if is_used and mode != needed:
            raise UsageProblem(
                "bad-command-line",
                f"{option} does nothing beside --mode {mode}",
                hint="truegreen proxy run --help",
            )
    request = proxy_run.Request(
        mode=Mode(mode),
        command=command,
        folder=asked["cassettes"],
        upstreams=asked["upstreams"],
        guard=asked["guard"],
        ports=asked["ports"],
        volatile=asked["volatile"],
        options=Options(pace=Pace(pace), keeps_errors=keep_errors),
        log=asked["log"],
        session=session,
        is_whole=asked["whole"],
    )
    # a code of the command's own is none of ours, so it does not go the way of a verb's answer
    raise click.exceptions.Exit(
        proxy_run.run(request, environment(), lambda line: click.echo(line, err=True))
    )
