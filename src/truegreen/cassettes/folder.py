# SPDX-License-Identifier: Apache-2.0
"""A folder of cassettes on disk: names, bytes, one writer at a time.

What it decides: which files are cassettes, and how processes take turns. What it leaves: what the bytes mean, to
``store``; how a file is replaced whole, to the function that wiring hands in.

- Cassettes are the plain files ``*.json`` whose names do not begin with a dot; links are not followed.
- Writers hold a lock on the folder itself, so that there is no lock file to commit; the system frees it when its
  holder dies.
- A log grows by whole lines, each forced to the disk.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from truegreen.core.errors import ReachProblem
from truegreen.core.quoted import quoted

MAX_BYTES: Final = 128 << 20
"""Largest file that is read, in bytes."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Folder:
    """One folder; it need not exist before something is written."""

    def __init__(self, path: Path, write: Callable[[Path, bytes], None]) -> None:
        """``write`` replaces a file whole."""
        self.path = path
        self._write = write

    def names(self) -> tuple[str, ...]:
        """Names of the cassettes, sorted.

        Raises: ReachProblem ``file-unreadable``.
        """
        try:
            with os.scandir(self.path) as entries:
                found = [one.name for one in entries if _is_cassette(one)]
        except FileNotFoundError:
            return ()
        except OSError as err:
            raise _unreadable(self.path, err) from err
        return tuple(sorted(found))

    def read(self, name: str) -> bytes | None:
        """The bytes of a file, or None if there is no plain file of that name.

        Raises: ReachProblem ``file-unreadable``.
        """
        try:
            file = os.open(self.path / name, _READ)
        except OSError as err:
            if err.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
                return None
            raise _unreadable(self.path / name, err) from err
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            return None
        with os.fdopen(file, "rb") as opened:
            return opened.read(MAX_BYTES)

    def modified_ns(self, name: str) -> int:
        """When a file was written last, in nanoseconds since the epoch; 0 if there is none."""
        try:
            return (self.path / name).lstat().st_mtime_ns
        except OSError:
            return 0

    def write(self, name: str, data: bytes) -> None:
        """Make ``data`` the content of a file, whole or not at all.

        Raises: ReachProblem ``disk-full`` or ``not-written``.
        """
        self._write(self.path / name, data)

    def append(self, name: str, line: bytes) -> None:
        """Add a line to a log and force it to the disk.

        Raises: ReachProblem ``not-written``.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(self.path / name, flags, 0o666)
            try:
                os.write(file, line)
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as err:
            raise _not_written(self.path / name, err) from err

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only writer, of all processes; makes the folder if it is not there.

        Raises: ReachProblem ``not-written``.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as err:
            raise _not_written(self.path, err) from err
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _is_cassette(entry: os.DirEntry[str]) -> bool:
    return (
        entry.name.endswith(".json")
        and not entry.name.startswith(".")
        and entry.is_file(follow_symlinks=False)
    )


def _unreadable(path: Path, err: OSError) -> ReachProblem:
    return ReachProblem("file-unreadable", f"{quoted(str(path))} cannot be read: {err.strerror}")


def _not_written(path: Path, err: OSError) -> ReachProblem:
    return ReachProblem("not-written", f"{quoted(str(path))} was not written: {err.strerror}")
