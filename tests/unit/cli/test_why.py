# SPDX-License-Identifier: Apache-2.0
"""The verb ``why``: exit codes and streams."""

import json

import pytest

from factories import decisions as made
from factories.records import record_of
from truegreen.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _ran(capsys, *arguments):
    return main.run(["why", *arguments]), *capsys.readouterr()


def test_a_code_is_explained_and_exits_0(here, capsys):
    """Nothing on the error stream."""
    code, out, err = _ran(capsys, "case-flaky")
    assert (0, "", True) == (code, err, out.startswith("case-flaky (hold): Unsteady\n"))


@pytest.mark.parametrize("arguments", [[], ["decision.truegreen.json"]])
def test_a_decision_is_explained_whatever_its_word(here, capsys, arguments):
    """Explaining a block is no block: exit 0."""
    (here / "decision.truegreen.json").write_bytes(record_of(made.broken_case()))
    code, out, err = _ran(capsys, *arguments)
    assert (0, "", True) == (code, err, out.startswith("BLOCK test_tone never passed here"))


@pytest.mark.parametrize(("form", "start"), [("json", "{"), ("markdown", "#### case-flaky")])
def test_other_forms_are_printed_as_they_are(here, capsys, form, start):
    """One document, ended by one line end."""
    code, out, _ = _ran(capsys, "case-flaky", "--format", form)
    assert (0, True, True) == (code, out.startswith(start), out.endswith("\n"))


def test_the_json_can_be_read(here, capsys):
    """A tool gets the reasons of a code."""
    _, out, _ = _ran(capsys, "case-flaky", "--format", "json")
    assert "case-flaky" == json.loads(out)["reasons"][0]["code"]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "error"),
    [
        (["case-flakey"], 2, "[unknown-reason-code]\n  hint: truegreen why case-flaky\n"),
        (["gone.json"], 3, "[no-decision]\n  hint: truegreen gate --decision decision.truegreen.json\n"),
        ([], 3, "[no-decision]\n  hint: truegreen gate --decision decision.truegreen.json\n"),
        (["broken.json"], 3, "[not-json]\n"),
        (["case-flaky", "case-broken"], 2, "[bad-command-line]\n  hint: truegreen why --help\n"),
        (["--format", "xml", "case-flaky"], 2, "[bad-command-line]\n  hint: truegreen why --help\n"),
    ],
)
def test_what_cannot_be_explained_is_one_line_and_a_hint(here, capsys, arguments, exit_code, error):
    """No output, no traceback."""
    (here / "broken.json").write_bytes(b"{")
    code, out, err = _ran(capsys, *arguments)
    assert (exit_code, "", True) == (code, out, err.endswith(error))
    assert err.count("\n") <= 2
