# SPDX-License-Identifier: Apache-2.0
"""The verb ``quarantine`` as one sees it."""

import json

import pytest

from truegreen.cli.main import run
from truegreen.wiring import quarantine as wiring

HEAD = 'schema = "truegreen/quarantine/v1"\n'
LIST = """\
- id: a.py::b
  first_seen: 2026-11-01
  expires: 2026-11-20
  owner: "@ana"
  reason: slow
- id: a.py::c
  first_seen: 2026-11-01
  expires: 2026-12-01
  owner: "@ana"
  reason: slow
  retry_count: 1
"""


class _Clock:
    def now(self):
        return "2026-11-15T00:00:00Z"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a list, entered in the middle of November."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wiring, "SystemClock", _Clock)
    (tmp_path / "flakes.yaml").write_text(LIST, encoding="utf-8")
    return tmp_path


def _import(*more):
    return run(["quarantine", "import", "flakes.yaml", "--lane", "l", "--ticket", "#1", *more])


def test_an_import_prints_the_file_and_says_what_is_left_out(here, capfd):
    """The file on the output, the rest beside it."""
    assert 0 == _import()
    shown = capfd.readouterr()
    assert shown.out.startswith(HEAD + "\n[[entry]]\n")
    assert 'left out: flakes.yaml:11: an entry has no "retry_count"\n2 entries would be added\n' == shown.err


def test_an_import_that_writes_says_what_it_did(here, capfd):
    """And is done when it is repeated."""
    assert 0 == _import("--write")
    assert (
        'left out: flakes.yaml:11: an entry has no "retry_count"\n2 entries added\n' == capfd.readouterr().out
    )
    assert 0 == _import("--write")
    assert "there already: l a.py::b\nthere already: l a.py::c\n0 entries added\n" in capfd.readouterr().out


def test_an_import_asks_for_what_is_missing(here, capfd):
    """Exit 2 with the flag that gives it."""
    assert 2 == run(["quarantine", "import", "flakes.yaml"])
    assert (
        "",
        (
            "truegreen: flakes.yaml:1: the entry has no lane, which the list does not say [import-incomplete]\n"
            "  hint: truegreen quarantine import --lane LANE FILE\n"
        ),
    ) == tuple(capfd.readouterr())


def test_check_says_how_each_entry_stands(here, capfd):
    """Exit 0 while nothing holds."""
    _import("--write")
    capfd.readouterr()
    assert 0 == run(["quarantine", "check"])
    assert (
        "ends soon  until 2026-11-20T00:00:00Z  l  a.py::b  @ana  #1\n"
        "live       until 2026-12-01T00:00:00Z  l  a.py::c  @ana  #1\n"
        "2 of at most 10 entries\n"
    ) == capfd.readouterr().out


def test_check_of_an_expired_entry_exits_1(here, capfd):
    """As a merge would hold for it."""
    _import("--write")
    path = here / "truegreen.quarantine.toml"
    path.write_text(path.read_text().replace("2026-11-20", "2026-11-14"), encoding="utf-8")
    capfd.readouterr()
    assert 1 == run(["quarantine", "check"])
    assert "expired    since 2026-11-14T00:00:00Z  l  a.py::b  @ana  #1\n" in capfd.readouterr().out


def test_check_of_a_file_that_cannot_be_read_exits_3(here, capfd):
    """With every problem."""
    (here / "q.toml").write_text(HEAD + "x = 1\ny = 2\n", encoding="utf-8")
    assert 3 == run(["quarantine", "check", "q.toml"])
    shown = capfd.readouterr()
    assert ("", 2) == (shown.out, shown.err.count("[bad-quarantine]"))


@pytest.mark.parametrize(("text", "code", "holds"), [(HEAD, 0, False), ("", 3, True)])
def test_check_as_json_is_one_document(here, capfd, text, code, holds):
    """Whether it can be read or not."""
    (here / "q.toml").write_text(text, encoding="utf-8")
    assert code == run(["quarantine", "check", "--format", "json", "q.toml"])
    made = json.loads(capfd.readouterr().out)
    assert ("truegreen/quarantine-check/v1", holds) == (made["schema"], made["holds"])


def test_check_as_json_lists_every_entry(here, capfd):
    """With what a tool needs to open a ticket."""
    _import("--write")
    capfd.readouterr()
    run(["quarantine", "check", "--format", "json"])
    first = json.loads(capfd.readouterr().out)["entries"][0]
    assert ("a.py::b", "@ana", "#1", "ends soon", 5) == tuple(
        first[name] for name in ("id", "owner", "ticket", "standing", "days_left")
    )


@pytest.mark.parametrize("verb", ["add", "graduate", "list"])
def test_what_is_not_built_says_so_before_its_options_are_read(capfd, verb):
    """Exit 2; nothing is half done."""
    assert 2 == run(["quarantine", verb, "--whatever"])
    assert f"truegreen: the verb quarantine {verb} is not in this version" in capfd.readouterr().err


def test_a_word_that_is_no_verb_is_a_mistake(capfd):
    """And no promise."""
    assert 2 == run(["quarantine", "forget"])
    assert "[bad-command-line]" in capfd.readouterr().err
