# SPDX-License-Identifier: Apache-2.0
"""The preloaded library, compiled by this machine's own compiler when it is first needed.

What it decides: where the library stands and when it is made anew. What it leaves: what it refuses, to
``outside/preload.c``.

- Its name holds the digest of its source, of the compiler's version and of the machine: another of these is another
  library.
- It is written under another name and renamed, so that two runs at once do not read half of it.
- A folder that is not this user's alone is not trusted; nor is one that cannot be written. The library then belongs
  to the run.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import subprocess
from pathlib import Path

from truegreen.core.errors import ReachProblem

SOURCE = Path(__file__).parent / "outside" / "preload.c"
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O1", "-shared", "-fPIC", "-Wall")
COMPILE_LIMIT_S = 120.0


def compiler() -> str | None:
    """Path of a C compiler, or None."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def library(cache: Path | None, run_folder: Path) -> Path:
    """The compiled library, from ``cache`` if it can be used, else in ``run_folder``.

    Raises: ReachProblem ``guard-unavailable`` if there is no compiler or it fails.
    """
    found = compiler()
    if found is None:
        raise ReachProblem(
            "guard-unavailable",
            f"the guard preload needs a C compiler, and none of {', '.join(COMPILERS)} is on the PATH",
            hint="install a C compiler, or choose another --guard",
        )
    version = _ran([found, "--version"]).stdout
    digest = hashlib.sha256(SOURCE.read_bytes() + version + platform.machine().encode()).hexdigest()
    folder = cache if cache is not None and _is_ours(cache) else run_folder
    path = folder / f"preload-{digest}.so"
    if not path.exists():
        part = folder / f".preload-{os.getpid()}-{digest[:12]}.part"
        done = _ran([found, *FLAGS, "-o", str(part), str(SOURCE), "-ldl"])
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise ReachProblem(
                "guard-unavailable",
                f"{found} did not compile the preloaded library: {' | '.join(said[:3]) or done.returncode}",
                hint="choose another --guard",
            )
        part.replace(path)
    return path


def _ran(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - the compiler of this machine, no shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMPILE_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        raise ReachProblem(
            "guard-unavailable", f"{command[0]} could not be run: {err}", hint="choose another --guard"
        ) from err


def _is_ours(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return False
    writable_by_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.geteuid() and not writable_by_others and os.access(folder, os.W_OK)
