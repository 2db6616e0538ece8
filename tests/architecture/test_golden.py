# SPDX-License-Identifier: Apache-2.0
"""Golden files are what their scripts make of today's code."""

import subprocess
import sys

import pytest
import tree

sys.path.insert(0, str(tree.ROOT / "tests" / "docs"))

import sandboxes

SCRIPTS = sorted(
    path.relative_to(tree.ROOT).as_posix() for path in (tree.ROOT / "tests").rglob("golden/rebuild.py")
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """This checkout as it stands, committed elsewhere."""
    folder = tmp_path_factory.mktemp("copy")
    sandboxes.checkout(folder)
    return folder


@pytest.mark.parametrize("script", SCRIPTS)
def test_rebuilding_changes_nothing(copy, script):
    """The script runs in a copy of this checkout and leaves no difference."""
    ran = subprocess.run([sys.executable, script], cwd=copy, capture_output=True, text=True, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)
    left = subprocess.run(
        ["git", "status", "--porcelain"], cwd=copy, capture_output=True, text=True, check=True
    )
    assert "" == left.stdout


def test_every_golden_folder_has_its_script():
    """A golden file that no script makes would be blessed by hand."""
    folders = {
        path for path in (tree.ROOT / "tests").rglob("golden") if path.is_dir() and any(path.iterdir())
    }
    assert [] == [str(path) for path in folders if not (path / "rebuild.py").is_file()]
