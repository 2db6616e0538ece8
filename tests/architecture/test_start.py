# SPDX-License-Identifier: Apache-2.0
"""What the gate loads before it answers."""

import subprocess
import sys

import pytest
import tree

SLOW = ("asyncio", "httpx2", "jinja2", "pytest", "rich", "ruamel", "importlib.metadata")


def _loaded(code, folder):
    """Which of the slow modules are loaded after ``code`` ran in a fresh interpreter."""
    told = f"import sys\n{code}\nprint([name for name in {SLOW!r} if name in sys.modules], file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", told], cwd=folder, capture_output=True, text=True, check=True)
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
