# SPDX-License-Identifier: Apache-2.0
"""The preloaded library: where it stands, when it is made anew, and what is said where it cannot be made."""

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.guards import preload

pytestmark = pytest.mark.skipif(preload.compiler() is None, reason="no C compiler on this machine")


def test_it_is_compiled_once(tmp_path):
    """The second time it stands in the cache; the folder is made for it."""
    cache = tmp_path / "cache" / "truegreen"
    first = preload.library(cache, tmp_path)
    made = first.stat().st_mtime_ns
    assert (cache, made) == (first.parent, preload.library(cache, tmp_path).stat().st_mtime_ns)
    assert [first.name] == [path.name for path in cache.iterdir()]


def test_another_source_is_another_library(tmp_path, monkeypatch):
    """Its name holds the digest of what it was made from."""
    first = preload.library(None, tmp_path)
    source = tmp_path / "preload.c"
    source.write_bytes(preload.SOURCE.read_bytes() + b"\n")
    monkeypatch.setattr(preload, "SOURCE", source)
    assert first != preload.library(None, tmp_path)


def test_a_folder_that_others_write_is_not_trusted(tmp_path):
    """The library then belongs to the run."""
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    assert tmp_path == preload.library(cache, tmp_path).parent
    (tmp_path / "file").write_bytes(b"")
    assert tmp_path == preload.library(tmp_path / "file" / "below", tmp_path).parent


def test_no_compiler_is_said(tmp_path, monkeypatch):
    """With what was looked for."""
    monkeypatch.setattr(preload, "compiler", lambda: None)
    with pytest.raises(ReachProblem, match="needs a C compiler, and none of cc, gcc, clang") as told:
        preload.library(None, tmp_path)
    assert "guard-unavailable" == told.value.code


def test_a_compiler_that_fails_is_said(tmp_path, monkeypatch):
    """With its first words; no half library is left."""
    source = tmp_path / "broken.c"
    source.write_text("int main(", encoding="utf-8")
    monkeypatch.setattr(preload, "SOURCE", source)
    with pytest.raises(ReachProblem, match=r"did not compile the preloaded library: .*error"):
        preload.library(None, tmp_path)
    assert [] == list(tmp_path.glob("*.so"))


def test_a_compiler_that_cannot_be_run_is_said(tmp_path, monkeypatch):
    """A file that is no program."""
    broken = tmp_path / "cc"
    broken.write_bytes(b"\0")
    broken.chmod(0o755)
    monkeypatch.setattr(preload, "compiler", lambda: str(broken))
    with pytest.raises(ReachProblem, match="could not be run"):
        preload.library(None, tmp_path)
