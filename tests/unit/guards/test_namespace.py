# SPDX-License-Identifier: Apache-2.0
"""Entering a namespace: with and without root, and what of the file system is covered in it."""

import os
import socket
import stat

import pytest

ENTER = """
import ctypes, json, os, socket, sys
from pathlib import Path
from truegreen.guards import namespace
outside = os.open("/proc/self/ns/net", os.O_RDONLY)
BECOME
before = os.readlink("/proc/self/ns/net")
entered = namespace.enter(sys.argv[1:])
names = [line.split(":")[0].strip() for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]]
reached = []
for path in sys.argv[1:]:
    with socket.socket(socket.AF_UNIX) as sock:
        reached.append(sock.connect_ex(path))
print(json.dumps({"moved": before != os.readlink("/proc/self/ns/net"), "interfaces": names, "uid": os.getuid(),
    "families": entered.families, "hidden": entered.hidden, "reached": reached}))
"""
REFUSED = 111
NOBODY = 65534


@pytest.fixture(autouse=True)
def _only_where_it_is(refused_here):
    if refused_here["namespace"]:
        pytest.skip(f"this machine does not allow namespaces: {refused_here['namespace']}")


def test_only_loopback_is_there(elsewhere):
    """No interface leads anywhere; both families have every address here."""
    found = elsewhere(ENTER)
    assert (True, "lo") == (found["moved"], found["interfaces"][0])
    assert "AF_INET" in found["families"]


def test_a_user_without_rights_enters_as_the_same_user(elsewhere):
    """A user namespace comes first, and the user stays who it is."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    found = elsewhere(ENTER, as_user=NOBODY)
    assert (True, NOBODY) == (found["moved"], found["uid"])


def test_sockets_of_daemons_are_covered(elsewhere, tmp_path):
    """The path is there and nobody answers; outside it answers as before."""
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(path))
        daemon.listen()
        found = elsewhere(ENTER, path, tmp_path / "not-there.sock")
        with socket.socket(socket.AF_UNIX) as visitor:
            visitor.connect(str(path))
    assert [str(path)] == found["hidden"]
    assert [REFUSED, 2] == found["reached"]
    assert stat.S_ISSOCK(path.stat().st_mode)


def test_leaving_again_is_not_possible_for_a_user(elsewhere):
    """The namespace outside belongs to a user namespace in which nobody here has rights."""
    text = ENTER.rpartition("print(")[0] + "print(json.dumps(ctypes.CDLL(None).setns(outside, 0)))"
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    assert -1 == elsewhere(text, as_user=NOBODY)
