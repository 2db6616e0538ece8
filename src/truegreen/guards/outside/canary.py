# SPDX-License-Identifier: Apache-2.0
"""Tries, before the command starts, what the command must not be able to do; run by ``keeper`` inside the guard.

Arguments: the proxy's port, and a port of loopback on which somebody outside the guard listens. Prints one JSON
object with what came of each try; ``truegreen.guards.canary`` says what must have come.
"""

import ctypes
import json
import os
import select
import socket
import struct
import sys

OUTSIDE = "192.0.2.1"
"""An address of TEST-NET-1 (RFC 5737): nobody's."""
OUTSIDE_PORT = 9
LIMIT_S = 3.0


def through_python(host: str, port: int) -> str:
    """Connect as Python programs do; ``connected``, or the error's number and text."""
    try:
        socket.create_connection((host, port), timeout=LIMIT_S).close()
    except OSError as err:
        return "%s: %s" % (err.errno, err)
    return "connected"


def beside_python(host: str, port: int) -> str:
    """Connect as everything else does, without Python's socket; ``connected`` or the error's number."""
    libc = ctypes.CDLL(None, use_errno=True)
    sock = libc.socket(socket.AF_INET, socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0), 0)
    if sock < 0:
        return str(ctypes.get_errno())
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)
    try:
        if libc.connect(sock, address, len(address)) == 0:
            return "connected"
        if ctypes.get_errno() not in (11, 115):  # EAGAIN, EINPROGRESS
            return str(ctypes.get_errno())
        if not select.select([], [sock], [], LIMIT_S)[1]:
            return "silence"
        wrapped = socket.socket(fileno=os.dup(sock))
        with wrapped:
            found = wrapped.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return str(found) if found else "connected"
    finally:
        os.close(sock)


if __name__ == "__main__":
    PROXY, LISTENER = int(sys.argv[1]), int(sys.argv[2])
    print(
        json.dumps(
            {
                "proxy": through_python("127.0.0.1", PROXY),
                "hook": through_python(OUTSIDE, OUTSIDE_PORT),
                "listener": beside_python("127.0.0.1", LISTENER),
                "outside": beside_python(OUTSIDE, OUTSIDE_PORT),
            }
        )
    )
