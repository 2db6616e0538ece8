# SPDX-License-Identifier: Apache-2.0
"""Ledgers of one process; what every backend keeps is in test_backend.py."""

from backend_kinds import FORK

from truegreen.limiter.backend import Key
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.memory import Memory
from truegreen.limiter.state import Go, Request


def test_its_clock_is_handed_in():
    """Times in a ledger are that clock's."""
    now = [7]
    backend = Memory(checked(Limits(calls=1)), now_ns=lambda: now[0])
    backend.ask(Key(), Request(id="a"))
    now[0] += SECOND
    assert isinstance(backend.ask(Key(), Request(id="b", wait_ns=0)), Go)
    assert 7 + SECOND == backend.state(Key()).now_ns
    backend.close()


def test_a_forked_child_is_not_locked_out():
    """Its lock is new, its ledger a copy."""
    backend = Memory(checked(Limits(in_flight=1)))
    here, there = FORK.Pipe()
    with backend._held():
        child = FORK.Process(
            target=lambda: there.send(isinstance(backend.ask(Key(), Request(id="a", wait_ns=0)), Go))
        )
        child.start()
        assert here.recv()
    child.join(30)
    assert 0 == backend.state(Key()).tickets
    backend.close()
