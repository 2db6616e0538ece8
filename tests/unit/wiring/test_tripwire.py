# SPDX-License-Identifier: Apache-2.0
"""A module loaded from a file that the repository tracks stops the gate."""

import os
import subprocess
import sys

import pytest

from truegreen.core.errors import EvidenceProblem
from truegreen.wiring.tripwire import refuse_code_of_the_change

PATH = {"PATH": os.environ["PATH"]}


@pytest.fixture
def checkout(tmp_path):
    """A work tree with one tracked and one untracked module."""
    for name in ("planted_tracked", "planted_untracked"):
        (tmp_path / f"{name}.py").write_text("VALUE = 1\n", encoding="utf-8")
    for command in (["init", "-q", "."], ["add", "planted_tracked.py"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=PATH | {"HOME": str(tmp_path)})
    return tmp_path


@pytest.fixture
def load(checkout, monkeypatch):
    """Imports a module of the checkout, as a planted file would be."""

    def loaded(name):
        monkeypatch.syspath_prepend(str(checkout))
        monkeypatch.delitem(sys.modules, name, raising=False)
        __import__(name)
        return name

    yield loaded
    for name in ("planted_tracked", "planted_untracked"):
        sys.modules.pop(name, None)


def test_a_tracked_module_is_refused_by_name(checkout, load):
    """The change could have written the decision."""
    load("planted_tracked")
    with pytest.raises(EvidenceProblem) as caught:
        refuse_code_of_the_change((checkout,), PATH)
    assert ("code-of-the-change-loaded", True) == (caught.value.code, caught.value.contradictory)
    assert "planted_tracked.py" in caught.value.message


def test_a_folder_inside_of_the_checkout_belongs_to_it(checkout, load):
    """The gate may be started anywhere below."""
    load("planted_tracked")
    below = checkout / "deep" / "er"
    below.mkdir(parents=True)
    with pytest.raises(EvidenceProblem):
        refuse_code_of_the_change((below,), PATH)


def test_the_named_repository_is_looked_at_wherever_the_gate_is_started(checkout, load, tmp_path_factory):
    """A folder outside is no shelter for a module of the change."""
    load("planted_tracked")
    with pytest.raises(EvidenceProblem):
        refuse_code_of_the_change((tmp_path_factory.mktemp("outside"), checkout), PATH)


def test_what_git_does_not_track_is_not_the_change(checkout, load):
    """A virtual environment inside of the checkout is nobody's change."""
    load("planted_untracked")
    refuse_code_of_the_change((checkout,), PATH)


def test_outside_of_a_checkout_there_is_nothing_to_refuse(tmp_path):
    """No repository, no code of the change."""
    refuse_code_of_the_change((tmp_path,), PATH)
