# SPDX-License-Identifier: Apache-2.0
"""Which of a few known processes holds the other end of a loopback connection (Linux, best effort).

What it decides: the one process, if there is exactly one. What it leaves: which processes to ask about.

- Several holders (a connection opened before a fork) are no answer; neither is a system without ``/proc``.

Source: proc(5), ``/proc/net/tcp``, ``/proc/[pid]/fd`` and ``/proc/[pid]/task/[tid]/children``.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
READINGS: Final = 5
"""How often the table is read before a connection counts as unknown."""
BETWEEN_S: Final = 0.002
"""Pause between two readings, in seconds."""


def owner_of(
    *, client: tuple[str, int], server: tuple[str, int], candidates: Iterable[int], proc: Path = PROC
) -> int | None:
    """The candidate that holds the socket whose own address is ``client`` and whose peer is ``server``.

    The kernel's table is not read in one piece: on a busy machine a row can slip past, so it is read again.
    """
    for last in reversed(range(READINGS)):
        inode = _inode(client=client, server=server, proc=proc)
        if inode is not None or last == 0:
            break
        time.sleep(BETWEEN_S)
    if inode is None:
        return None
    link = f"socket:[{inode}]"
    holders = [pid for pid in candidates if _holds(pid, link, proc)]
    return holders[0] if len(holders) == 1 else None


def with_children(pids: Iterable[int], *, proc: Path = PROC) -> frozenset[int]:
    """The processes and the children that they have now; a system that does not tell of children has none."""
    found: set[int] = set(pids)
    for pid in tuple(found):
        with suppress(OSError):
            for children in (proc / str(pid) / "task").glob("*/children"):
                found |= {int(child) for child in children.read_text(encoding="ascii").split()}
    return frozenset(found)


def _inode(*, client: tuple[str, int], server: tuple[str, int], proc: Path) -> str | None:
    wanted = [_kernel_address(client), _kernel_address(server)]
    try:
        rows = (proc / "net" / "tcp").read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return None
    for row in rows:
        fields = row.split()
        if fields[1:3] == wanted:
            return fields[9] if fields[9] != "0" else None
    return None


def _kernel_address(address: tuple[str, int]) -> str:
    """``0100007F:1F90`` for 127.0.0.1:8080: the address as the kernel's native integer, in hex."""
    (packed,) = struct.unpack("=I", socket.inet_aton(address[0]))
    return f"{packed:08X}:{address[1]:04X}"


def _holds(pid: int, link: str, proc: Path) -> bool:
    try:
        return any(_target(path) == link for path in (proc / str(pid) / "fd").iterdir())
    except OSError:  # gone, or another user's
        return False


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:  # closed in between
        return ""
