# SPDX-License-Identifier: Apache-2.0
"""A filter of system calls that closes the ways around an address check: other transports, fast open, io_uring.

What it decides: which calls fail, from the numbers in their registers. What it leaves: addresses, which no filter
can read, to Landlock or to the preloaded library.

- An internet socket must be TCP. UDP, raw, SCTP and Multipath TCP fail with EACCES.
- Of the other families only AF_UNIX, AF_NETLINK and AF_ALG may be opened; AF_VSOCK and AF_PACKET may not.
- Data in a SYN (``MSG_FASTOPEN``) is sent without a connect, so it fails.
- io_uring connects without the call that others watch, so it cannot be set up.
- Calls of another instruction set of the same processor fail, all of them: their numbers differ.
- Inside a network namespace the families are enough, and other instruction sets may go on.

Source: Documentation/userspace-api/seccomp_filter.rst and include/uapi/linux/{filter,seccomp,audit}.h of the kernel.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

import msgspec

from truegreen.guards import kernel

ALLOW = 0x7FFF0000
FAIL = 0x00050000
LOAD_WORD = 0x20
JUMP_EQUAL = 0x15
JUMP_AT_LEAST = 0x35
JUMP_ANY_BIT = 0x45
KEEP_BITS = 0x54
RETURN = 0x06

NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in ``struct seccomp_data``."""
X32_BIT = 0x40000000
MSG_FASTOPEN = 0x20000000
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_ALG = 1, 2, 10, 16, 38
SAFE_FAMILIES = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_ALG)
SOCK_STREAM, TYPE_BITS = 1, 0xF
IPPROTO_TCP = 6
IO_URING_SETUP = 425


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of one architecture."""

    audit: int
    """``AUDIT_ARCH_…``."""
    socket: int
    """Number of ``socket``."""
    flags: tuple[tuple[int, int], ...]
    """Number of each sending call, and which of its arguments holds the flags."""


KNOWN = {
    "x86_64": Calls(audit=0xC000003E, socket=41, flags=((44, 3), (46, 2), (307, 3))),
    "aarch64": Calls(audit=0xC00000B7, socket=198, flags=((206, 3), (211, 2), (269, 3))),
}
"""Machine to numbers, little endian: ``sendto``, ``sendmsg``, ``sendmmsg``."""


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    value: int
    then: str = ""
    other: str = ""
    label: str = ""


def program(calls: Calls) -> bytes:
    """The whole filter, as ``struct sock_filter`` after ``struct sock_filter``."""
    refuse, absent, allow = "refuse", "absent", "allow"
    return _assembled(
        [
            _Step(code=LOAD_WORD, value=ARCHITECTURE),
            _Step(code=JUMP_EQUAL, value=calls.audit, other=absent),
            _Step(code=LOAD_WORD, value=NUMBER),
            _Step(code=JUMP_AT_LEAST, value=X32_BIT, then=absent),
            _Step(code=JUMP_EQUAL, value=IO_URING_SETUP, then=refuse),
            *(_Step(code=JUMP_EQUAL, value=number, then=f"flags{at}") for number, at in calls.flags),
            _Step(code=JUMP_EQUAL, value=calls.socket, other=allow),
            _Step(code=LOAD_WORD, value=_argument(0)),
            *(_Step(code=JUMP_EQUAL, value=family, then=allow) for family in (AF_UNIX, AF_NETLINK, AF_ALG)),
            _Step(code=JUMP_EQUAL, value=AF_INET, then="internet"),
            _Step(code=JUMP_EQUAL, value=AF_INET6, other=refuse),
            _Step(code=LOAD_WORD, value=_argument(1), label="internet"),
            _Step(code=KEEP_BITS, value=TYPE_BITS),
            _Step(code=JUMP_EQUAL, value=SOCK_STREAM, other=refuse),
            _Step(code=LOAD_WORD, value=_argument(2)),
            _Step(code=JUMP_EQUAL, value=0, then=allow),
            _Step(code=JUMP_EQUAL, value=IPPROTO_TCP, then=allow, other=refuse),
            *(
                step
                for at in sorted({at for _, at in calls.flags})
                for step in (
                    _Step(code=LOAD_WORD, value=_argument(at), label=f"flags{at}"),
                    _Step(code=JUMP_ANY_BIT, value=MSG_FASTOPEN, then=refuse, other=allow),
                )
            ),
            _Step(code=RETURN, value=FAIL | errno.EACCES, label=refuse),
            _Step(code=RETURN, value=FAIL | errno.ENOSYS, label=absent),
            _Step(code=RETURN, value=ALLOW, label=allow),
        ]
    )


def families_program(calls: Calls) -> bytes:
    """Only what a network namespace does not hold: families that reach a hypervisor or a device."""
    refuse, allow = "refuse", "allow"
    return _assembled(
        [
            _Step(code=LOAD_WORD, value=ARCHITECTURE),
            _Step(code=JUMP_EQUAL, value=calls.audit, other=allow),
            _Step(code=LOAD_WORD, value=NUMBER),
            _Step(code=JUMP_EQUAL, value=calls.socket, other=allow),
            _Step(code=LOAD_WORD, value=_argument(0)),
            *(_Step(code=JUMP_EQUAL, value=family, then=allow) for family in SAFE_FAMILIES[:-1]),
            _Step(code=JUMP_EQUAL, value=SAFE_FAMILIES[-1], then=allow, other=refuse),
            _Step(code=RETURN, value=FAIL | errno.EACCES, label=refuse),
            _Step(code=RETURN, value=ALLOW, label=allow),
        ]
    )


def _assembled(steps: list[_Step]) -> bytes:
    places = {step.label: place for place, step in enumerate(steps) if step.label}
    return b"".join(_packed(step, place, places) for place, step in enumerate(steps))


def is_known() -> bool:
    """Whether the filter can be made for this machine."""
    return platform.machine() in KNOWN


def restrict(*, only_families: bool = False) -> None:
    """Put the filter on this process and its children; it cannot be taken off.

    Raises: OSError if the kernel refuses it or the machine's numbers are not known.
    """
    if not is_known():
        raise OSError(errno.ENOSYS, f"no filter of system calls for {platform.machine()}")
    calls = KNOWN[platform.machine()]
    code = families_program(calls) if only_families else program(calls)
    held = ctypes.create_string_buffer(code, len(code))
    packed = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(
        kernel.PR_SET_SECCOMP, kernel.SECCOMP_MODE_FILTER, ctypes.create_string_buffer(packed, len(packed))
    )


def _argument(place: int) -> int:
    return ARGUMENTS + 8 * place


def _packed(step: _Step, place: int, places: dict[str, int]) -> bytes:
    def distance(label: str) -> int:
        return places[label] - place - 1 if label else 0

    return struct.pack("=HBBI", step.code, distance(step.then), distance(step.other), step.value)
