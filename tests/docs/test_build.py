# SPDX-License-Identifier: Apache-2.0
"""The documentation builds: no broken reference, no page outside the contents."""

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_documentation_builds_without_a_warning(tmp_path):
    """As ``./dev docs`` does it."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--quiet",
        "--nitpicky",
        "--fail-on-warning",
        DOCS,
        tmp_path / "html",
    ]
    ran = subprocess.run([*command, "-d", tmp_path / "trees"], capture_output=True, text=True, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)
