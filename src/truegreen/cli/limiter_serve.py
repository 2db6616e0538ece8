# SPDX-License-Identifier: Apache-2.0
"""``truegreen limiter serve``: the limiter as a service that jobs of several hosts ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from truegreen.cli.limiter_leave import seconds
from truegreen.core.errors import UsageProblem
from truegreen.core.outcome import Exit

_PATH = click.Path(path_type=Path)


@click.command(name="serve")
@click.option(
    "--policy", type=_PATH, metavar="FILE", help="Takes all limits from the table [limiter] of a policy."
)
@click.option("--rate", metavar="CALLS/TIME", help="Rate, such as 10/s or 12/min.")
@click.option("--burst", type=int, metavar="N", help="Calls at once after a quiet time.  [default: 1]")
@click.option("--capacity", type=int, metavar="N", help="Calls in flight.")
@click.option("--tokens-per-minute", type=int, metavar="N", help="Tokens of prompts and answers.")
@click.option("--lease", "lease_s", type=float, metavar="SECONDS", help="Length of a lease.  [default: 60]")
@click.option(
    "--wait",
    "wait_s",
    type=float,
    metavar="SECONDS",
    help="Longest wait of an ask that names none.  [default: 90]",
)
@click.option("--state", type=_PATH, metavar="FOLDER", help="Keeps the ledgers, on a disk of this host.")
@click.option("--in-memory", is_flag=True, help="Keep nothing: a restart begins anew.")
@click.option("--tokens", type=_PATH, metavar="FILE", help="Bearer tokens: TENANT TOKEN on each line.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8471,
    show_default=True,
    metavar="N",
    help="Port; 0 takes a free one.",
)
@click.option("--tls-certificate", "certificate", type=_PATH, metavar="FILE", help="Certificate chain, PEM.")
@click.option("--tls-key", "key", type=_PATH, metavar="FILE", help="Its key, PEM.")
@click.option(
    "--unsafe-plain-http",
    "is_plain_allowed",
    is_flag=True,
    help="Serve beyond loopback without TLS of its own.",
)
@click.option(
    "--drain",
    "drain_s",
    type=click.FloatRange(0, 3600),
    callback=seconds,
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="Time that calls have to end on SIGTERM.",
)
@click.option(
    "--connections",
    type=click.IntRange(1, 65535),
    default=1024,
    show_default=True,
    metavar="N",
    help="Most connections at once.",
)
@click.option(
    "--ready-file", type=_PATH, metavar="FILE", help="Also write the line that is printed once it listens."
)
def serve(**given: Any) -> Exit:
    """Give leave over HTTP until SIGTERM.

    Prints one JSON line with its address once it listens. Needs the extra `service`. docs/http-api.md has every
    address, docs/how-to-share-one-endpoint.md says when to use it.
    """
    from truegreen.limiter.http.store import FileStore, MemoryStore  # noqa: PLC0415 - the help need not load it
    from truegreen.wiring.limiter_limits import DEFAULTS, limits_of  # noqa: PLC0415 - as above
    from truegreen.wiring.limiter_serve import Place  # noqa: PLC0415 - as above
    from truegreen.wiring.limiter_serve import serve as served  # noqa: PLC0415 - as above

    _refuse_halves(given)
    limits = limits_of(given["policy"], {name: given[name] for name in DEFAULTS})
    return served(
        Place(**{name: given[name] for name in Place.__struct_fields__}),
        tokens=given["tokens"],
        store=MemoryStore(limits) if given["in_memory"] else FileStore(given["state"], limits),
        say=click.echo,
    )


def _refuse_halves(given: dict[str, Any]) -> None:
    if (given["state"] is None) != given["in_memory"]:
        raise UsageProblem(
            "bad-command-line",
            "one of --state FOLDER and --in-memory is asked",
            hint="truegreen limiter serve --help",
        )
    if (given["certificate"] is None) != (given["key"] is None):
        raise UsageProblem(
            "bad-command-line",
            "--tls-certificate and --tls-key are asked together",
            hint="truegreen limiter serve --help",
        )
