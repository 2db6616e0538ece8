# SPDX-License-Identifier: Apache-2.0
"""Runs actionlint over every workflow in this repository: ours, the examples' and those that we ship.

A workflow is a tracked YAML file with ``on:`` and ``jobs:`` at its top, wherever it lies; workflows under
``tests`` are broken on purpose and left out.

usage: workflows.py [FOLDER]
"""

import re
import subprocess
import sys
from pathlib import Path

ACTIONLINT = Path(sys.executable).with_name("actionlint")
"""The one of this environment, whatever the PATH says."""
TOP_KEY = re.compile(r"""^(?:on|'on'|"on"|jobs)\s*:""", re.MULTILINE)


def main() -> int:
    """Exit with what actionlint exits with; 3 if git cannot list the files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    listed = subprocess.run(  # noqa: S603 - fixed words
        ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git of the PATH
        capture_output=True,
        check=False,
    )
    if listed.returncode or not listed.stdout:
        print(f"workflows: git lists no file in {folder}: {listed.stderr.decode(errors='replace').strip()}")
        return 3
    workflows = [name for name in listed.stdout.decode().split("\0") if is_workflow(folder, name)]
    if not workflows:
        return 0
    # Other linters that happen to be installed must not change the answer.
    command = [ACTIONLINT, "-no-color", "-shellcheck=", "-pyflakes=", *workflows]
    return subprocess.run(command, cwd=folder, check=False).returncode  # noqa: S603 - names from git


def is_workflow(folder: Path, name: str) -> bool:
    """Whether the file is YAML with ``on`` and ``jobs`` at its top."""
    if not name.endswith((".yml", ".yaml")) or name.startswith("tests/") or not (folder / name).is_file():
        return False
    text = (folder / name).read_text(encoding="utf-8", errors="replace")
    return len({key.strip("'\" :\t") for key in TOP_KEY.findall(text)}) == len(("on", "jobs"))


if __name__ == "__main__":
    sys.exit(main())
