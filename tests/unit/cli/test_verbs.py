# SPDX-License-Identifier: Apache-2.0
"""The table of verbs: complete, without ghosts, and lazy."""

import importlib
import subprocess
import sys

import click

from truegreen.cli import verbs


def test_every_verb_stands_once():
    """A name in the table is unique, and what is built is a name of the table."""
    assert len(verbs.NAMES) == len(set(verbs.NAMES))
    assert set(verbs.MODULE_OF_VERB) <= set(verbs.NAMES)
    assert set(verbs.NAMES) == set(verbs.missing()) | set(verbs.MODULE_OF_VERB)


def test_a_built_verb_is_a_command_of_that_name():
    """The module that the table names exists and holds a command with a first line of help."""
    for name, target in verbs.MODULE_OF_VERB.items():
        module, _, attribute = target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        assert (name, True) == (command.name, bool(command.help))


def test_the_first_screen_imports_no_verb():
    """``--help`` and ``--version`` answer without loading the module of any verb."""
    modules = sorted(target.partition(":")[0] for target in verbs.MODULE_OF_VERB.values())
    code = (
        "import sys; from truegreen.cli.main import run; run(['--help']); run(['--version']);"
        f"print([name for name in {modules!r} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]\n" == ran.stderr
