# SPDX-License-Identifier: Apache-2.0
"""Files and folders opened without following anything."""

import os
import socket
from pathlib import Path

import pytest

from truegreen.core.errors import EvidenceProblem
from truegreen.gate import plain_files
from truegreen.gate.plain_files import is_folder, names_in, opened, read_plain


def code_of(path) -> str:
    """The code with which opening is refused."""
    with pytest.raises(EvidenceProblem) as caught, opened(str(path)):
        pass
    return caught.value.code


def test_files_and_folders_are_told_apart(tmp_path):
    """By path, and from the folder that holds them."""
    (tmp_path / "f").write_bytes(b"data")
    (tmp_path / "d").mkdir()
    with opened(str(tmp_path)) as (folder, at_top):
        assert at_top
        assert (False, True) == (is_folder("f", folder), is_folder("d", folder))
        assert ["d", "f"] == names_in(folder, 2)
        with opened("f", folder) as (file, in_folder):
            assert (False, b"data") == (in_folder, read_plain(file, "f", 4))


def test_an_opened_file_is_closed(tmp_path):
    """Also when its reader fails."""
    (tmp_path / "f").write_bytes(b"")
    with opened(str(tmp_path)) as (first, _):
        pass
    with pytest.raises(EvidenceProblem), opened(str(tmp_path)) as (second, _):
        names_in(second, 0)
    for number in (first, second):
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(number)


def test_links_pipes_sockets_and_devices_are_never_opened(tmp_path, monkeypatch):
    """A pipe would wait for its writer, a link would lead outside."""
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "folder-link").symlink_to(tmp_path)
    (tmp_path / "broken-link").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert ["evidence-not-plain"] * 6 == [
            code_of(path) for path in ("link", "folder-link", "broken-link", "pipe", "socket", "/dev/null")
        ]


def test_a_link_that_takes_a_files_place_in_between_is_not_followed(tmp_path, monkeypatch):
    """The kernel refuses it, whatever was seen before."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "file").write_bytes(b"data")
    seen = (tmp_path / "file").stat()
    (tmp_path / "file").unlink()
    (tmp_path / "file").symlink_to("secret")
    monkeypatch.setattr(plain_files.os, "stat", lambda *_, **__: seen)
    with pytest.raises(OSError, match="symbolic links"), opened(str(tmp_path / "file")):
        pass


def test_a_device_that_takes_a_files_place_in_between_is_not_read(tmp_path, monkeypatch):
    """What was opened is looked at once more."""
    seen = Path(__file__).stat()
    monkeypatch.setattr(plain_files.os, "stat", lambda *_, **__: seen)
    assert "evidence-not-plain" == code_of("/dev/null")


def test_names_come_in_byte_order_and_are_bounded(tmp_path):
    """Not in the file system's order, and never more than asked; bytes that are not UTF-8 are no error."""
    names = [b"b", b"a", b"B", b"\xc3\xa9", b"\xff", b"aa", b".a"]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(b"")
    with opened(str(tmp_path)) as (folder, _):
        assert sorted(names) == [os.fsencode(name) for name in names_in(folder, 7)]
        with pytest.raises(EvidenceProblem, match="evidence-too-large"):
            names_in(folder, 6)


def test_a_file_is_read_whole_or_not_at_all(tmp_path):
    """At the limit it is read, a byte above it is not."""
    (tmp_path / "f").write_bytes(b"12345")
    with opened(str(tmp_path / "f")) as (file, _):
        with pytest.raises(EvidenceProblem, match=r'"f" has 5 bytes, more than the 4 .*evidence-too-large'):
            read_plain(file, "f", 4)
        assert b"12345" == read_plain(file, "f", 5)


@pytest.mark.parametrize("change", [-1, 1])
def test_a_file_that_changes_its_length_is_refused(tmp_path, monkeypatch, change):
    """Half of one version and half of another are no evidence."""
    (tmp_path / "f").write_bytes(b"12345")
    with opened(str(tmp_path / "f")) as (file, _):
        before = os.fstat(file)
        os.truncate(tmp_path / "f", 5 + change)
        monkeypatch.setattr(plain_files.os, "fstat", lambda _: before)
        with pytest.raises(EvidenceProblem, match="evidence-unreadable"):
            read_plain(file, "f", 100)


def test_what_is_missing_is_the_systems_error(tmp_path):
    """Whoever asked knows what absence means."""
    with pytest.raises(FileNotFoundError), opened(str(tmp_path / "nothing")):
        pass
