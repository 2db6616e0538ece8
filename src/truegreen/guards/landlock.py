# SPDX-License-Identifier: Apache-2.0
"""Landlock: the kernel refuses TCP connections of this process and its children to any port but those listed.

What it decides: which accesses are handled. What it leaves: UDP, other transports and io_uring, which Landlock
does not see, to ``seccomp``.

- No privilege is needed; what was taken cannot be given back, and children inherit it.
- It knows ports, not addresses: a listed port is open on every host. The audit hook is narrower.
- From interface version 6 abstract sockets of programs outside are closed too. Sockets in the file system are not.

Source: Documentation/userspace-api/landlock.rst of the kernel, interface versions 4 (TCP) and 6 (scopes).
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

from truegreen.guards import kernel

TCP_VERSION = 4
"""Interface version that knows TCP (Linux 6.7)."""
SCOPE_VERSION = 6
"""Interface version that knows scopes (Linux 6.12)."""
ASK_VERSION = 1
CONNECT_TCP = 1 << 1
RULE_NET_PORT = 2
SCOPE_ABSTRACT_UNIX = 1 << 0


def version() -> int:
    """The kernel's interface version; 0 where there is none or it is switched off."""
    try:
        return kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, None, 0, ASK_VERSION)
    except OSError:
        return 0


def restrict(ports: Iterable[int]) -> None:
    """Leave this process and its children only TCP connections to these ports.

    Raises: OSError if the kernel has no Landlock with TCP.
    """
    known = version()
    if known < TCP_VERSION:
        raise OSError(f"Landlock's interface version is {known}, TCP needs {TCP_VERSION}")
    handled = struct.pack("=QQ", 0, CONNECT_TCP)
    if known >= SCOPE_VERSION:
        handled += struct.pack("=Q", SCOPE_ABSTRACT_UNIX)
    ruleset = kernel.syscall(
        kernel.LANDLOCK_CREATE_RULESET, ctypes.create_string_buffer(handled, len(handled)), len(handled), 0
    )
    try:
        for port in ports:
            rule = struct.pack("=QQ", CONNECT_TCP, port)
            kernel.syscall(
                kernel.LANDLOCK_ADD_RULE,
                ruleset,
                RULE_NET_PORT,
                ctypes.create_string_buffer(rule, len(rule)),
                0,
            )
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.syscall(kernel.LANDLOCK_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
