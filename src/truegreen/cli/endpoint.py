# SPDX-License-Identifier: Apache-2.0
"""The verb ``endpoint``: model endpoints on loopback for tests and demos."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.core.outcome import Exit


@click.group(name="endpoint", no_args_is_help=True)
def endpoint() -> None:
    """Model endpoints on loopback, whose truth is known."""


@endpoint.command(name="fake")
@click.option(
    "--scenario",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="What it answers and what goes wrong: a TOML file.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="N",
    help="Port on 127.0.0.1; 0 takes a free one.",
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the line that is printed once it listens.",
)
def fake(scenario: Path, port: int, ready_file: Path | None) -> Exit:
    """Serve OpenAI's and Anthropic's APIs from a scenario and a seed.

    Prints one JSON line with its addresses once it listens, and serves until SIGTERM (exit 0) or Ctrl-C.
    The answer to a prompt's n-th sample is the same whatever the order of calls.
    """
    from truegreen.wiring.fake_endpoint import serve  # noqa: PLC0415 - asyncio, which the help need not load

    return serve(scenario, port=port, ready_file=ready_file, say=click.echo)
