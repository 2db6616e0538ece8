# SPDX-License-Identifier: Apache-2.0
"""Who waits at the service: order, ends of leases, requests that come twice."""

import asyncio

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.limiter.backend import Key
from truegreen.limiter.http.desk import Desk, Refusal
from truegreen.limiter.http.store import MemoryStore
from truegreen.limiter.http.wire import Release
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.state import Request

KEY = Key(tenant="team", resource="model")


def _desk(**limits):
    return Desk(MemoryStore(checked(Limits(**limits))))


async def _asked(desk, *ids):
    tasks = []
    for lease in ids:
        tasks.append(asyncio.create_task(desk.enter(KEY, Request(id=lease))))
        await asyncio.sleep(0)
    return tasks


def test_places_are_given_in_the_order_of_asking():
    """Thirty asks, one place: each end lets exactly the next one go."""

    async def story():
        desk, order = _desk(in_flight=1), []

        async def call(lease):
            await desk.enter(KEY, Request(id=lease))
            order.append(lease)
            await asyncio.sleep(0)
            desk.hand_back(KEY, _end(lease))

        names = [f"id-{number:02}" for number in range(30)]
        await asyncio.gather(*(call(name) for name in names))
        return names, order

    names, order = asyncio.run(story())
    assert names == order


def _end(lease, **given):
    return Release(lease=lease, **given)


def test_a_lease_that_ends_by_itself_wakes_the_next():
    """Nobody hands it back; the one who waits leaves when it ends, without looking all the time."""

    async def story():
        desk = _desk(in_flight=1, lease_ns=SECOND // 5)
        await desk.enter(KEY, Request(id="dead"))
        async with asyncio.timeout(10):
            go = await desk.enter(KEY, Request(id="next"))
        return go.waited_ns

    assert SECOND // 5 <= asyncio.run(story())


def test_an_ask_that_comes_twice_waits_once_and_stays_while_one_request_is_left():
    """The first connection breaks, the second goes on with the same ticket."""

    async def story():
        desk = _desk(in_flight=1)
        await desk.enter(KEY, Request(id="a"))
        first, again = await _asked(desk, "b", "b")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        desk.hand_back(KEY, _end("a"))
        return (await again).ticket

    assert 2 == asyncio.run(story())


def test_a_waiter_that_is_cancelled_leaves_its_turn_to_the_next():
    """And is counted."""

    async def story():
        desk = _desk(in_flight=1)
        await desk.enter(KEY, Request(id="a"))
        second, third = await _asked(desk, "b", "c")
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        desk.hand_back(KEY, _end("a"))
        ticket = (await third).ticket
        ((_, ledger, _),) = desk.rows("team")
        return ticket, ledger.counts.cancelled, len(ledger.queue)

    assert (3, 1, 0) == asyncio.run(story())


def test_a_deadline_that_passes_in_the_queue_is_a_refusal():
    """Told when it comes, not when somebody ends."""

    async def story():
        desk = _desk(in_flight=1)
        await desk.enter(KEY, Request(id="a"))
        with pytest.raises(Refusal) as caught:
            await desk.enter(KEY, Request(id="b", wait_ns=SECOND // 20))
        return caught.value.reason

    assert "deadline" == asyncio.run(story())


def test_rate_is_waited_for_without_a_place_in_between():
    """Slots are reserved: ten calls at fifty a second take nine spacings."""

    async def story():
        desk = _desk(calls=50)
        goes = await asyncio.gather(*(desk.enter(KEY, Request(id=f"i{number}")) for number in range(10)))
        return [go.waited_ns for go in goes]

    waited = asyncio.run(story())
    assert sorted(waited) == waited
    assert 9 * SECOND // 50 <= waited[-1]


def test_stopping_refuses_all_who_wait():
    """Each with the same code; nothing is left in the queue."""

    async def story():
        desk = _desk(in_flight=1)
        await desk.enter(KEY, Request(id="a"))
        waiting = await _asked(desk, "b", "c")
        desk.stop()
        told = await asyncio.gather(*waiting, return_exceptions=True)
        ((_, ledger, _),) = desk.rows(None)
        return [it.code for it in told], len(ledger.queue)

    assert (["limiter-stopping"] * 2, 0) == asyncio.run(story())


def test_what_is_not_known_is_lost_and_creates_nothing():
    """A sign of life, and an end, for a resource that nobody asked for."""

    async def story():
        desk = _desk(in_flight=1)
        desk.hand_back(KEY, _end("x"))
        with pytest.raises(ReachProblem) as caught:
            desk.beat(KEY, "x")
        return caught.value.code, list(desk.rows(None))

    assert ("lease-lost", []) == asyncio.run(story())
