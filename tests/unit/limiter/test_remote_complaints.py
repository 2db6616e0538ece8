# SPDX-License-Identifier: Apache-2.0
"""What people reported of limiters that several hosts share, put to the service and to Redis.

Each test names its report and gives the small input that showed the fault.
"""

import threading
import time
from contextlib import ExitStack

import pytest
import redis
from backend_kinds import KINDS

from truegreen.core.admission import Ask, Pressure
from truegreen.limiter.backend import Key
from truegreen.limiter.client import Limiter
from truegreen.limiter.limits import MINUTE, SECOND, Limits, checked
from truegreen.limiter.opening import opened
from truegreen.limiter.state import Go, Later, Queued, Request

KEY = Key()


@pytest.fixture(params=["http", "redis"])
def at(request, tmp_path):
    """Opens backends that share one place, under limits that are named."""
    made, addresses = [], {}
    with ExitStack() as stack:

        def make(**given):
            limits = checked(Limits(**given))
            url = addresses.setdefault(limits, KINDS[request.param](tmp_path, stack, limits))
            made.append(opened(url, limits))
            return made[-1]

        yield make
        for one in made:
            one.close()


def _ask(backend, name, **given):
    return backend.ask(KEY, Request(id=name, **given))


def test_a_time_out_at_the_endpoint_frees_its_place(at):
    """Litellm 20256, 30020: provider time-outs and closed streams left the gauge at its cap for ever."""
    one = at(in_flight=1)
    for number in range(5):
        assert isinstance(_ask(one, f"call-{number}", wait_ns=0), Go)
        one.hand_back(KEY, f"call-{number}", pressure=Pressure())
    assert 0 == len(one.state(KEY).places)


