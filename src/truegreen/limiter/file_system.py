# SPDX-License-Identifier: Apache-2.0
"""Which file systems can hold a ledger: those on which a lock excludes everybody who can open the file.

What it decides: whether a folder is on a disk of this machine. What it leaves: locking, to ``file_lock``.

- Locks on a network file system are refused rather than trusted: some are kept by one client alone, and none is freed
  in time when a machine is lost. So are file systems that other programs serve (FUSE), among them sshfs and virtiofs.
- What cannot be asked is refused as well.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from truegreen.core.errors import ReachProblem, UsageProblem

NETWORK: Final[Mapping[int, str]] = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x65735546: "FUSE",
    0x01021997: "9P",
    0x00C36400: "Ceph",
    0x5346414F: "AFS",
    0x6B414653: "AFS",
    0x73757245: "Coda",
    0x564C: "NCP",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x19830326: "BeeGFS",
    0x01161970: "GFS2",
    0x7461636F: "OCFS2",
    0x786F4256: "a VirtualBox folder",
    0xBACBACBC: "a VMware folder",
}
"""Magic numbers of statfs(2)."""
_REMOTE_DRIVE: Final = 4
"""DRIVE_REMOTE of GetDriveTypeW."""
_MNT_LOCAL: Final = 0x1000
"""Flag of statfs(2) on macOS."""


def ask_local(folder: Path, magic: int | None = None) -> None:
    """Pass if the folder is on a disk of this machine. ``magic`` stands for what the system would say.

    Raises: UsageProblem ``limiter-network-disk``; ReachProblem ``limiter-unreachable`` if the system does not say.
    """
    if sys.platform == "linux":
        found = NETWORK.get((_linux_magic(folder) if magic is None else magic) & 0xFFFFFFFF)
    elif sys.platform == "darwin":
        found = None if _is_local_darwin(folder) else "a network file system"
    else:
        found = "a network drive" if _is_remote_windows(folder) else None
    if found:
        raise UsageProblem(
            "limiter-network-disk",
            f"{folder} is on {found}, where a lock does not exclude other machines",
            hint="truegreen limiter serve --help",
        )


def _linux_magic(folder: Path) -> int:
    """The first field of ``struct statfs``, a long on every architecture that we run on."""
    room = ctypes.create_string_buffer(512)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.statfs(os.fsencode(folder), room):
        reason = os.strerror(ctypes.get_errno())
        raise ReachProblem("limiter-unreachable", f"the file system of {folder} cannot be asked: {reason}")
    return ctypes.c_long.from_buffer(room).value


def _is_local_darwin(folder: Path) -> bool:
    """Bit MNT_LOCAL of ``f_flags``, at byte 64 of ``struct statfs`` with 64-bit inodes (sys/mount.h)."""
    room = ctypes.create_string_buffer(4096)
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, "statfs$INODE64", libc.statfs)(os.fsencode(folder), room):
        raise ReachProblem("limiter-unreachable", f"the file system of {folder} cannot be asked")
    return bool(ctypes.c_uint32.from_buffer(room, 64).value & _MNT_LOCAL)


def _is_remote_windows(folder: Path) -> bool:
    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]  # Windows alone has it
    return bool(kernel.GetDriveTypeW(f"{folder.absolute().anchor}") == _REMOTE_DRIVE)
