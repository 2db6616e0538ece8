# SPDX-License-Identifier: Apache-2.0
"""A fresh network namespace made usable: loopback up, and every address on earth an address of loopback.

What it decides: which two changes are asked of the kernel. What it leaves: being in a fresh namespace, to
``namespace``; who then tries to reach what, to ``witness``.

- With every address local, a connection to the outside is refused at once and can be seen on loopback, instead
  of hanging or failing without a trace. It reaches nobody: nothing in this namespace has a way out.

Source: rtnetlink(7), netdevice(7).
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct

LOOPBACK = b"lo"
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1
RTM_NEWROUTE = 24
REQUEST_CREATE_ACK = 0x1 | 0x400 | 0x4
NLMSG_ERROR = 2
TABLE_LOCAL = 255
PROTOCOL_STATIC = 4
SCOPE_HOST = 254
TYPE_LOCAL = 2
ATTRIBUTE_OIF = 4


def loopback_up() -> None:
    """Switch loopback on. Raises: OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", LOOPBACK, IFF_UP))


def everything_is_here(family: socket.AddressFamily) -> None:
    """Make every address of a family one of loopback. Raises: OSError."""
    index = socket.if_nametoindex("lo")
    route = struct.pack(
        "=BBBBBBBBI", family, 0, 0, 0, TABLE_LOCAL, PROTOCOL_STATIC, SCOPE_HOST, TYPE_LOCAL, 0
    )
    body = route + struct.pack("=HHI", 8, ATTRIBUTE_OIF, index)
    head = struct.pack("=IHHII", 16 + len(body), RTM_NEWROUTE, REQUEST_CREATE_ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.sendall(head + body)
        answer = sock.recv(4096)
    kind = struct.unpack_from("=H", answer, 4)[0]
    refused = -struct.unpack_from("=i", answer, 16)[0] if kind == NLMSG_ERROR else errno.EPROTO
    if refused:
        raise OSError(refused, f"route for {family.name}: {os.strerror(refused)}")
