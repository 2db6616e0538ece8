# SPDX-License-Identifier: Apache-2.0
"""Waking one who waits, in another process perhaps: a datagram to a socket without a file.

What it decides: how a waiter is reached. What it leaves: what it does then, to the clients.

- Linux gives such a socket a name of its own and takes it back when its process ends, however it ends: nothing is left
  behind, and a datagram to a dead waiter is refused, which tells that it is dead (unix(7), "Abstract sockets").
- A datagram that is lost, or that comes for no reason, does no harm: whoever waits looks again by itself.
- Elsewhere there is no such socket; then whoever waits only looks again.
"""

from __future__ import annotations

import errno
import select
import socket
import sys
import time
from typing import Final

HAS_BELLS: Final = sys.platform == "linux"
"""Whether waiters can be woken on this system."""
_DEAD: Final = {errno.ECONNREFUSED}


class Bell:
    """What one waiter is woken by."""

    def __init__(self) -> None:
        """A new name; it goes with ``close`` or with the process."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if HAS_BELLS else None
        self.address = ""
        if self._socket:
            self._socket.setblocking(False)
            self._socket.bind("")
            self.address = self._socket.getsockname()[1:].decode("ascii")

    def wait(self, seconds: float) -> None:
        """Return when rung, or after so many seconds."""
        if self._socket is None:
            time.sleep(max(0.0, seconds))
            return
        ready, _, _ = select.select((self._socket,), (), (), max(0.0, seconds))
        if ready:
            self.drain()

    def fileno(self) -> int:
        """For an event loop that watches it; -1 if there is nothing to watch."""
        return self._socket.fileno() if self._socket else -1

    def drain(self) -> None:
        """Forget that it was rung."""
        try:
            while self._socket and self._socket.recv(16):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        """Give the name back; a bell that nobody holds any more does so by itself."""
        if self._socket:
            self._socket.close()

    __del__ = close


class Ringer:
    """Rings bells, of this process and of others."""

    def __init__(self) -> None:
        """One socket without a name."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if HAS_BELLS else None
        if self._socket:
            self._socket.setblocking(False)

    def ring(self, address: str) -> bool:
        """Ring; False if whoever waited there is dead. Unknown is not dead: another namespace, a full queue."""
        if self._socket is None or not address:
            return True
        try:
            self._socket.sendto(b"!", b"\0" + address.encode("ascii", "ignore"))
        except OSError as err:
            return err.errno not in _DEAD
        return True

    def close(self) -> None:
        """Let go of the socket; a ringer that nobody holds any more does so by itself."""
        if self._socket:
            self._socket.close()

    __del__ = close
