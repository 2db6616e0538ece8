# SPDX-License-Identifier: Apache-2.0
"""Messages over a connected socket: four bytes of length, then JSON.

- A peer that is gone is ``None``, in the middle of a message too: what was not said whole was not said.
- A length beyond the limit is an error of the peer, not an allocation.
"""

from __future__ import annotations

import socket
import struct
from typing import Generic, TypeVar

import msgspec

LIMIT_BYTES = 64 * 1024 * 1024
"""Largest message: a collection of a hundred thousand cases fits."""
_LENGTH = struct.Struct(">I")

T = TypeVar("T")


class Channel(Generic[T]):
    """One end of a conversation; ``T`` is what the other end may say."""

    def __init__(self, sock: socket.socket, heard: object) -> None:
        """``heard`` is the union of message classes that may arrive."""
        self._sock = sock
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(heard)

    def fileno(self) -> int:
        """For selectors."""
        return self._sock.fileno()

    def send(self, message: msgspec.Struct) -> bool:
        """Say one thing whole; False if the peer is gone."""
        data = msgspec.json.encode(message)
        try:
            self._sock.sendall(_LENGTH.pack(len(data)) + data)
        except OSError:
            return False
        return True

    def receive(self) -> T | None:
        """The next thing that the peer says, or None if it is gone.

        Raises: msgspec.MsgspecError for bytes that are no message; ValueError for one beyond the limit.
        """
        head = self._exactly(_LENGTH.size)
        if head is None:
            return None
        (length,) = _LENGTH.unpack(head)
        if length > LIMIT_BYTES:
            raise ValueError(f"a message of {length} bytes is beyond the limit of {LIMIT_BYTES}")
        body = self._exactly(length)
        return None if body is None else self._decoder.decode(body)

    def detached(self) -> socket.socket:
        """The socket itself, for an event loop that reads and writes the same frames."""
        return self._sock

    def close(self) -> None:
        """Hang up."""
        self._sock.close()

    def _exactly(self, size: int) -> bytes | None:
        parts: list[bytes] = []
        while size:
            try:
                part = self._sock.recv(min(size, 1 << 20))
            except OSError:
                return None
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
