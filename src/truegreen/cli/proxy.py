# SPDX-License-Identifier: Apache-2.0
"""The verb ``proxy``: one door to the model, live, recording or replaying."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from truegreen.cli.proxy_run import run
from truegreen.core.outcome import Exit


@click.group(name="proxy", no_args_is_help=True, subcommand_metavar="VERB ...")
def proxy() -> None:
    """One door to the model for programs in any language: live, recording or replaying."""


@proxy.command(name="serve")
@click.option(
    "--mode",
    type=click.Choice(["replay", "record", "live"]),
    required=True,
    help="Play recordings and never call; call and keep; or call.",
)
@click.option(
    "--upstream", required=True, metavar="URL", help="Base URL of the endpoint; in replay only its name."
)
@click.option(
    "--cassettes",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the recordings, for replay and record.",
)
@click.option(
    "--alias", metavar="NAME", help="Name of the endpoint in keys.  [default: the upstream's host and port]"
)
@click.option(
    "--volatile", multiple=True, metavar="PATH", help="A place of requests that is not keyed; repeatable."
)
@click.option(
    "--pace",
    type=click.Choice(["at-once", "recorded", "adversarial"]),
    default="at-once",
    show_default=True,
    help="How a replay plays pieces.",
)
@click.option("--keep-errors", is_flag=True, help="Record whole answers that are not 2xx too.")
@click.option(
    "--log", type=click.Path(path_type=Path), metavar="FILE", help="Append every call, for live and record."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="N",
    help="Port; 0 takes a free one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; only loopback without the next option.",
)
@click.option(
    "--unsafe-open", is_flag=True, help="Listen beyond loopback: whoever reaches it calls the upstream."
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the line that is printed once it listens.",
)
@click.option(
    "--session",
    "session_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a replay's account at the end.",
)
def serve(**asked: Any) -> Exit:
    """Serve until SIGTERM or Ctrl-C, and say what happened.

    Prints one JSON line with its address once it listens. Exit 1 if a request had no recording, or an answer could
    not be kept; no mode falls back to another.
    """
    from truegreen.wiring import serve_proxy  # noqa: PLC0415 - asyncio, which the help need not load
    from truegreen.wiring.clock import SystemClock  # noqa: PLC0415 - as above
    from truegreen.wiring.environment import environment  # noqa: PLC0415 - as above

    return serve_proxy.serve(
        serve_proxy.wish_of(asked, lambda line: click.echo(line, err=True)),
        files=(asked["ready_file"], asked["session_file"]),
        say=click.echo,
        environment=environment(),
        clock=SystemClock(),
    )


proxy.add_command(run)
