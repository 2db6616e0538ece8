# SPDX-License-Identifier: Apache-2.0
"""Bells: rung, drained, dead, and where there are none."""

import time

from truegreen.limiter import wake
from truegreen.limiter.wake import Bell, Ringer


def test_a_bell_that_is_rung_wakes_and_one_that_is_not_waits():
    """A ring before the wait counts as well, once."""
    bell, ringer = Bell(), Ringer()
    assert ringer.ring(bell.address)
    assert ringer.ring(bell.address)
    started = time.monotonic()
    bell.wait(60)
    bell.wait(0.01)
    assert 0.01 <= time.monotonic() - started < 30
    bell.close()
    ringer.close()


def test_a_dead_bell_is_told_and_an_unknown_one_is_not_called_dead():
    """Refused means dead; an empty or a foreign address means nothing."""
    bell, ringer = Bell(), Ringer()
    address = bell.address
    bell.close()
    assert [False, True, True] == [ringer.ring(name) for name in (address, "", "x" * 200)]


def test_a_full_queue_is_not_dead():
    """Its owner will look anyway."""
    bell, ringer = Bell(), Ringer()
    assert all(ringer.ring(bell.address) for _ in range(5000))


def test_where_there_are_no_bells_whoever_waits_looks_again(monkeypatch):
    """It has no address, and waiting is sleeping."""
    monkeypatch.setattr(wake, "HAS_BELLS", False)
    bell, ringer = Bell(), Ringer()
    assert ("", -1, True) == (bell.address, bell.fileno(), ringer.ring("anything"))
    started = time.monotonic()
    bell.wait(0.01)
    bell.wait(-1)
    bell.drain()
    assert time.monotonic() - started >= 0.01
    bell.close()
    ringer.close()
