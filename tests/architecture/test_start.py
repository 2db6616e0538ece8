# SPDX-License-Identifier: Apache-2.0
"""What the gate loads before it answers."""

import os
import subprocess
import sys

import pytest
import tree

from factories.github_event import github_event
from truegreen.wiring.rehearsal.honest import honest

SLOW = ("asyncio", "httpx2", "jinja2", "pytest", "rich", "ruamel", "importlib.metadata")
"""Libraries that no module of core and gate may load."""
FOR_OTHERS = (
    *SLOW,
    "_strptime",
    "bz2",
    "dataclasses",
    "difflib",
    "html",
    "http",
    "lzma",
    "rfc8785",
    "secrets",
    "shlex",
    "shutil",
    "tempfile",
    "xml",
    "zipfile",
    "truegreen.conformance",
    "truegreen.endpoint",
    "truegreen.forges.working_copy",
    "truegreen.gate.archive",
    "truegreen.gate.bundle",
    "truegreen.proxy",
    "truegreen.wiring.atomic",
    "truegreen.wiring.rehearsal",
)
"""What a decision on folders, shown as text, has no use for; loading it all would be felt."""


def _loaded(code, folder, names=SLOW, environment=None):
    """Which of the modules are loaded after ``code`` ran in a fresh interpreter."""
    told = f"import sys\n{code}\nprint([name for name in {names!r} if name in sys.modules], file=sys.stderr)"
    command = [sys.executable, "-c", told]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environment)
    return ran.stderr.splitlines()[-1]


@pytest.mark.parametrize("room", ["core", "gate"])
def test_no_module_of_the_room_loads_a_slow_library(tmp_path, room):
    """Every module of core and gate, imported one after another, stays lean."""
    names = [
        "truegreen." + name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in tree.modules()
        if name.startswith(f"{room}/")
    ]
    assert "[]" == _loaded("".join(f"import {name}\n" for name in names), tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [["gate", "--help"], ["gate", "--evidence", ".", "--subject-from", "git"], ["why", "no-such-code"]],
)
def test_the_gates_own_command_line_loads_no_slow_library(tmp_path, arguments):
    """From the command to the answer, on a folder that is not even a repository."""
    code = f"from truegreen.cli.main import run; sys.exit = print; run({arguments!r})"
    assert "[]" == _loaded(code, tmp_path)


def test_a_decision_loads_nothing_that_it_has_no_use_for(tmp_path):
    """An honest pull request, from the command to the last line."""
    path = {"PATH": os.environ["PATH"]}
    stage = honest(tmp_path, path).stage
    (tmp_path / "run-index.json").write_bytes(stage.index_bytes())
    arguments = ["gate", "--evidence", stage.write(tmp_path / "evidence"), "--repo", stage.git.folder]
    arguments = [*map(str, arguments), "--run-index", str(tmp_path / "run-index.json")]
    code = f"from truegreen.cli.main import run\nassert run({arguments!r}) == 0"
    environment = path | github_event(stage.facts, tmp_path)
    assert "[]" == _loaded(code, tmp_path, FOR_OTHERS, environment)
