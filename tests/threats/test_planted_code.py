# SPDX-License-Identifier: Apache-2.0
"""Files that a change plants so that the gate runs them."""

import os
import subprocess
import sys

import pytest

from factories.github_event import github_event
from truegreen.wiring.rehearsal.honest import honest

PATH = {"PATH": os.environ["PATH"]}
"""Nothing else of this process reaches the gate."""
CANARY = "open({canary!r}, 'a').write('ran')\n"
PLANTED = {
    "click.py": CANARY,
    "msgspec.py": CANARY,
    "truegreen.py": CANARY,
    "sitecustomize.py": CANARY,
    "usercustomize.py": CANARY,
    "planted.pth": "import os; " + CANARY,
    "conftest.py": CANARY,
    "pytest.ini": "[pytest]\naddopts = -p click\n",
}
"""Names that an interpreter, a library or a runner looks for in the folder where it is started."""
SHADOW = """
import importlib.machinery, sys
_folder = __file__.rpartition("/")[0]
_spec = importlib.machinery.PathFinder.find_spec("uuid", [p for p in sys.path if p and p != _folder])
_real = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_real)
globals().update({name: value for name, value in vars(_real).items() if not name.startswith("__")})
"""
"""A planted ``uuid`` that works like the real one, so that nobody notices it."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """One honest pull request."""
    return honest(tmp_path_factory.mktemp("stage"), PATH).stage


@pytest.fixture
def checkout(stage, tmp_path):
    """A work tree of the head, in which the change's files are tracked."""
    folder = tmp_path / "checkout"
    subprocess.run(
        ["git", "clone", "-q", "-b", "main", str(stage.git.folder), str(folder)], check=True, env=PATH
    )
    return folder


@pytest.fixture
def gate(stage, tmp_path):
    """Runs the gate in a folder with these interpreter options; returns the finished process."""
    index = tmp_path / "run-index.json"
    index.write_bytes(stage.index_bytes())
    evidence = stage.write(tmp_path / "evidence")

    def ran(folder, *options):
        command = [sys.executable, *options, "-m", "truegreen", "gate", "--evidence", evidence]
        command += ["--repo", stage.git.folder, "--run-index", index]
        variables = PATH | github_event(stage.facts, tmp_path)
        return subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, check=False)

    return ran


def planted(checkout, files):
    """The files, tracked by the checkout."""
    for name, text in files.items():
        (checkout / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "add", "--all"], cwd=checkout, check=True, env=PATH)
    return checkout


def test_what_the_change_plants_does_not_run_in_an_isolated_gate(checkout, gate, tmp_path):
    """Started with -I in the very folder, the gate decides as it does elsewhere and nothing planted runs."""
    canary = tmp_path / "canary"
    files = {name: text.format(canary=str(canary)) for name, text in PLANTED.items()}
    done = gate(planted(checkout, files), "-I")
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("ADMIT ")
    assert not canary.exists()


def test_a_planted_module_stops_a_gate_that_is_not_isolated(checkout, gate):
    """It works like the one that it shadows, so only the tripwire notices: exit 1, no decision word."""
    done = gate(planted(checkout, {"uuid.py": SHADOW}))
    assert (1, "") == (done.returncode, done.stdout)
    assert "[code-of-the-change-loaded]" in done.stderr


@pytest.mark.parametrize("name", ["click.py", "msgspec.py"])
def test_a_planted_library_never_ends_green_by_chance(checkout, gate, name, tmp_path):
    """A planted library that does nothing breaks the gate; broken is not green."""
    done = gate(planted(checkout, {name: PLANTED[name].format(canary=str(tmp_path / "canary"))}))
    assert 0 != done.returncode
    assert "ADMIT" not in done.stdout
