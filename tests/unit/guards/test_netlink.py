# SPDX-License-Identifier: Apache-2.0
"""A fresh network namespace is made usable by two changes, and refusals of the kernel are errors."""

import pytest

USABLE = """
import json, socket
from truegreen.guards import kernel, netlink
kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
def reach(host):
    with socket.socket() as sock:
        sock.settimeout(2)
        return sock.connect_ex((host, 9))
found = [reach("127.0.0.1"), reach("203.0.113.9")]
netlink.loopback_up()
found += [reach("127.0.0.1"), reach("203.0.113.9")]
netlink.everything_is_here(socket.AF_INET)
print(json.dumps([*found, reach("203.0.113.9")]))
"""
UNREACHABLE, REFUSED = 101, 111


@pytest.fixture(autouse=True)
def _only_where_it_is(refused_here):
    if refused_here["namespace"]:
        pytest.skip(f"this machine does not allow namespaces: {refused_here['namespace']}")


def test_what_is_nowhere_is_here_and_refused(elsewhere):
    """Unreachable at first; once loopback is up it answers; at last every address does, with a refusal."""
    assert [UNREACHABLE, UNREACHABLE, REFUSED, UNREACHABLE, REFUSED] == elsewhere(USABLE)
