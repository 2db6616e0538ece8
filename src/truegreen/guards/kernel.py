# SPDX-License-Identifier: Apache-2.0
"""System calls of Linux that Python 3.11 has no function for, each a function that raises OSError.

What it decides: numbers and argument types. What it leaves: what they are for, to ``namespace``, ``landlock``,
``seccomp`` and ``keeper``.

- Nothing is looked up before the first call, so that the module loads on every system.
- Call numbers that are the same on every architecture stand here; those that differ stand in ``seccomp``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import lru_cache

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446


def is_linux() -> bool:
    """Whether these calls exist at all."""
    return sys.platform == "linux"


def unshare(flags: int) -> None:
    """Leave the namespaces that the flags name for new ones; a user namespace asks for a process of one thread."""
    _checked(_libc().unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, flags: int) -> None:
    """Mount without file system type or data: a bind, or a change of propagation."""
    done = _libc().mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None)
    _checked(done, "mount", target)


def prctl(option: int, value: int, pointer: object = None) -> int:
    """One of the process's own settings."""
    rest = ctypes.c_ulong(0) if pointer is None else pointer
    done = _libc().prctl(
        ctypes.c_int(option), ctypes.c_ulong(value), rest, ctypes.c_ulong(0), ctypes.c_ulong(0)
    )
    return _checked(done, f"prctl {option}")


def syscall(number: int, *arguments: object) -> int:
    """A system call by number; whole numbers are passed at full width."""
    wide = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(_libc().syscall(ctypes.c_long(number), *wide), f"system call {number}")


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    if not is_linux():
        raise OSError(errno.ENOSYS, f"no such call on {sys.platform}")
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def _checked(done: int, what: str, name: str | None = None) -> int:
    if done < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}", name)
    return done
