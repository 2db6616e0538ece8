# SPDX-License-Identifier: Apache-2.0
"""The top group: how a name becomes a verb."""

import sys
import types

import click
import pytest

from truegreen.cli import verbs
from truegreen.cli.group import VerbGroup
from truegreen.core.errors import UsageProblem

GROUP = VerbGroup("truegreen")
CONTEXT = click.Context(GROUP)


def _register(monkeypatch, name, first_screen=()):
    """A built verb of that name in a module of its own."""
    command = click.command(name)(lambda: 0)
    monkeypatch.setattr(verbs, "NAMES", (*dict.fromkeys((*verbs.NAMES, name)),))
    monkeypatch.setattr(
        verbs, "MODULE_OF_VERB", {name: "verb_of_test:verb", **dict.fromkeys(first_screen, "x:y")}
    )
    monkeypatch.setitem(sys.modules, "verb_of_test", types.SimpleNamespace(verb=command))
    return command


def _screen():
    formatter = click.HelpFormatter(width=80)
    GROUP.format_commands(CONTEXT, formatter)
    return formatter.getvalue()


def test_a_built_verb_is_loaded_by_its_name(monkeypatch):
    """From the module and attribute that the table names."""
    command = _register(monkeypatch, "probe")
    assert command is GROUP.get_command(CONTEXT, "probe")


def test_a_name_of_the_design_without_a_module_is_refused(monkeypatch):
    """It is known, and it is not in this version: nothing is guessed."""
    monkeypatch.setattr(verbs, "MODULE_OF_VERB", {})
    with pytest.raises(UsageProblem) as caught:
        GROUP.get_command(CONTEXT, "gate")
    assert "not-in-this-version" == caught.value.code


def test_any_other_name_is_no_verb():
    """Click says so in its own error."""
    assert GROUP.get_command(CONTEXT, "gat") is None


def test_only_built_verbs_are_offered(monkeypatch):
    """In the order of the table, those of the first screen first."""
    _register(monkeypatch, "sample", first_screen=["why", "gate"])
    assert ["gate", "why", "sample"] == GROUP.list_commands(CONTEXT)


def test_the_screen_marks_what_is_not_built_and_folds_the_rest(monkeypatch):
    """Six lines, then the other built names in one paragraph, then those of later versions."""
    _register(monkeypatch, "sample", first_screen=["gate"])
    screen = _screen()
    assert "  gate    read the evidence" in screen
    assert "  why     (not yet) explain" in screen
    assert "More (truegreen VERB --help):\n  sample\n" in screen
    assert "Not in this version:\n  budget, " in screen


def test_a_group_without_a_member_is_not_shown(monkeypatch):
    """Neither an empty fold nor an empty list of later verbs."""
    monkeypatch.setattr(verbs, "MODULE_OF_VERB", {})
    assert "More" not in _screen()
    monkeypatch.setattr(verbs, "MODULE_OF_VERB", dict.fromkeys(verbs.NAMES, "x:y"))
    assert "Not in this version" not in _screen()
