# SPDX-License-Identifier: Apache-2.0
"""A folder for one run of ours that nobody else may enter, and files in it without a name.

What it decides: where it is made, and that it goes away. What it leaves: what lies in it, to ``git_process``.

- It lies below ``TMPDIR``, else below ``/tmp`` or ``/var/tmp``: the first in which it can be made.
- Its name cannot be guessed and it is made anew or not at all, so nobody can have prepared it.
- The standard library's ``tempfile`` would do; but it loads every compressor with it, a fiftieth of a gate's time.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from truegreen.core.errors import ReachProblem

_FALLBACKS = ("/tmp", "/var/tmp")  # noqa: S108 - the folder below gets a name that cannot be guessed
_numbers = itertools.count()


def make_folder(environment: Mapping[str, str]) -> Path:
    """A new, empty folder with an absolute path.

    Raises: ReachProblem ``no-temporary-folder``.
    """
    places = [place for place in (environment.get("TMPDIR"), *_FALLBACKS) if place]
    for place in places:
        folder = Path(place).absolute() / f"truegreen-git-{os.urandom(12).hex()}"
        with suppress(OSError):
            folder.mkdir(mode=0o700)
            return folder
    raise ReachProblem(
        "no-temporary-folder", f"no folder can be made in {', '.join(places)}", hint="set TMPDIR"
    )


def remove_folder(folder: Path) -> None:
    """Remove a folder with everything in it; what cannot be removed stays."""
    for at, folders, files in os.walk(folder, topdown=False):
        for name in files:
            with suppress(OSError):
                (Path(at) / name).unlink()
        for name in folders:
            with suppress(OSError):
                (Path(at) / name).rmdir()
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def nameless_file(folder: Path) -> Iterator[BinaryIO]:
    """A file to write and read, which is gone when it is closed."""
    path = folder / f"{next(_numbers)}.part"
    with path.open("x+b") as file:
        path.unlink()
        yield file
