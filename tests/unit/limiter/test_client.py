# SPDX-License-Identifier: Apache-2.0
"""Leave for threads."""

import os
import signal
import threading
import time

import pytest
from backend_kinds import FORK

from truegreen.core.admission import Ask, Pressure
from truegreen.core.errors import ReachProblem
from truegreen.limiter.backend import Key
from truegreen.limiter.client import Limiter
from truegreen.limiter.file import File
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.memory import Memory

KEY = Key()


def memory(**given):
    """A limiter of this process."""
    return Limiter(Memory(checked(Limits(**given))), holder="tests")


def test_leave_is_handed_back_whatever_happens_in_the_block():
    """An exception is no reason to keep a place."""
    limiter = memory(in_flight=1)
    with pytest.raises(ZeroDivisionError), limiter.leave():
        raise ZeroDivisionError
    with limiter.leave(Ask(holder="job 7")) as held:
        assert ("job 7", 2) == (held.leave.ask.holder, held.leave.ticket)
    assert (0, 2) == (len(limiter.backend.state(KEY).places), limiter.backend.state(KEY).counts.granted)
    limiter.close()


def test_usage_and_pressure_are_told_when_the_block_ends():
    """What the call used settles its tokens; what it heard holds up the others."""
    limiter = memory(tokens=1, token_burst=100)
    with limiter.leave(Ask(prompt_tokens=50, output_tokens=50)) as held:
        held.used_tokens, held.pressure = 30, Pressure(pause_s=3600.0)
    state = limiter.backend.state(KEY)
    assert (30, 100, 1) == (state.counts.used_tokens, state.counts.reserved_tokens, state.counts.rate_limited)
    with pytest.raises(ReachProblem, match="at least and the ask waits 1"):
        limiter.enter(Ask(wait_s=1))
    limiter.close()


def test_the_limiter_names_who_asks_where_the_ask_does_not():
    """So that status can say who holds a place."""
    limiter = memory(in_flight=1)
    limiter.enter(Ask())
    assert ["tests"] == [place.holder for place in limiter.backend.state(KEY).places]
    limiter.close()


def test_a_rate_alone_leaves_nothing_to_hand_back():
    """One step a call; what the call heard is told all the same."""
    limiter = memory(calls=100, burst=2)
    leave = limiter.enter(Ask())
    assert ("", ()) == (leave.lease, limiter.backend.state(KEY).places)
    limiter.give_back(leave, used_tokens=None)
    limiter.give_back(leave, used_tokens=None, pressure=Pressure(pause_s=60.0))
    assert 1 == limiter.backend.state(KEY).counts.rate_limited
    limiter.close()


def test_handing_back_twice_is_harmless():
    """The place may be somebody else's by then."""
    limiter = memory(in_flight=1)
    leave = limiter.enter(Ask())
    limiter.give_back(leave, used_tokens=None)
    other = limiter.enter(Ask())
    limiter.give_back(leave, used_tokens=None)
    assert [other.lease] == [place.id for place in limiter.backend.state(KEY).places]
    limiter.close()


def test_an_interrupted_waiter_gives_its_ticket_back(tmp_path):
    """Ctrl-C while it waits for a place; the next in the queue is not held up."""
    limits = checked(Limits(in_flight=1))
    backend = File(tmp_path, limits)
    limiter = Limiter(backend)
    held = limiter.enter(Ask())

    def wait():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            Limiter(File(tmp_path, limits)).enter(Ask(wait_s=60))
        except KeyboardInterrupt:
            os._exit(130)

    child = FORK.Process(target=wait)
    child.start()
    until = time.monotonic() + 30
    while not backend.state(KEY).queue and time.monotonic() < until:
        time.sleep(0.002)
    os.kill(child.pid, signal.SIGINT)
    child.join(30)
    assert (130, (), 1) == (child.exitcode, backend.state(KEY).queue, backend.state(KEY).counts.cancelled)
    limiter.give_back(held, used_tokens=None)
    limiter.close()


def test_a_forked_child_has_ids_bells_and_signs_of_life_of_its_own(tmp_path):
    """It goes on with the limiter of its parent, and takes nothing from it."""
    limiter = Limiter(File(tmp_path, checked(Limits(in_flight=2, lease_ns=SECOND // 5))))
    mine = limiter.enter(Ask())
    here, there = FORK.Pipe()

    def hold():
        leave = limiter.enter(Ask(wait_s=10))
        time.sleep(0.5)
        there.send((leave.lease, limiter._leases.is_lost(leave.lease)))
        limiter.give_back(leave, used_tokens=None)

    child = FORK.Process(target=hold)
    child.start()
    lease, was_lost = here.recv()
    child.join(30)
    assert (False, True) == (was_lost, lease != mine.lease)
    assert [mine.lease] == [place.id for place in limiter.backend.state(KEY).places]
    limiter.give_back(mine, used_tokens=None)
    limiter.close()


def test_many_threads_share_one_limiter():
    """Each waits at a bell of its own; never more than two are in."""
    limiter, inside, most = memory(in_flight=2), [], []

    def call():
        for _ in range(20):
            with limiter.leave(Ask(wait_s=60)) as held:
                inside.append(held)
                most.append(len(inside))
                inside.remove(held)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (160, True) == (limiter.backend.state(KEY).counts.granted, max(most) <= 2)
    limiter.close()


def test_a_state_that_is_away_fails_closed(tmp_path):
    """No leave, and the error names it."""
    limiter = Limiter(File(tmp_path / "ledgers", checked(Limits(in_flight=1))))
    (tmp_path / "ledgers").rmdir()
    with pytest.raises(ReachProblem) as found:
        limiter.enter(Ask())
    assert "limiter-unreachable" == found.value.code
    limiter.close()
