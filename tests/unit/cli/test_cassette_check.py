# SPDX-License-Identifier: Apache-2.0
"""``truegreen cassette check``: its screen, its JSON and its exit codes."""

import json

import pytest

from truegreen.cassettes.check import is_recording
from truegreen.cli.main import run as truegreen
from truegreen.core.replay_session import write_session
from truegreen.wiring.rehearsal import replays


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Exit code and output of the verb in a folder with these recordings."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, files=None):
        made = replays.recordings(tmp_path / "scratch") if files is None else files
        for name, data in made.items():
            path = tmp_path / "cassettes" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        code = truegreen(["cassette", "check", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out

    return call


def test_a_good_folder_says_what_it_holds(run):
    """The whole screen."""
    assert (0, "contract-check cassettes: 1 recordings, 0 fail, 0 unknown, 0 notes\n") == run()


def test_a_broken_contract_names_file_place_and_owner(run, tmp_path):
    """The whole line, and exit 1."""
    bad = replays.recordings(tmp_path / "bad", ((replays.request(), replays.answer('{"label": "maybe"}')),))
    (name,) = filter(is_recording, bad)
    code, out = run(files=bad)
    line = f"FAILS   contract-broken {name}:answer 1: label: asked enum yes, no (template labels, owner @owner)\n"
    assert (1, line) == (code, out.partition("\n")[0] + "\n")


def test_what_cannot_be_told_exits_3(run):
    """A truncated file says nothing."""
    code, out = run(files={"a.json": b"{"})
    assert (3, True) == (code, "UNKNOWN recording-truncated a.json: " in out)


def test_the_same_as_json(run):
    """For tools: recordings, findings, record."""
    code, out = run("--format", "json", files={"a.json": b"{"})
    shown = json.loads(out)
    assert (3, "truegreen/cassette-check/v1", None) == (code, shown["schema"], shown["record"])
    assert ["contracts-unreadable", "recording-truncated"] == [one["code"] for one in shown["findings"]]
    assert ["a.json"] == [one["file"] for one in shown["recordings"]]


def test_a_replay_without_a_policy_has_no_lane(run, tmp_path):
    """The record would be about nothing: exit 2."""
    lane = type("Lane", (), {"cassettes": "cassettes"})
    session = replays.replay(lane, {})
    (tmp_path / "session.json").write_bytes(write_session(session))
    code, _ = run("--session", tmp_path / "session.json")
    assert 2 == code


def test_hostile_names_are_shown_harmless(run):
    """A file's name is untrusted text."""
    code, out = run(files={"a\x1b[31m.json": b"{"})
    assert (3, False) == (code, "\x1b" in out)
