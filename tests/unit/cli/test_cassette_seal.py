# SPDX-License-Identifier: Apache-2.0
"""``truegreen cassette seal``: what it prints and how it exits."""

import pytest

from truegreen.cli.main import run as truegreen
from truegreen.wiring.rehearsal import replays


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Exit code and output in a folder with recordings, outside of CI."""
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    for name, data in replays.recordings(tmp_path / "scratch").items():
        path = tmp_path / "cassettes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def call(*arguments):
        code = truegreen(["cassette", "seal", *map(str, arguments)])
        return code, capsys.readouterr().out

    return call


def test_a_key_is_made_and_its_lines_for_the_policy_are_printed(run):
    """Ready to paste."""
    code, out = run("--new-key", "recorder.pem")
    assert (0, True) == (code, '[cassettes]\nkeys = ["ed25519:' in out)


def test_recordings_are_sealed(run):
    """Each file is named, and the seal with its key."""
    run("--new-key", "recorder.pem")
    code, out = run("--key", "recorder.pem")
    assert (0, True, True) == (code, "sealed contracts.toml\n" in out, "seal: cassettes/seals/" in out)


@pytest.mark.parametrize("arguments", [(), ("--key", "a", "--new-key", "b")])
def test_one_of_both_is_asked(run, arguments):
    """Make a key or use one."""
    assert 2 == run(*arguments)[0]
