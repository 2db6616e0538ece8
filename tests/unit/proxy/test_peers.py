# SPDX-License-Identifier: Apache-2.0
"""Who holds the other end of a loopback connection."""

import os
import socket
import sys
from pathlib import Path

import pytest

from truegreen.proxy.peers import owner_of, with_children

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def pair():
    """A listening server and a connection to it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as conn,
    ):
        accepted, _ = server.accept()
        with accepted:
            yield conn.getsockname(), server.getsockname()


def _child_holding_copies():
    """A forked child that holds every socket of this process until it is told to go."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    return child, writer


def test_the_one_holder_is_found(pair):
    """Among candidates that exist, that do not, and that hold nothing."""
    client, server = pair
    assert os.getpid() == owner_of(client=client, server=server, candidates=[os.getpid(), 1 << 22, 1])


def test_no_candidate_holds_it(pair):
    """A process that nobody asked about is not named."""
    client, server = pair
    assert None is owner_of(client=client, server=server, candidates=[])


def test_two_holders_are_no_answer(pair):
    """A connection opened before a fork belongs to both."""
    client, server = pair
    child, writer = _child_holding_copies()
    try:
        assert None is owner_of(client=client, server=server, candidates=[os.getpid(), child])
        assert child == owner_of(client=client, server=server, candidates=[child])
    finally:
        os.close(writer)
        os.waitpid(child, 0)


def test_a_connection_that_is_gone_has_no_holder(pair):
    """Ports that nobody uses are in no table."""
    _, server = pair
    assert None is owner_of(client=("127.0.0.1", 1), server=server, candidates=[os.getpid()])


def test_a_system_without_proc_has_no_answer(tmp_path: Path):
    """Best effort: no table, no name."""
    assert None is owner_of(
        client=("127.0.0.1", 1), server=("127.0.0.1", 2), candidates=[os.getpid()], proc=tmp_path
    )


def test_a_socket_that_has_no_inode_any_more_has_no_holder(tmp_path: Path):
    """The kernel writes inode 0 for a connection whose process is gone."""
    (tmp_path / "net").mkdir()
    row = "   0: 0100007F:0001 0100007F:0002 01 00000000:00000000 00:00000000 00000000     0        0 0 1 x\n"
    (tmp_path / "net" / "tcp").write_text("header\n" + row)
    assert None is owner_of(
        client=("127.0.0.1", 1), server=("127.0.0.1", 2), candidates=[os.getpid()], proc=tmp_path
    )


def test_children_of_now_are_counted(tmp_path: Path):
    """A process that was forked after the watch began is found; a system that tells of no children names none."""
    child, writer = _child_holding_copies()
    try:
        assert {os.getpid(), child} <= with_children([os.getpid()])
    finally:
        os.close(writer)
        os.waitpid(child, 0)
    assert child not in with_children([os.getpid()])
    assert frozenset({7}) == with_children([7], proc=tmp_path)
