# SPDX-License-Identifier: Apache-2.0
"""The verbs of ``cassette`` that look after recordings, as people call them."""

import json

import pytest

from factories.cassettes import CHAT, SECRET, answered, asked, folder, recorder
from factories.sessions import hit, session
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.cli.main import run
from truegreen.core.replay_session import write_session


@pytest.fixture
def cassettes(tmp_path, monkeypatch):
    """Two recordings below the working folder."""
    monkeypatch.chdir(tmp_path)
    store = recorder(tmp_path / "cassettes")
    for seed in range(2):
        store.keep(
            asked(CHAT | {"seed": seed}, headers=(("authorization", f"Bearer {SECRET}"),)),
            answered(f"is {SECRET}"),
        )
    return tmp_path / "cassettes"


def test_they_are_listed_shown_compared_and_counted(cassettes, capsys):
    """Exit 0; 1 for a difference; and never a secret, in neither form."""
    one, other = folder(cassettes).names()
    calls = [
        (["list", "cassettes"], 0),
        (["show", f"cassettes/{one}"], 0),
        (["diff", f"cassettes/{one}", f"cassettes/{other}"], 1),
        (["diff", f"cassettes/{one}", f"cassettes/{one}"], 0),
        (["stats", "cassettes"], 0),
    ]
    for arguments, code in calls:
        assert code == run(["cassette", *arguments])
        text = capsys.readouterr()
        assert code == run(["cassette", *arguments, "--format", "json"])
        document = capsys.readouterr()
        json.loads(document.out)
        assert ("", "", False) == (text.err, document.err, SECRET in text.out + document.out)
        assert text.out


def test_a_hostile_answer_moves_no_cursor(cassettes, capsys):
    """Escapes and commands of a runner are shown, not obeyed."""
    recorder(cassettes).keep(asked(CHAT | {"seed": 9}), answered("\x1b[2J\n::error::x\n##[error]x\u202e"))
    for name in folder(cassettes).names():
        for form in ("text", "json"):
            assert 0 == run(["cassette", "show", f"cassettes/{name}", "--format", form])
            out = capsys.readouterr().out
            assert not {"\x1b", "\u202e"} & set(out)
            assert not any(line.startswith("::") or "##[" in line for line in out.splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "none"],
        ["show", "cassettes/none.json"],
        ["show", "broken.json"],
        ["stats", "none"],
        ["log", "broken.json"],
        ["prune", "cassettes", "broken.json"],
    ],
)
def test_what_cannot_be_read_is_one_line(cassettes, capsys, arguments):
    """Exit 3."""
    (cassettes.parent / "broken.json").write_text('{"cut')
    assert 3 == run(["cassette", *arguments])
    assert capsys.readouterr().err.count("\n") <= 2


def test_runs_are_logged_and_the_unused_are_pruned(cassettes, capsys):
    """Once; and listed before they are removed."""
    used, other = folder(cassettes).names()
    key = read_cassette(folder(cassettes).read(used), used).key
    (cassettes.parent / "s.json").write_bytes(write_session(session(hits=(hit(used, key),), unused=(other,))))
    assert [0, 0] == [run(["cassette", "log", "s.json"]) for _ in range(2)]
    assert ["1 run added", "this run was there already"] == [
        line.partition(": ")[2] for line in capsys.readouterr().out.splitlines()
    ]
    assert 0 == run(["cassette", "prune", "cassettes", "s.json"])
    assert [
        other,
        "1 recordings unused, not removed (--delete removes them)",
    ] == capsys.readouterr().out.splitlines()
    assert 3 == run(["cassette", "prune", "cassettes", "s.json", "--parts", "2", "--delete"])
    assert "[cannot-prune]" in capsys.readouterr().err
    assert 0 == run(["cassette", "prune", "cassettes", "s.json", "--delete"])
    assert (used,) == folder(cassettes).names()


OLD = """interactions:
- request: {body: '{"model": "m"}', headers: {Content-Type: [application/json]}, method: POST, uri: 'https://h.example/v1/x'}
  response: {body: {string: '{}'}, headers: {}, status: {code: STATUS, message: OK}}
version: 1
"""


def test_recordings_of_another_tool_are_taken_over(cassettes, capsys, monkeypatch):
    """Losses are told; exit 3 where one was left out, 2 in CI, 1 for YAML that names objects."""
    monkeypatch.delenv("CI", raising=False)
    path = cassettes.parent / "old.yaml"
    for status, code, line in [
        ("200", 0, "1 exchanges taken into 1 recordings, 0 left out"),
        ("429", 3, "0 exchanges taken into 0 recordings, 1 left out"),
    ]:
        path.write_text(OLD.replace("STATUS", status))
        assert code == run(["cassette", "import", "old.yaml", "--from", "vcrpy", "--into", "new"])
        assert line == capsys.readouterr().out.splitlines()[-1]
    assert 1 == len(folder(cassettes.parent / "new").names())
    path.write_text(OLD.replace("STATUS", "!!python/object/apply:os.getcwd []"))
    assert 1 == run(["cassette", "import", "old.yaml", "--from", "vcrpy", "--into", "new"])
    assert "[yaml-tag]" in capsys.readouterr().err
    monkeypatch.setenv("CI", "true")
    assert 2 == run(["cassette", "import", "old.yaml", "--from", "vcrpy", "--into", "new"])


def test_a_migration_is_checked_and_changes_nothing(cassettes, capsys):
    """0 as it is, 1 where bytes would change, 3 where a file cannot be read, 2 without --check."""
    name = folder(cassettes).names()[0]
    before = folder(cassettes).read(name)
    assert 0 == run(["cassette", "migrate", "cassettes", "--check"])
    assert "2 of 2 recordings are current" in capsys.readouterr().out
    (cassettes / name).write_bytes(before.replace(b"  ", b" "))
    assert 1 == run(["cassette", "migrate", "cassettes", "--check"])
    assert f"{name}: would-be-rewritten" in capsys.readouterr().out
    (cassettes / name).write_bytes(before[:99])
    assert 3 == run(["cassette", "migrate", "cassettes", "--check"])
    assert before[:99] == folder(cassettes).read(name)
    assert 2 == run(["cassette", "migrate", "cassettes"])
    assert "[not-in-this-version]" in capsys.readouterr().err
