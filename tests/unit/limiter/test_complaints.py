# SPDX-License-Identifier: Apache-2.0
"""What people reported of other limiters, each with the small input and the right answer.

On a virtual clock and the real rules; what needs processes, files or clocks is in test_backend.py and test_file.py.
"""

import pytest
from limit_oracle import most_above_rate, most_at_once
from virtual_clients import Client, World, asks

from truegreen.limiter import ledger as rules
from truegreen.limiter.limits import LONGEST, MINUTE, SECOND, Limits, checked
from truegreen.limiter.state import Go, Request

MS = 1_000_000


def granted(limits, asked):
    """How many of (time, cost) leave at once, none of them waiting."""
    ledger, left = rules.new_ledger(limits, asked[0][0]), 0
    for number, (now, cost) in enumerate(asked):
        step = rules.ask(ledger, Request(id=str(number), cost=cost, wait_ns=0), now)
        ledger, left = step.ledger, left + isinstance(step.answer, Go)
    return left


def test_one_lost_release_is_not_permanent():
    """A gauge whose every use renewed its end never forgot; a lease ends although others come and go."""
    limits = checked(Limits(in_flight=2, lease_ns=10 * SECOND, wait_ns=LONGEST))
    clients = [Client(0, Request(id="lost"), dies=True)]
    clients += [
        Client(second * SECOND, Request(id=f"c{second}"), hold=SECOND // 2) for second in range(1, 20)
    ]
    world = World(limits, clients)
    world.run()
    assert (1, ()) == (world.ledger.counts.expired, rules.advance(world.ledger, 30 * SECOND)[0].places)
    assert all(client.left == client.at for client in clients)


def test_a_timed_out_caller_frees_its_slot():
    """A provider's time limit left a gauge at its cap until a restart; here every end is an end."""
    limits = checked(Limits(in_flight=3, lease_ns=5 * SECOND, wait_ns=LONGEST))
    world = World(limits, [Client(0, request, dies=True) for request in asks(3)])
    world.run()
    assert isinstance(rules.ask(world.ledger, Request(id="next"), 5 * SECOND).answer, Go)


def test_a_slot_that_frees_within_the_deadline_is_waited_for():
    """Freed after 100 ms, waited for a second: leave, and no looking in between."""
    ledger = rules.new_ledger(checked(Limits(calls=10)), 0)
    ledger = rules.ask(ledger, Request(id="a"), 0).ledger
    step = rules.ask(ledger, Request(id="b", wait_ns=SECOND), 0)
    assert 100 * MS == step.answer.wait_ns
    assert isinstance(rules.look(step.ledger, "b", 100 * MS).answer, Go)


@pytest.mark.parametrize(("calls", "seconds"), [(100, 10), (1000, 2), (7, 60)])
def test_a_greedy_caller_gets_the_rate_and_not_more(calls, seconds):
    """100 a second gave 130 elsewhere, and 1,000 a second was not limited at all."""
    limits = checked(Limits(calls=calls))
    step_ns = SECOND // calls // 3
    asked = [(now, 1) for now in range(0, seconds * SECOND, step_ns)]
    assert calls * seconds * 0.7 < granted(limits, asked) <= calls * seconds


def test_waiting_exactly_what_was_told_is_enough_every_time():
    """Rounded down, the told wait costs another refusal; rounded up to seconds, it costs time."""
    limits, now = checked(Limits(calls=3)), 0
    ledger = rules.new_ledger(limits, now)
    for number in range(50):
        step = rules.ask(ledger, Request(id=f"{number}", wait_ns=0), now)
        if not isinstance(step.answer, Go):
            now += step.answer.wait_ns
            step = rules.ask(step.ledger, Request(id=f"{number}-again", wait_ns=0), now)
        assert isinstance(step.answer, Go)
        ledger = step.ledger
    assert 49 * limits.spacing_ns == now


def test_no_edge_of_a_window_lets_twice_as_many_through():
    """Ten a second: elsewhere 19 of 40 within 0.15 s around the edge of a fixed window."""
    limits = checked(Limits(calls=10, burst=10))
    asked = [(925 * MS + number * 4 * MS, 1) for number in range(40)]
    assert 11 == granted(limits, asked)


def test_a_large_cost_counts_before_a_small_one():
    """8 of 10, then 1 and 1 and 1: the third is one too many."""
    limits = checked(Limits(calls=10, per_ns=LONGEST, burst=10))
    assert 3 == granted(limits, [(0, 8), (0, 1), (0, 1), (0, 1)])


def test_an_overdrawn_bucket_recovers():
    """Refill 1.5 a second into a bucket of 2 and a call of 2 each second: every other one leaves, for ever."""
    limits = checked(Limits(calls=3, per_ns=2 * SECOND, burst=2))
    assert 50 == granted(limits, [(second * SECOND, 2) for second in range(100)])


def test_five_hundred_waiters_need_one_look_each():
    """Elsewhere 110,685 wake-ups; a slot is reserved once, so each waiter looks once, in order."""
    limits = checked(Limits(calls=100, burst=10, wait_ns=MINUTE))
    clients = [Client(0, request) for request in asks(500)]
    world, looks = World(limits, clients), []
    look = world.look
    world.look = lambda client, now: (looks.append(client), look(client, now))
    order = world.run()
    assert 490 == len(looks)
    assert clients == order
    assert 490 * limits.spacing_ns == order[-1].left


def test_waiters_that_give_up_do_not_go_on_spending():
    """Ninety of a hundred give up at once; the last ten wait no longer than if those had never come."""
    limits = checked(Limits(calls=10, in_flight=1, wait_ns=LONGEST))
    early = [Client(0, request, gives_up_at=MS) for request in asks(90)]
    late = [Client(2 * MS, Request(id=f"late{number}")) for number in range(10)]
    world = World(limits, [*early, *late])
    world.run()
    served = [client for client in early if client.left is not None]
    assert max(client.left for client in late) <= (len(served) + 10) * limits.spacing_ns
    assert 0 == world.ledger.counts.wasted


def test_a_rate_alone_does_not_protect_and_two_limits_do():
    """Five a second of which each takes eight seconds: forty in flight, unless the cap is twenty."""
    clients = [Client(0, request, hold=8 * SECOND) for request in asks(60)]
    world = World(checked(Limits(calls=5, in_flight=20, wait_ns=LONGEST)), clients)
    order = world.run()
    assert 20 == most_at_once([(client.left, client.ended) for client in order])
    assert most_above_rate([(client.left, 1) for client in order], 5, SECOND, 1) <= 0
    alone = [Client(0, request, hold=8 * SECOND) for request in asks(60)]
    World(checked(Limits(calls=5, wait_ns=LONGEST)), alone).run()
    assert 40 == most_at_once([(client.left, client.ended) for client in alone])
