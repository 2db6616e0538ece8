# SPDX-License-Identifier: Apache-2.0
"""Which openings are noted; in a process of its own, since an audit hook stays."""

import subprocess
import sys
from textwrap import dedent

SCRIPT = """
import os
from pathlib import Path

from truegreen.pytest_plugin.opened import Opened

root = Path.cwd()
opened = Opened(root)
Path("a.txt").read_text()
Path("a.txt").read_bytes()
open(b"b.txt").close()
os.close(os.open("c.txt", os.O_RDONLY))
open(root / "d.txt", "w").close()
open("d.txt", "a").close()
open("d.txt", "r+").close()
os.close(os.open("d.txt", os.O_RDWR))
os.close(os.open(".", os.O_RDONLY | os.O_DIRECTORY))
open(os.devnull).close()
(root / "__pycache__").mkdir()
open("__pycache__/x.pyc", "w").close()
open("__pycache__/x.pyc").close()
print(opened.take())
open("a.txt").close()
open("e.txt", "w").close()
open("e.txt").close()
print(opened.take())
print(opened.take())
try:
    open("gone.txt")
except FileNotFoundError:
    pass
print(opened.take())
"""


def test_reading_is_noted_once_and_writing_never(tmp_path):
    """By name, bytes or number; folders, caches and other places are no inputs."""
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(name)
    done = subprocess.run(
        [sys.executable, "-c", dedent(SCRIPT)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ["('a.txt', 'b.txt', 'c.txt')", "('e.txt',)", "()", "('gone.txt',)"] == done.stdout.splitlines()
