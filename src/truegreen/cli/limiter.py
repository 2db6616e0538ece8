# SPDX-License-Identifier: Apache-2.0
"""The verb ``limiter``: one rate, in-flight and token limit for all who call an endpoint."""

from __future__ import annotations

import click

from truegreen.cli.limiter_leave import acquire, release, run, status
from truegreen.cli.limiter_measure import measure
from truegreen.cli.limiter_self_test import self_test
from truegreen.cli.limiter_serve import serve


@click.group(name="limiter", no_args_is_help=True)
def limiter() -> None:
    """One limit for all jobs that call an endpoint, and what it says of them."""


limiter.add_command(acquire)
limiter.add_command(measure)
limiter.add_command(release)
limiter.add_command(run)
limiter.add_command(self_test)
limiter.add_command(serve)
limiter.add_command(status)
