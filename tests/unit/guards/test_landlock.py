# SPDX-License-Identifier: Apache-2.0
"""Landlock: listed ports stay open, others are refused by the kernel, children inherit it."""

import errno
import socket

import pytest

from truegreen.guards import kernel, landlock

TRY = """
import json, socket, subprocess, sys
from truegreen.guards import landlock
open_port, closed_port = map(int, sys.argv[1:])
landlock.restrict([open_port])
def reach(port):
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port))
child = f"import socket; print(socket.socket().connect_ex(('127.0.0.1', {closed_port})))"
inherited = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout
print(json.dumps([reach(open_port), reach(closed_port), int(inherited)]))
"""
ABSTRACT = """
import json, socket, sys
from truegreen.guards import landlock
landlock.restrict([])
with socket.socket(socket.AF_UNIX) as sock:
    print(json.dumps(sock.connect_ex("\\0" + sys.argv[1])))
"""


@pytest.fixture(autouse=True)
def _only_where_it_is(refused_here):
    if refused_here["landlock"]:
        pytest.skip(f"this machine does not allow Landlock: {refused_here['landlock']}")


def test_only_listed_ports_are_open(elsewhere):
    """In this process and in its child, whoever listens at the other port."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        found = elsewhere(TRY, one.getsockname()[1], other.getsockname()[1])
    assert [0, errno.EACCES, errno.EACCES] == found


def test_abstract_sockets_of_programs_outside_are_closed(elsewhere):
    """From interface version 6 on; a name that nobody could reach is EPERM all the same."""
    if landlock.version() < landlock.SCOPE_VERSION:
        pytest.skip(f"interface version {landlock.version()} has no scopes")
    name = "truegreen-test-of-scopes"
    with socket.socket(socket.AF_UNIX) as outside:
        outside.bind("\0" + name)
        outside.listen()
        assert errno.EPERM == elsewhere(ABSTRACT, name)


def test_a_kernel_without_tcp_rules_is_refused(monkeypatch):
    """Interface version 3 knows files only: taking it would close nothing."""
    monkeypatch.setattr(landlock, "version", lambda: 3)
    with pytest.raises(OSError, match="interface version is 3, TCP needs 4"):
        landlock.restrict([80])


def test_no_landlock_is_version_0(monkeypatch):
    """A kernel that does not know the call, or has it switched off."""

    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "off")

    monkeypatch.setattr(kernel, "syscall", refuse)
    assert 0 == landlock.version()
