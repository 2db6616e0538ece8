# SPDX-License-Identifier: Apache-2.0
"""The verb ``ledger`` as people call it."""

import subprocess
import sys

import pytest

from truegreen.cli.main import run

POLICY = 'schema = "truegreen/policy/v1"\n[lanes.model-tests]\ntests = "tests"\n'


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository with one test; the working folder of this process."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("def test_one():\n    pass\n")
    (tmp_path / "truegreen.toml").write_text(POLICY)
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return tmp_path


def test_a_baseline_is_checked_written_and_fits(root, capsys):
    """Exit 1 before, 0 after; the whole screen."""
    assert 1 == run(["ledger", "baseline", "--check"])
    before = capsys.readouterr().out.splitlines()
    assert "truegreen.baseline.json does not fit: truegreen ledger baseline --reason TEXT" == before[-1]
    assert 0 == run(["ledger", "baseline", "--reason", "first"])
    assert "written: truegreen.baseline.json" == capsys.readouterr().out.splitlines()[-1]
    assert 0 == run(["ledger", "baseline", "--check"])
    assert "truegreen.baseline.json fits\n" == capsys.readouterr().out


def test_a_reason_is_needed(root, capsys):
    """An announcement says why."""
    for arguments in ([], ["--reason", " "]):
        assert 2 == run(["ledger", "baseline", *arguments])
        assert "--reason is missing" in capsys.readouterr().err
    assert not (root / "truegreen.baseline.json").exists()


def test_a_file_that_is_no_ledger_is_one_line(root, capsys):
    """Exit 3."""
    assert 3 == run(["ledger", "show", "truegreen.toml"])
    assert 3 == run(["ledger", "show", "gone.json"])
    assert "Traceback" not in capsys.readouterr().err


def test_it_is_loaded_without_an_endpoint_client():
    """Showing a ledger needs no HTTP client and no loop."""
    code = "import sys, truegreen.cli.ledger; print([n for n in ('httpx2', 'rich', 'ruamel') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]\n" == done.stdout
