# SPDX-License-Identifier: Apache-2.0
"""A network namespace for this process and all it starts: no interface but a loopback of its own.

What it decides: how the namespace is entered with and without root, and which sockets of daemons are hidden. What
it leaves: refusing to go on without it, to the caller.

- As root a network namespace is enough; otherwise a user namespace comes first, in which this user and group stay
  who they are.
- The process must have one thread.
- Sockets in the file system do not belong to a network namespace: those of daemons that start programs or open
  connections for others (container engines, system bus) are covered in a mount namespace of the run.
- A process of root that keeps CAP_SYS_ADMIN could go back: ``keeper`` takes it from the command.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from truegreen.guards import kernel, netlink


class Entered(msgspec.Struct, frozen=True, kw_only=True):
    """What came of entering."""

    hidden: tuple[str, ...]
    """Sockets of daemons that are covered."""
    families: tuple[str, ...]
    """Families whose every address is one of loopback, so that attempts are seen."""


def enter(daemon_sockets: Iterable[str] = ()) -> Entered:
    """Move this process into fresh namespaces.

    Raises: OSError if the kernel, a container or a security module forbids it; the process is then in an
    undefined mix of old and new namespaces and must end.
    """
    if os.geteuid() == 0 and _unshared(kernel.CLONE_NEWNET | kernel.CLONE_NEWNS):
        pass
    else:
        _enter_as_user()
    netlink.loopback_up()
    return Entered(hidden=_hidden(daemon_sockets), families=_families())


def _unshared(flags: int) -> bool:
    try:
        kernel.unshare(flags)
    except PermissionError:
        return False
    return True


def _enter_as_user() -> None:
    uid, gid = os.geteuid(), os.getegid()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # one that changed its user may not write its own maps otherwise
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET | kernel.CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path(f"/proc/self/{name}").write_bytes(text.encode())


def _families() -> tuple[str, ...]:
    found = []
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):  # a kernel without the family has no way out by it either
            netlink.everything_is_here(family)
            found.append(family.name)
    return tuple(found)


def _hidden(paths: Iterable[str]) -> tuple[str, ...]:
    found = []
    with suppress(OSError):  # hiding is more than the network namespace promises; what is hidden is told
        kernel.mount("none", "/", kernel.MS_REC | kernel.MS_PRIVATE)
        for path in paths:
            if Path(path).is_socket():
                kernel.mount(os.devnull, path, kernel.MS_BIND)
                found.append(path)
    return tuple(found)
