# SPDX-License-Identifier: Apache-2.0
"""Thread, loop and socket of a listener, from start to end."""

import socket
import threading

import pytest

from truegreen.proxy.listener import Listener


def _port_of(listener):
    return socket.create_connection(("127.0.0.1", listener.port), timeout=10)


def test_connections_are_served_until_the_end():
    """What is under way at ``stop`` is cancelled, and ``last`` runs after it."""
    seen, begun = [], threading.Event()

    async def serve(reader, writer):
        begun.set()
        try:
            await reader.read()
        finally:
            seen.append("ended")

    async def last():
        seen.append("last")

    listener = Listener(serve, name="test")
    listener.start()
    with _port_of(listener) as conn:
        begun.wait(10)
        listener.stop(last=last)
        assert b"" == conn.recv(1)
    listener.stop()
    assert (["ended", "last"], None) == (seen, listener.failure)


def test_an_error_of_a_connection_is_kept():
    """The first one, for whoever closes."""

    async def serve(reader, writer):
        raise ZeroDivisionError("of the test")

    listener = Listener(serve, name="test")
    listener.start()
    with _port_of(listener) as conn:
        assert b"" == conn.recv(1)
    listener.stop()
    assert isinstance(listener.failure, ZeroDivisionError)


def test_a_taken_port_is_told():
    """It is the caller who names it."""

    async def serve(reader, writer):
        raise AssertionError("nobody comes")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        listener = Listener(serve, name="test", port=taken.getsockname()[1])
        with pytest.raises(OSError, match="address already in use"):
            listener.start()
        listener.stop()
