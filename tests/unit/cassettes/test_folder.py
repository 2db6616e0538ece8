# SPDX-License-Identifier: Apache-2.0
"""A folder of cassettes on disk."""

import os
import subprocess
import sys

import pytest

from factories.cassettes import folder
from truegreen.core.errors import ReachProblem


def test_names_are_plain_json_files_sorted(tmp_path):
    """No link, no folder, no part of a write, no log."""
    for name in ("b.json", "a.json", ".truegreen-0.part", ".c.json", "replaced.jsonl"):
        (tmp_path / name).write_bytes(b"{}")
    (tmp_path / "d.json").mkdir()
    (tmp_path / "e.json").symlink_to(tmp_path / "a.json")
    found = folder(tmp_path)
    assert (("a.json", "b.json"), b"{}") == (found.names(), found.read("a.json"))
    assert [None] * 3 == [found.read(name) for name in ("d.json", "e.json", "f.json")]


def test_a_pipe_is_no_recording(tmp_path):
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / "a.json")
    assert ((), None) == (folder(tmp_path).names(), folder(tmp_path).read("a.json"))


def test_when_a_file_was_written_is_told(tmp_path):
    """By the clock of files; never for one that is not there."""
    (tmp_path / "a.json").write_bytes(b"")
    os.utime(tmp_path / "a.json", ns=(1, 5))
    assert [5, 0] == [folder(tmp_path).modified_ns(name) for name in ("a.json", "b.json")]


def test_a_folder_that_is_not_there_is_empty(tmp_path):
    """Until something is written: the lock makes it."""
    found = folder(tmp_path / "a" / "b")
    assert ((), None) == (found.names(), found.read("x.json"))
    with found.locked():
        found.write("x.json", b"1")
    assert b"1" == found.read("x.json")


def test_what_is_in_the_way_is_a_named_problem(tmp_path):
    """A file where the folder should be."""
    (tmp_path / "a").write_bytes(b"")
    found = folder(tmp_path / "a")
    for act in (found.names, lambda: found.read("x.json"), lambda: found.append("x", b"")):
        with pytest.raises(ReachProblem):
            act()
    with pytest.raises(ReachProblem) as caught, found.locked():
        pass
    assert "not-written" == caught.value.code


def test_a_log_grows(tmp_path):
    """Line by line."""
    found = folder(tmp_path)
    found.append("a.jsonl", b"1\n")
    found.append("a.jsonl", b"2\n")
    assert b"1\n2\n" == found.read("a.jsonl")


ADD = """
import sys, pathlib
from truegreen.cassettes.folder import Folder
from truegreen.wiring.atomic import write_atomic
folder = Folder(pathlib.Path(sys.argv[1]), write_atomic)
for _ in range(20):
    with folder.locked():
        folder.write("n.json", str(int(folder.read("n.json") or b"0") + 1).encode())
"""


def test_processes_take_turns(tmp_path):
    """Four of them add to one number, and none is lost."""
    running = [subprocess.Popen([sys.executable, "-c", ADD, str(tmp_path)]) for _ in range(4)]
    assert [0] * 4 == [one.wait(60) for one in running]
    assert b"80" == folder(tmp_path).read("n.json")
