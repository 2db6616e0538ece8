# SPDX-License-Identifier: Apache-2.0
"""Leases are kept alive while they are held, and lost ones are told."""

import time

from truegreen.core.admission import Ask
from truegreen.limiter.backend import Key
from truegreen.limiter.client import Limiter
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.memory import Memory

KEY = Key()


def test_a_place_is_kept_as_long_as_it_is_held():
    """Four leases long, and free as soon as it is handed back."""
    backend = Memory(checked(Limits(in_flight=1, lease_ns=SECOND // 10)))
    limiter = Limiter(backend)
    with limiter.leave() as held:
        time.sleep(0.4)
        assert (False, 1) == (held.is_lost, len(backend.state(KEY).places))
    assert (0, ()) == (backend.state(KEY).counts.expired, backend.state(KEY).places)
    limiter.close()


def test_a_lease_that_ended_all_the_same_is_told():
    """The place was given away behind the holder's back; the holder can ask, until it hands it back."""
    backend = Memory(checked(Limits(in_flight=1, lease_ns=SECOND // 10)))
    limiter = Limiter(backend)
    with limiter.leave(Ask()) as held:
        backend.hand_back(KEY, held.leave.lease)
        until = time.monotonic() + 30
        while not held.is_lost and time.monotonic() < until:
            time.sleep(0.002)
        assert held.is_lost
    assert not held.is_lost
    limiter.close()
