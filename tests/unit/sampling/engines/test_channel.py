# SPDX-License-Identifier: Apache-2.0
"""What is said arrives whole or not at all."""

import socket
import struct

import msgspec
import pytest

from truegreen.sampling.engines.channel import LIMIT_BYTES, Channel
from truegreen.sampling.engines.messages import Ended, FromHost, Running, Start, Stop, ToHost


@pytest.fixture
def ends():
    """The two ends of a conversation."""
    here, there = socket.socketpair()
    with here, there:
        yield Channel(here, FromHost), Channel(there, ToHost), there


def test_messages_arrive_in_order_and_typed(ends):
    """Large ones too, and text that is no whole Unicode."""
    host_side, other, _ = ends
    ended = Ended(index=1, n=2, draw=1, status="failed", detail="\ud83d" * 10)
    messages = [
        Running(index=1, n=2, draw=1, pid=3),
        msgspec.structs.replace(ended, detail="x" * 100_000),
    ]
    for message in messages:
        assert other.send(message)
    assert messages == [host_side.receive(), host_side.receive()]
    start = Start(index=0, n=1, draw=1, env={"A": "ü"}, timeout_s=1.5)
    assert host_side.send(start)
    assert host_side.send(Stop())
    assert [start, Stop()] == [other.receive(), other.receive()]


@pytest.mark.parametrize("cut", [0, 1, 4, 5, 20])
def test_a_peer_that_is_gone_in_the_middle_said_nothing(ends, cut):
    """Half of a message is no message."""
    host_side, _, raw = ends
    body = msgspec.json.encode(Running(index=1, n=2, draw=1, pid=3))
    raw.sendall((struct.pack(">I", len(body)) + body)[:cut])
    raw.close()
    assert None is host_side.receive()
    assert not host_side.send(Stop())


def test_a_length_beyond_the_limit_is_not_allocated(ends):
    """And bytes that are no message are an error."""
    host_side, _, raw = ends
    raw.sendall(struct.pack(">I", LIMIT_BYTES + 1))
    with pytest.raises(ValueError, match="beyond the limit"):
        host_side.receive()
    raw.sendall(struct.pack(">I", 2) + b"{}")
    with pytest.raises(msgspec.MsgspecError):
        host_side.receive()
