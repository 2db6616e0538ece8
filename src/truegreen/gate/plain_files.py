# SPDX-License-Identifier: Apache-2.0
"""Files and folders opened so that nothing is followed, waited for or read without bound.

What it decides: whether a name leads to a plain file or a folder, and what a file holds. What it leaves: which
names to ask for.

- Everything is opened from the folder that holds it, so that a folder that is swapped in between is not entered.
- A link is an error, not a way; so is a device, a socket or a pipe, which is never opened.
- A file that changes its length while it is read is an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def opened(name: str, folder: int | None = None) -> Iterator[tuple[int, bool]]:
    """Number of the opened file or folder, and whether it is a folder; ``folder`` is the opened one that holds it.

    Raises: EvidenceProblem ``evidence-not-plain``; OSError.
    """
    _check(os.stat(name, dir_fd=folder, follow_symlinks=False), name)
    number = os.open(name, _FLAGS, dir_fd=folder)
    try:
        yield number, _check(os.fstat(number), name)
    finally:
        os.close(number)


def is_folder(name: str, folder: int) -> bool:
    """Whether the name leads to a folder and not to a plain file.

    Raises: EvidenceProblem ``evidence-not-plain``; OSError.
    """
    return _check(os.stat(name, dir_fd=folder, follow_symlinks=False), name)


def names_in(folder: int, max_names: int) -> list[str]:
    """Names in the opened folder, in byte order.

    Raises: EvidenceProblem ``evidence-too-large`` above ``max_names``; OSError.
    """
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(names) == max_names:
                raise EvidenceProblem(
                    "evidence-too-large", f"a folder has more than the {max_names} entries that are read"
                )
            names.append(entry.name)
    return sorted(names, key=os.fsencode)


def read_plain(number: int, name: str, max_bytes: int) -> bytes:
    """The whole content of the opened file; ``name`` is for messages.

    Raises: EvidenceProblem ``evidence-too-large`` or ``evidence-unreadable``; OSError.
    """
    size = os.fstat(number).st_size
    if size > max_bytes:
        raise EvidenceProblem(
            "evidence-too-large",
            f"{quoted(name)} has {size} bytes, more than the {max_bytes} that are left to read",
        )
    with os.fdopen(number, "rb", closefd=False) as file:
        data = file.read(size + 1)
    if len(data) != size:
        raise EvidenceProblem(
            "evidence-unreadable", f"{quoted(name)} changed its length of {size} bytes while it was read"
        )
    return data


def _check(found: os.stat_result, name: str) -> bool:
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise EvidenceProblem(
            "evidence-not-plain", f"{quoted(Path(name).name)} is a link or another special file"
        )
    return stat.S_ISDIR(found.st_mode)
