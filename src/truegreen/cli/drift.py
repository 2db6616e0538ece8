# SPDX-License-Identifier: Apache-2.0
"""The verb ``drift``: recordings compared with what the model says today."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.core.outcome import Exit


@click.command("drift")
@click.argument("folder", type=click.Path(path_type=Path), metavar="[FOLDER]", default="cassettes")
@click.option(
    "--upstream", required=True, metavar="URL", help="The endpoint, such as https://api.openai.com/v1."
)
@click.option(
    "--key-env",
    "key_variable",
    default="MODEL_API_KEY",
    show_default=True,
    metavar="NAME",
    help="Variable with the key.",
)
@click.option(
    "--sample",
    "size",
    type=click.IntRange(1, 500),
    default=10,
    show_default=True,
    metavar="N",
    help="Recordings asked again: one call each.",
)
@click.option(
    "--turn",
    "number",
    type=click.IntRange(0),
    metavar="N",
    help="Which turn of the rotation. Default: today's, one a day.",
)
@click.option(
    "--allow",
    type=click.FloatRange(0, 100),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="Decisions that may flip.",
)
@click.option("--record", type=click.Path(path_type=Path), metavar="FILE", help="Write the record as JSON.")
@click.option("--issue", type=click.Path(path_type=Path), metavar="FILE", help="Write the body of an issue.")
def drift(  # noqa: PLR0913 - one option each
    *,
    folder: Path,
    upstream: str,
    key_variable: str,
    size: int,
    number: int | None,
    allow: float,
    record: Path | None,
    issue: Path | None,
) -> Exit:
    """Ask a rotating sample of the recordings in FOLDER again, live.

    Judged by contract and by the decision fields that the contract declares; prose is not compared, and no recording
    is changed. Exit 0 if no drift is shown, 1 if there is drift, 3 if it cannot be told.
    """
    from truegreen.wiring.clock import SystemClock  # noqa: PLC0415 - not needed for the help
    from truegreen.wiring.drift import DriftRequest, ask_again, write_drift  # noqa: PLC0415 - an HTTP client
    from truegreen.wiring.environment import environment  # noqa: PLC0415 - as above

    request = DriftRequest(
        folder=folder,
        upstream=upstream,
        key_variable=key_variable,
        size=size,
        number=number,
        allowed=Fraction(str(allow)) / 100,
    )
    done = ask_again(request, environment(), SystemClock())
    write_drift(done, record, issue)
    for line in done.lines:
        click.echo(in_one_line(line))
    return done.exit
