# SPDX-License-Identifier: Apache-2.0
"""``truegreen limiter self-test``: the collision, for hooks and CI."""

from __future__ import annotations

import click

from truegreen.core.outcome import Exit
from truegreen.report.as_json import shown_json


@click.command(name="self-test")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def self_test(form: str) -> int:
    """Let three jobs collide at a fake endpoint, and check that the limiter holds.

    Needs no network and no key, and takes about a second. Exit 0 if every fact holds, 1 if one does not.
    """
    from truegreen.wiring.limiter_self_test import facts  # noqa: PLC0415 - httpx2, which the help need not load

    found = facts()
    if form == "json":
        told = [{"name": one.name, "holds": one.holds, "detail": one.detail} for one in found]
        click.echo(shown_json({"holds": all(one.holds for one in found), "facts": told}), nl=False)
    else:
        for one in found:
            click.echo(f"{'holds' if one.holds else 'FAILS'}  {one.name}: {one.detail}")
    return Exit.DONE if all(one.holds for one in found) else Exit.BLOCK
