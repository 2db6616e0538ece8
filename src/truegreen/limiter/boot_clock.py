# SPDX-License-Identifier: Apache-2.0
"""The clock of this machine since it started: it is never set, it counts sleep, and all processes share it.

What it decides: which clock, and what names its start. What it leaves: what a new start means for a ledger, to
``ledger.rebased``.

- The wall clock is never read: a step of it changes no limit.
- A container with a time namespace of its own sees other numbers; its offset is taken out again, so that it may share
  a ledger with its host.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from truegreen.core.errors import ReachProblem

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
OFFSETS: Final = Path("/proc/self/timens_offsets")


class BootClock(msgspec.Struct, frozen=True, kw_only=True):
    """One start of one machine."""

    boot: str
    """Names the start."""
    now_ns: Callable[[], int]
    """Nanoseconds since it, or since a fixed moment after it."""


def boot_clock(system: str = sys.platform) -> BootClock:
    """The clock of this machine.

    Raises: ReachProblem ``limiter-unreachable`` where the system does not tell one start from another.
    """
    if system == "linux":
        return _linux()
    if system == "darwin":
        return _darwin()
    if system == "win32":
        return _windows()
    raise ReachProblem("limiter-unreachable", f"there is no clock for a shared ledger on {system}")


def _linux() -> BootClock:
    offset, clock = offset_ns(_read(OFFSETS)), time.CLOCK_BOOTTIME
    if offset == 0:
        return BootClock(boot=_read(BOOT_ID).strip(), now_ns=lambda: time.clock_gettime_ns(clock))
    return BootClock(boot=_read(BOOT_ID).strip(), now_ns=lambda: time.clock_gettime_ns(clock) - offset)


def offset_ns(offsets: str) -> int:
    """What a time namespace adds to the boot clock, from ``timens_offsets`` (time_namespaces(7)); 0 without one."""
    for line in offsets.splitlines():
        name, *numbers = line.split()
        if name == "boottime":
            seconds, nanoseconds = map(int, numbers)
            return seconds * 1_000_000_000 + nanoseconds
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError as err:
        if path == OFFSETS:  # a kernel without time namespaces
            return ""
        raise ReachProblem("limiter-unreachable", f"{path} is not there: is /proc mounted?") from err
    except OSError as err:
        raise ReachProblem("limiter-unreachable", f"{path} cannot be read: {err.strerror}") from err


def _darwin() -> BootClock:
    """CLOCK_MONOTONIC counts sleep on macOS (clock_gettime(3)); the kernel names each start."""
    told = subprocess.run(
        ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, check=False
    )
    boot = told.stdout.strip()
    if not boot:
        raise ReachProblem(
            "limiter-unreachable", "sysctl kern.bootsessionuuid tells no start of this machine"
        )
    return BootClock(boot=boot, now_ns=lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC))


def _windows() -> BootClock:
    """GetTickCount64 counts sleep; the registry counts starts."""
    import winreg  # noqa: PLC0415 - Windows alone has it

    where = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters"
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, where) as key:  # type: ignore[attr-defined,unused-ignore]  # Windows alone has it
        boot, _ = winreg.QueryValueEx(key, "BootId")  # type: ignore[attr-defined,unused-ignore]  # Windows alone has it
    return BootClock(boot=f"windows-{boot}", now_ns=time.monotonic_ns)
