# SPDX-License-Identifier: Apache-2.0
"""A folder that is ours alone, and goes away."""

import os
import stat

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.forges import private_folder
from truegreen.forges.private_folder import make_folder, nameless_file, remove_folder


def test_a_folder_is_new_and_nobody_else_may_enter(tmp_path):
    """Two are never one, whatever the mask of new files is."""
    before = os.umask(0)
    try:
        one, other = (make_folder({"TMPDIR": str(tmp_path)}) for _ in range(2))
    finally:
        os.umask(before)
    assert {one, other} == set(tmp_path.iterdir())
    assert 0o700 == stat.S_IMODE(one.stat().st_mode)
    assert [] == list(one.iterdir())


@pytest.mark.parametrize("place", ["absent", "file", "", None])
def test_where_no_folder_can_be_made_the_next_place_is_taken(tmp_path, monkeypatch, place):
    """A TMPDIR that is gone, that is a file, empty or not set."""
    (tmp_path / "file").write_text("")
    (tmp_path / "next").mkdir()
    monkeypatch.setattr(private_folder, "_FALLBACKS", (str(tmp_path / "next"),))
    folder = make_folder({"TMPDIR": str(tmp_path / place) if place else ""} if place is not None else {})
    assert tmp_path / "next" == folder.parent


def test_a_relative_place_gives_an_absolute_path(tmp_path, monkeypatch):
    """Git runs elsewhere."""
    monkeypatch.chdir(tmp_path)
    assert tmp_path == make_folder({"TMPDIR": "."}).parent


def test_a_machine_without_any_place_says_so(monkeypatch):
    """One line, with the places that were tried."""
    monkeypatch.setattr(private_folder, "_FALLBACKS", ("/proc/none",))
    with pytest.raises(ReachProblem) as caught:
        make_folder({})
    assert ("no-temporary-folder", True) == (caught.value.code, "/proc/none" in caught.value.message)


def test_a_folder_goes_with_all_that_is_in_it_and_nothing_beside(tmp_path):
    """Folders in folders, files that may not be written, links whose targets stay."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("x")
    folder = make_folder({"TMPDIR": str(tmp_path)})
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/c").write_text("x")
    (folder / "a/b/c").chmod(0o400)
    (folder / "link").symlink_to(tmp_path / "kept/file")
    remove_folder(folder)
    assert [tmp_path / "kept"] == list(tmp_path.iterdir())
    assert "x" == (tmp_path / "kept/file").read_text()
    remove_folder(folder)


def test_a_link_to_a_folder_is_not_followed(tmp_path):
    """It may stay, but what it leads to is not ours."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("x")
    folder = make_folder({"TMPDIR": str(tmp_path)})
    (folder / "link").symlink_to(tmp_path / "kept")
    remove_folder(folder)
    assert "x" == (tmp_path / "kept/file").read_text()


def test_a_nameless_file_is_gone_when_it_is_closed(tmp_path):
    """Two at once do not mix."""
    with nameless_file(tmp_path) as one, nameless_file(tmp_path) as other:
        assert [] == list(tmp_path.iterdir())
        one.write(b"1")
        other.write(b"2")
        one.seek(0)
        other.seek(0)
        assert (b"1", b"2") == (one.read(), other.read())
