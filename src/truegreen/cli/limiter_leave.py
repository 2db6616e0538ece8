# SPDX-License-Identifier: Apache-2.0
"""``truegreen limiter acquire|release|run|status``: leave for shells and commands."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from truegreen.cli.problems import in_one_line
from truegreen.core.admission import Ask, Leave
from truegreen.core.outcome import Exit
from truegreen.limiter.backend import Key
from truegreen.limiter.http.overview import Resource
from truegreen.limiter.limits import LONGEST, MOST_CALLS, MOST_TOKENS, SECOND
from truegreen.report.as_json import shown_json
from truegreen.wiring import limiter_leave as wiring
from truegreen.wiring.checkout import repository_of
from truegreen.wiring.policy import WORKTREE

_Command = Callable[..., Any]


def _where(command: _Command) -> _Command:
    options = (
        click.option(
            "--from",
            "source",
            default=WORKTREE,
            show_default=True,
            metavar="base|worktree|FILE",
            help="Whose policy says the limits.",
        ),
        click.option(
            "--base", metavar="BRANCH", help="The branch that base means. Default: the default branch."
        ),
        click.option(
            "--repo",
            "repository",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="The repository. Default: the one that holds this folder.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _key(command: _Command) -> _Command:
    options = (
        click.option(
            "--tenant",
            default="default",
            show_default=True,
            metavar="NAME",
            help="Whose calls count together.",
        ),
        click.option(
            "--resource", default="default", show_default=True, metavar="NAME", help="What is called."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def seconds(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    """The option's seconds, if they are a number: a range lets NaN pass."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no number of seconds.")
    return value


def _ask(command: _Command) -> _Command:
    options = (
        click.option(
            "--cost",
            type=click.IntRange(1, MOST_CALLS),
            default=1,
            show_default=True,
            help="Units of the rate.",
        ),
        click.option(
            "--prompt-tokens",
            type=click.IntRange(0, MOST_TOKENS),
            default=0,
            show_default=True,
            help="Estimate of the prompt.",
        ),
        click.option(
            "--output-tokens",
            type=click.IntRange(0, MOST_TOKENS),
            default=0,
            show_default=True,
            help="Largest answer.",
        ),
        click.option(
            "--wait",
            "wait_s",
            type=click.FloatRange(0, LONGEST // SECOND),
            callback=seconds,
            metavar="SECONDS",
            help="Longest wait for leave. Default: the policy's.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(name="acquire")
@_key
@_ask
@_where
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def acquire(*, form: str, source: str, base: str | None, repository: Path | None, **asked: Any) -> NoReturn:
    """Wait for leave and print its lease, for a shell.

    Nothing keeps the lease alive: it ends after the policy's lease_s, or with release. Exit 3 if there is no leave.
    """
    code = wiring.acquire(_place(source, base, repository), Ask(**asked), _leave_told(form))
    raise click.exceptions.Exit(code)  # 128 and a signal's number is none of ours, as with run


def _leave_told(form: str) -> Callable[[Leave], None]:
    """Prints a lease, and raises unless it went out."""

    def tell(leave: Leave) -> None:
        if form == "json":
            told = {"lease": leave.lease, "ticket": leave.ticket, "waited_s": round(leave.waited_s, 6)}
            click.echo(shown_json({"schema": "truegreen/limiter-lease/v1", **told}), nl=False)
        else:
            click.echo(leave.lease)
        sys.stdout.flush()

    return tell


@click.command(name="release")
@click.argument("lease", metavar="LEASE")
@_key
@click.option(
    "--used-tokens", type=click.IntRange(0, MOST_TOKENS), help="Tokens of prompt and answer, as reported."
)
@_where
def release(  # noqa: PLR0913 - these are the command's options
    *,
    lease: str,
    tenant: str,
    resource: str,
    used_tokens: int | None,
    source: str,
    base: str | None,
    repository: Path | None,
) -> int:
    """Hand a lease back; one that has ended is no error."""
    key = Key(tenant=tenant, resource=resource)
    wiring.release(_place(source, base, repository), key, lease, used_tokens)
    return Exit.DONE


@click.command(name="run", context_settings={"allow_interspersed_args": False})
@_key
@_ask
@_where
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD [ARG]...")
def run(
    *, command: tuple[str, ...], source: str, base: str | None, repository: Path | None, **asked: Any
) -> NoReturn:
    """Hold leave while a command runs, and exit as it does.

    Signals are passed on. Exit 3 if there is no leave: the command is not started then.
    """
    # a code of the command's own is none of ours, so it does not go the way of a verb's answer
    raise click.exceptions.Exit(wiring.run(_place(source, base, repository), Ask(**asked), command, _say))


@click.command(name="status")
@click.option("--tenant", metavar="NAME", help="Whose calls count together.")
@click.option("--resource", metavar="NAME", help="What is called.")
@_where
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def status(  # noqa: PLR0913 - these are the command's options
    *,
    tenant: str | None,
    resource: str | None,
    source: str,
    base: str | None,
    repository: Path | None,
    form: str,
) -> int:
    """Say how the count stands: who is in flight, who waits, and what happened.

    Exit 3 if it cannot be reached.
    """
    named = tenant is not None or resource is not None
    key = Key(tenant=tenant or "default", resource=resource or "default") if named else None
    found = wiring.standing(_place(source, base, repository), key)
    if form == "json":
        told = msgspec.to_builtins(found)
        click.echo(
            shown_json({"schema": "truegreen/limiter-status/v1", "ledgers": told["resources"]}), nl=False
        )
        return Exit.DONE
    if not found.resources:
        click.echo("nobody has asked yet")
    for ledger in found.resources:
        for line in _lines(ledger):
            click.echo(in_one_line(line))
    return Exit.DONE


def _lines(ledger: Resource) -> list[str]:
    rate = f"{ledger.calls} in {ledger.period_s:g} s, burst {ledger.burst}" if ledger.calls else "no rate"
    places = (
        f"{len(ledger.in_flight)} of {ledger.capacity}" if ledger.capacity else str(len(ledger.in_flight))
    )
    tokens = f", {ledger.tokens_per_minute} tokens a minute" if ledger.tokens_per_minute else ""
    counts = ledger.counts
    paused = f"; nobody leaves for {ledger.held_s:.1f} s" if ledger.held_s else ""
    return [
        f"{ledger.resource} of {ledger.tenant}: {places} in flight, {ledger.waiting} waiting; {rate}{tokens}{paused}",
        *(
            f"  ticket {place.ticket}: {place.holder or 'nobody is named'}, asked {place.for_s:.1f} s ago, "
            + (f"lease ends in {place.ends_in_s:.1f} s" if place.started else "waits for its slot")
            for place in ledger.in_flight
        ),
        (
            f"  {counts['granted']} given, {counts['refused']} refused, {counts['cancelled']} cancelled, "
            f"{counts['dropped']} dropped, {counts['expired']} leases ended by themselves"
        ),
        (
            f"  {counts['rate_limited']} times 429, {counts['wasted']} slots wasted, most in flight {counts['most_in_flight']}, "
            f"longest wait {counts['most_waited_ns'] / SECOND:.1f} s"
        ),
    ]


def _place(source: str, base: str | None, repository: Path | None) -> wiring.Where:
    return wiring.Where(source=source, base=base, repository=repository_of(repository, Path()))


def _say(text: str) -> None:
    print(in_one_line(f"truegreen limiter: {text}"), file=sys.stderr, flush=True)
