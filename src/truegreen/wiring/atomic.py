# SPDX-License-Identifier: Apache-2.0
"""Files replaced whole: whoever reads one finds the old bytes or the new, whatever happened in between.

What it decides: how a file is replaced. What it leaves: what stands in it.

- The bytes go to a file of another name in the same folder, are forced to the disk, and then take the name in one
  step; then the folder is forced to the disk too.
- Several writers at once do not mix: the last one's bytes stand, whole.
- When it fails, the other file is removed and the old bytes stand. Only a kill can leave it behind; its name,
  ``.truegreen-<random>.part``, is never that of a record.
- An existing file keeps its permissions. A link is replaced by the file, not followed; but a device or a pipe is never
  replaced, nor a link to one: ``/dev/stdout`` stays what it is.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

from truegreen.core.errors import ReachProblem
from truegreen.core.quoted import quoted

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def write_atomic(path: Path, data: bytes) -> None:
    """Make ``data`` the content of the file, which may exist; its folder must.

    Raises: ReachProblem ``disk-full`` or ``not-written``; the old bytes then still stand, unless only the last step,
    forcing the folder to the disk, failed.
    """
    try:
        folder = os.open(path.parent, _FOLDER)
        try:
            _refuse_special(path, folder)
            _replace(folder, path.name, data)
        finally:
            os.close(folder)
    except OSError as err:
        raise _problem(path, len(data), err) from err


def _refuse_special(path: Path, folder: int) -> None:
    try:
        there = os.stat(path.name, dir_fd=folder)
    except OSError:  # nothing is there, or a link to nothing
        return
    if not (stat.S_ISREG(there.st_mode) or stat.S_ISDIR(there.st_mode)):
        raise ReachProblem("not-written", f"{quoted(str(path))} is a device or a pipe, a file is asked")


def _replace(folder: int, name: str, data: bytes) -> None:
    part = f".truegreen-{secrets.token_hex(8)}.part"
    file = os.open(part, _NEW_FILE, 0o666, dir_fd=folder)
    try:
        try:
            _keep_permissions(file, folder, name)
            _write_all(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:  # an interrupt must not leave the file behind either
        os.unlink(part, dir_fd=folder)
        raise
    os.fsync(folder)


def _keep_permissions(file: int, folder: int, name: str) -> None:
    try:
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISREG(old.st_mode):
        os.fchmod(file, stat.S_IMODE(old.st_mode))


def _write_all(file: int, data: bytes) -> None:
    """A write may take fewer bytes than it was given."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _problem(path: Path, length: int, err: OSError) -> ReachProblem:
    shown, reason = quoted(str(path)), quoted(os.strerror(err.errno or 0))
    if err.errno in _FULL:
        return ReachProblem(
            "disk-full",
            f"{length} bytes for {shown} found no room: {reason}",
            hint="make room and run the command again",
        )
    return ReachProblem("not-written", f"{length} bytes for {shown} were not written: {reason}")
