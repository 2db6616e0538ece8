# SPDX-License-Identifier: Apache-2.0
"""The verb ``endpoint``: model endpoints on loopback for tests and demos."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.core.outcome import Exit


@click.group(name="endpoint", no_args_is_help=True)
def endpoint() -> None:
    """Model endpoints on loopback: one whose truth is known, and a real model."""


PORT = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="N",
    help="Port on 127.0.0.1; 0 takes a free one.",
)
READY = click.option(
    "--ready-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the line that is printed once it listens.",
)


@endpoint.command(name="fake")
@click.option(
    "--scenario",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="What it answers and what goes wrong: a TOML file.",
)
@PORT
@READY
def fake(scenario: Path, port: int, ready_file: Path | None) -> Exit:
    """Serve OpenAI's and Anthropic's APIs from a scenario and a seed.

    Prints one JSON line with its addresses once it listens, and serves until SIGTERM (exit 0) or Ctrl-C.
    The answer to a prompt's n-th sample is the same whatever the order of calls.
    """
    from truegreen.wiring.endpoint import serve_fake  # noqa: PLC0415 - asyncio, which the help need not load

    return serve_fake(scenario, port=port, ready_file=ready_file, say=click.echo)


@endpoint.command(name="local")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The model: a GGUF file.",
)
@click.option(
    "--slots",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Calls answered at once; with 1 an answer repeats at temperature 0.",
)
@click.option(
    "--context",
    type=click.IntRange(64, 1_048_576),
    default=2048,
    show_default=True,
    metavar="TOKENS",
    help="Longest prompt and answer together, of each slot.",
)
@PORT
@READY
def local(model: Path, slots: int, context: int, port: int, ready_file: Path | None) -> Exit:
    """Serve a real model from a file, in the same APIs, by llama.cpp.

    Needs the extra: pip install 'truegreen[local]'. Prints one JSON line with its address once the model is
    loaded, and serves until SIGTERM (exit 0) or Ctrl-C.
    """
    from truegreen.endpoint.local import LocalSettings  # noqa: PLC0415 - as below
    from truegreen.wiring.endpoint import serve_local  # noqa: PLC0415 - asyncio, which the help need not load

    settings = LocalSettings(model=model, port=port, slots=slots, context_tokens=context)
    return serve_local(settings, ready_file=ready_file, say=click.echo)
