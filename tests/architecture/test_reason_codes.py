# SPDX-License-Identifier: Apache-2.0
"""Every reason that a decision can carry is in the catalogue, and the catalogue knows no other."""

import re
import shlex
import tomllib
from contextlib import suppress

import click
import error_codes
import pytest
import tree

from truegreen.cassettes import check
from truegreen.cli import main
from truegreen.report.reasons import CATALOGUE, catalogue

CARRIERS = ("Cause", "Finding", "Unreachable")
"""Classes whose ``code`` ends up as the code of a cause."""
ROOMS = ("gate/", "wiring/", "report/", "quarantine/")
"""Where causes are made; elsewhere the same names mean other things."""
FROM_DATA: dict[str, tuple[str, ...]] = {
    "gate/bind.py": (),  # hands on codes of Unreachable
    "gate/complete.py": (),  # hands on codes of Unreachable
    "gate/complete_exact.py": (),  # hands on codes of Unreachable
    # hands on codes of findings and of Unreachable, and says what a refused artifact is
    "gate/decide.py": ("archive-contradicts", "archive-refused", "evidence-missing"),
    "gate/ledger_cases.py": ("endpoint-outage",),  # codes of the merge table, some told once for the lane
    "gate/replay_lane.py": tuple(check.CODES),  # codes of findings about recordings
    "gate/replay_record.py": (),  # hands on codes of Unreachable
    "gate/verify_inputs.py": (),  # hands on codes of Unreachable
    "report/story.py": (),  # likewise
    "report/line.py": (),  # gives a decision without causes its own code back
}
"""Modules that take a code from data instead of writing it down, with every code that they can take."""
PASSES = "case-holds"
"""Code of the merge table's row that needs no explanation."""
EVER = tree.ROOT / "tests" / "architecture" / "reason_codes.txt"
"""Every code that any version had, one a line. Lines are only added."""


def _codes():
    modules = {name: syntax for name, syntax in tree.modules().items() if name.startswith(ROOMS)}
    return error_codes.found(modules, lambda name: name in CARRIERS)


def _in_tables():
    """Codes that the decision tables of the package give in a row that does not simply pass."""
    for path in sorted((tree.SRC / "truegreen").rglob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8")).get("row", []):
            if "code" in row["then"] and row["then"]["code"] != PASSES:
                yield row["then"]["code"]


def _emitted():
    given = {code for codes in FROM_DATA.values() for code in codes}
    return {*_codes().raised, *_in_tables(), *given} - {"all-lanes-hold", "holds"}


def test_every_code_that_can_be_emitted_is_in_the_catalogue():
    """Nobody meets a reason without words."""
    assert set() == _emitted() - set(catalogue())


def test_every_code_of_the_catalogue_can_be_emitted():
    """The catalogue explains nothing that cannot happen."""
    assert set() == set(catalogue()) - _emitted() - {"all-lanes-hold"}


def test_every_code_stands_as_a_literal_or_comes_from_listed_data():
    """A code that is put together at run time has no words that anybody could check."""
    modules = {place.rpartition(":")[0] for place in _codes().unreadable}
    assert set() == modules - set(FROM_DATA)


def test_a_code_is_never_taken_away_or_given_another_meaning():
    """A code that is gone is retired in the catalogue; a new one joins the list."""
    ever = EVER.read_text(encoding="utf-8").split()
    retired = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["retired"]
    assert sorted(ever) == sorted({*catalogue(), *retired})


def test_every_command_of_the_catalogue_is_a_verb():
    """A reader is never sent to a verb that the design does not know."""
    from truegreen.cli import verbs

    commands = [command for reason in catalogue().values() for command in (*reason.next, reason.action)]
    named = {
        name for command in commands for name in re.findall(r"(?:^|: |run )truegreen ([a-z][a-z-]*)", command)
    }
    assert set() == named - set(verbs.NAMES)


def _commands():
    """Every command of ours in the catalogue, its facts filled in and its optional parts both ways."""
    for reason in catalogue().values():
        for command in reason.next:
            for shown in (re.sub(r"\[.*?\]", "", command), re.sub(r"[\[\]]", "", command)):
                words = shlex.split(re.sub(r"\{[a-z_]+\}", "x", shown))
                if words[0] == "truegreen":
                    yield words


def _parse(words):
    """Read a command line as the command would, up to the verb's own options."""
    command, context, given = main.truegreen, None, words[1:]
    while True:
        context = command.make_context(command.name, list(given), parent=context)
        rest = [*context._protected_args, *context.args]
        if not isinstance(command, click.Group) or not rest:
            return
        _, command, given = command.resolve_command(context, rest)


@pytest.mark.parametrize("words", sorted({tuple(words) for words in _commands()}), ids=" ".join)
def test_every_command_of_the_catalogue_is_taken_as_it_stands(words):
    """What a reader pastes is not answered with what is missing."""
    with suppress(click.exceptions.Exit):  # --help and --version say what they say
        _parse(list(words))