def test_the_looks_of_others_do_not_keep_a_dead_holder_alive(at):
    """Litellm 28160: every increment renewed the time to live, so one lost decrement was permanent."""
    one = at(in_flight=1, lease_ns=SECOND // 2)
    _ask(one, "dead")
    assert isinstance(_ask(one, "next", wait_ns=MINUTE), Queued)
    ends = time.monotonic() + 20
    while not isinstance(one.look(KEY, "next"), Go):
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_what_is_refused_for_the_place_is_not_charged_to_the_rate(at):
    """Litellm 39309: one a minute, one in flight; B was refused by the place, C by the rate although B never ran."""
    one = at(calls=2, per_ns=MINUTE, burst=2, in_flight=1)
    assert isinstance(_ask(one, "a", wait_ns=0), Go)
    assert "deadline" == _ask(one, "b", wait_ns=0).reason
    one.hand_back(KEY, "a")
    assert isinstance(_ask(one, "c", wait_ns=0), Go)


def test_replicas_do_not_multiply_the_limit(at):
    """Litellm 40291: each replica read locally and admitted the whole limit."""
    replicas = [at(calls=5, per_ns=MINUTE, burst=5) for _ in range(4)]
    left = [
        isinstance(_ask(one, f"{number}-{index}", wait_ns=0), Go)
        for index in range(4)
        for number, one in enumerate(replicas)
    ]
    assert 5 == sum(left)


def test_many_threads_of_many_clients_do_not_get_more_than_the_rate(at):
    """PyrateLimiter 60, 90: two scripts got 61 a minute, a pool of forty got 281 a second."""
    clients = [at(calls=7, per_ns=MINUTE, burst=7) for _ in range(4)]
    left = []

    def ask(one, name):
        left.append(isinstance(_ask(one, name, wait_ns=0), Go))

    threads = [threading.Thread(target=ask, args=(clients[it % 4], f"id-{it}")) for it in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (40, 7) == (len(left), sum(left))


def test_the_very_first_ask_leaves_at_once(at):
    """throttled-py 174: with a small clock and three a second, the first ask of a new key was refused."""
    assert Go(ticket=1, waited_ns=0, lease_ns=MINUTE) == _ask(at(calls=3, burst=1), "first", wait_ns=0)


def test_who_waits_as_long_as_it_was_told_gets_leave(at):
    """redis-cell 56: the told wait was rounded down, and waiting it exactly was refused again."""
    one = at(calls=20)
    _ask(one, "a")
    told = _ask(one, "b", wait_ns=0)
    assert 0 < told.wait_ns <= SECOND // 20
    assert isinstance(_ask(one, "c", wait_ns=told.wait_ns), Later | Go)
    one.hand_back(KEY, "c", is_unused=True)
    time.sleep(told.wait_ns / SECOND)
    assert isinstance(_ask(one, "d", wait_ns=0), Go)


def test_a_thousand_a_second_are_limited(at):
    """redis-cell 50: a spacing below a millisecond was none."""
    one = at(calls=1000, burst=10)
    began = time.monotonic()
    left = sum(isinstance(_ask(one, f"id-{number}", wait_ns=0), Go) for number in range(300))
    took = time.monotonic() - began
    assert left <= 10 + took * 1000 + 1


def test_the_edge_of_a_minute_is_no_second_burst(at):
    """limits, Envoy 32, gubernator 118: a fixed window lets twice the limit through across its edge."""
    one = at(calls=10, burst=1)
    left = []
    began = time.monotonic()
    while (now := time.monotonic()) < began + 1.2:
        if isinstance(_ask(one, f"id-{now}", wait_ns=0), Go):
            left.append(now)
    widest = max(sum(at <= it < at + 0.15 for it in left) for at in left)
    assert widest <= 3  # two spacings fit into 0.15 s, and one more by the way of an answer


def test_a_large_cost_is_followed_by_its_own_time(at):
    """Limits 112: a cost of 8 and then one of 1 were not limited."""
    one = at(calls=10, per_ns=MINUTE, burst=8)
    assert isinstance(_ask(one, "a", cost=8, wait_ns=0), Go)
    assert "deadline" == _ask(one, "b", cost=1, wait_ns=0).reason


def test_a_large_cost_is_not_overtaken_for_ever(at):
    """aiolimiter: small requests kept arriving, and the one of cost 8 was never served."""
    one = at(calls=100, burst=8)
    assert isinstance(_ask(one, "a", cost=8), Go)
    large = _ask(one, "large", cost=8, wait_ns=MINUTE)
    small = _ask(one, "small", cost=1, wait_ns=MINUTE)
    assert isinstance(large, Later)
    assert isinstance(small, Later)
    assert large.wait_ns <= small.wait_ns


def test_a_waiter_that_is_cancelled_spends_nothing(at):
    """data-fair 486: abandoned waiters went on spending."""
    one = at(calls=1, per_ns=MINUTE)
    _ask(one, "a")
    for number in range(5):
        assert isinstance(_ask(one, f"id-{number}", wait_ns=2 * MINUTE), Later)
        one.hand_back(KEY, f"id-{number}", is_unused=True)
    assert (0, 5) == (one.state(KEY).counts.wasted, one.state(KEY).counts.cancelled)
    assert _ask(one, "b", wait_ns=0).wait_ns <= MINUTE


def test_permits_do_not_go_with_their_process(at):
    """redis-rate-limiters 7, redisson 4462: a semaphore's permits were lost with the process that held them."""
    dead, alive = at(in_flight=2, lease_ns=SECOND // 2), at(in_flight=2, lease_ns=SECOND // 2)
    for number in range(2):
        _ask(dead, f"dead-{number}")
    limiter = Limiter(alive)
    leaves = [limiter.enter(Ask(wait_s=20)) for _ in range(2)]
    assert [3, 4] == [leave.ticket for leave in leaves]
    for leave in leaves:
        limiter.give_back(leave, used_tokens=None)


@pytest.mark.parametrize("at", ["redis"], indirect=True)
def test_seventy_thousand_a_day_cost_no_more_room_than_one(at):
    """Limits 268: a log of all hits stalled the server; a rate is two numbers whatever it is."""
    one = at(calls=70_000, per_ns=86_400 * SECOND, burst=1000)
    with redis.Redis.from_url(one.name) as client:
        sizes = []
        for number in range(200):
            _ask(one, f"id-{number}", wait_ns=0)
            one.hand_back(KEY, f"id-{number}")
            sizes.append(sum(client.memory_usage(name) for name in client.scan_iter("*")))
    assert sizes[-1] <= sizes[1] + 64  # a few digits more in its counts
