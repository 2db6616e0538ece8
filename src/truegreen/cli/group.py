# SPDX-License-Identifier: Apache-2.0
"""The top group of the command line: finds a verb and imports its module only then.

What it decides: how a name becomes a command, and how the first screen looks. What it leaves: the list of
verbs, to ``verbs``; errors and exit codes, to ``main``.

- A verb that is not built is refused before its options are read: ``truegreen scan --help`` says so too.
- The first screen imports no verb.
"""

from __future__ import annotations

import importlib

import click

from truegreen.cli import verbs
from truegreen.core.errors import not_in_this_version


class VerbGroup(click.Group):
    """A click group over the table of verbs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the built verbs, those of the first screen first."""
        del ctx
        return [name for name in verbs.NAMES if verbs.is_built(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name, imported now; none for a name that the design does not know.

        Raises: UsageProblem ``not-in-this-version`` for a verb that is not built yet.
        """
        del ctx
        if verbs.is_built(cmd_name):
            module, _, attribute = verbs.MODULE_OF_VERB[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        if cmd_name in verbs.NAMES:
            raise not_in_this_version(f"the verb {cmd_name}", hint="truegreen --help")
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The six first verbs with a line each, then the other names, folded."""
        del ctx
        with formatter.section("Start with"):
            formatter.write_dl([(name, _first_line(name)) for name in verbs.FIRST])
        if verbs.folded():
            with formatter.section("More (truegreen VERB --help)"):
                formatter.write_text(", ".join(verbs.folded()))
        later = [name for name in verbs.missing() if name not in verbs.FIRST]
        if later:
            with formatter.section("Not in this version"):
                formatter.write_text(", ".join(later))


def _first_line(name: str) -> str:
    return verbs.FIRST[name] if verbs.is_built(name) else f"(not yet) {verbs.FIRST[name]}"
