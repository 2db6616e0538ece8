# SPDX-License-Identifier: Apache-2.0
"""Named ports of loopback carried into a network namespace: a service of the machine that a run may ask.

What it decides: how bytes cross. What it leaves: which ports, to the command line; everything else stays outside.

- The relay is a process of its own that is started before the namespace is entered and stays outside. It gets the
  listeners, which belong to the inside, and connects outside for each visitor.
- A socket belongs to the namespace in which it was opened, whoever holds it: that is the whole trick.
- It ends with the process that started it. A service that is not there refuses its visitor at once.

It runs as ``python -I -m truegreen.guards.relay DESCRIPTOR PORT…``.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Self

from truegreen.core.errors import ReachProblem
from truegreen.guards import kernel

LOOPBACK = "127.0.0.1"
MOST_PORTS = 64
READ_BYTES = 64 << 10
READY = b"+"
Visit = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Relay:
    """The relay's near end; made outside, opened inside, closed with the run."""

    def __init__(self, ports: Sequence[int]) -> None:
        """Starts the process outside. Raises: OSError."""
        self._ports = tuple(ports)
        self._near, far = socket.socketpair()
        with far:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
                [sys.executable, "-I", "-m", "truegreen.guards.relay", str(far.fileno()), *map(str, ports)],
                pass_fds=(far.fileno(),),
                stdin=subprocess.DEVNULL,
            )

    def open(self) -> Self:
        """Listen inside at every port, and hand the listeners over.

        Raises: ReachProblem ``port-not-carried`` if a port is taken or the relay is gone.
        """
        listeners: list[socket.socket] = []
        try:
            for port in self._ports:
                listeners.append(socket.create_server((LOOPBACK, port)))  # noqa: PERF401 - closed if one fails
            socket.send_fds(self._near, [b"listeners"], [each.fileno() for each in listeners])
            _expect(self._near.recv(1))
        except OSError as err:
            raise ReachProblem(
                "port-not-carried",
                f"the ports {', '.join(map(str, self._ports))} could not be carried into the namespace: {err}",
                hint="choose another --guard, or other ports",
            ) from err
        finally:
            for each in listeners:
                each.close()
        return self

    def close(self) -> None:
        """End the relay."""
        self._near.close()
        self._process.kill()
        self._process.wait()


def _expect(answer: bytes) -> None:
    if answer != READY:
        raise ConnectionError("the process that carries them ended")


def main(descriptor: int, ports: Sequence[int]) -> int:
    """Carry until the other end closes."""
    if kernel.is_linux():
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    with socket.socket(fileno=descriptor) as told:
        _, handed, _, _ = socket.recv_fds(told, 16, MOST_PORTS)
        if len(handed) != len(ports):
            return 1
        asyncio.run(_carry(told, [socket.socket(fileno=each) for each in handed], ports))
    return 0


async def _carry(told: socket.socket, listeners: Sequence[socket.socket], ports: Sequence[int]) -> None:
    for listener, port in zip(listeners, ports, strict=True):
        await asyncio.start_server(_visit_to(port), sock=listener)
    told.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(told, READY)
    await loop.sock_recv(told, 1)


def _visit_to(port: int) -> Visit:
    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(LOOPBACK, port)
        except OSError:
            _break(writer)
            return
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            far_writer.close()
            writer.close()

    return visit


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on; an end is passed on as an end, a break as a break."""
    try:
        while data := await reader.read(READ_BYTES):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        _break(writer)


def _break(writer: asyncio.StreamWriter) -> None:
    """End a connection so that the other end sees a break, not an end."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's: the command decides, and the run ends this
    sys.exit(main(int(sys.argv[1]), [int(text) for text in sys.argv[2:]]))
