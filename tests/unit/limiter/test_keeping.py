# SPDX-License-Identifier: Apache-2.0
"""Signs of life: for as long as a lease is held, three in its length, and none after."""

import threading

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.limiter import keeping
from truegreen.limiter.keeping import Keeper


def test_a_held_lease_gets_signs_until_it_is_dropped():
    """With what was kept with it; dropping gives that back once."""
    signs, enough = [], threading.Event()

    def beat(lease, held):
        signs.append((lease, held))
        if len(signs) == 3:
            enough.set()

    keeper = Keeper(beat)
    keeper.keep("a", 1, 0.03)
    assert enough.wait(10)
    assert [1, None] == [keeper.drop("a"), keeper.drop("a")]
    assert {("a", 1)} == set(signs)


def test_a_sign_that_fails_is_sent_again():
    """A service that restarts does not end the lease by itself."""
    signs, enough = [], threading.Event()

    def beat(lease, held):
        signs.append(lease)
        if len(signs) == 2:
            enough.set()
        raise ReachProblem("limiter-unreachable", f"{held}")

    keeper = Keeper(beat)
    keeper.keep("a", 1, 0.03)
    assert enough.wait(10)
    keeper.drop("a")


def test_nothing_runs_once_no_lease_was_held_for_a_while(monkeypatch):
    """The thread ends a while after the last lease and begins again with the next."""
    monkeypatch.setattr(keeping, "IDLE_S", 0.02)
    keeper = Keeper(lambda *_: None)
    for _ in range(2):
        keeper.keep("a", 1, 0.03)
        thread = keeper._thread
        keeper.drop("a")
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.parametrize("number", [1, 50])
def test_many_leases_each_have_their_own_turns(number):
    """Whoever comes later does not hurry the others."""
    signs, enough = [], threading.Event()

    def beat(lease, _):
        signs.append(lease)
        if len(set(signs)) == number:
            enough.set()

    keeper = Keeper(beat)
    for index in range(number):
        keeper.keep(str(index), None, 0.03)
    assert enough.wait(10)
    for index in range(number):
        keeper.drop(str(index))


def test_after_closing_no_sign_is_sent():
    """Whatever is still held; the connection that signs go by is closed next."""
    keeper = Keeper(lambda *_: None)
    keeper.keep("a", 1, 60)
    thread = keeper._thread
    keeper.close()
    assert not thread.is_alive()


def test_calls_in_quick_succession_share_a_thread():
    """A thread for each would cost more than the call's leave."""
    keeper, threads = Keeper(lambda *_: None), set()
    for number in range(20):
        keeper.keep(str(number), 1, 60)
        threads.add(keeper._thread)
        keeper.drop(str(number))
    keeper.close()
    assert 1 == len(threads)


def test_a_shorter_lease_is_not_late_behind_a_longer_one():
    """Its sign comes in its own time, although the thread sleeps for the other's."""
    signs, enough = [], threading.Event()

    def beat(lease, _):
        signs.append(lease)
        enough.set()

    keeper = Keeper(beat)
    keeper.keep("long", 1, 3600)
    keeper.keep("short", 1, 0.03)
    assert enough.wait(10)
    keeper.close()
    assert {"short"} == set(signs)
