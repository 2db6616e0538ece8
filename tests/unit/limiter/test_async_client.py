# SPDX-License-Identifier: Apache-2.0
"""Leave for tasks."""

import asyncio
import time

import pytest

from truegreen.core.admission import Ask, Pressure
from truegreen.core.errors import ReachProblem
from truegreen.limiter.async_client import AsyncLimiter
from truegreen.limiter.backend import Key
from truegreen.limiter.limits import MINUTE, Limits, checked
from truegreen.limiter.memory import Memory

KEY = Key()


class Slow(Memory):
    """A backend whose steps take a moment, as over a network."""

    is_quick = False

    def _step(self, key, change):
        time.sleep(0.01)
        return super()._step(key, change)


@pytest.fixture(params=[Memory, Slow])
def limiter(request):
    """A limiter over a quick and over a slow backend."""
    made = []

    def make(**given):
        made.append(AsyncLimiter(request.param(checked(Limits(**given))), holder="tests"))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_tasks_share_places_in_the_order_of_asking(limiter):
    """Never more than two at once, tickets in order."""
    one, inside, most, order = limiter(in_flight=2), [], [], []

    async def call(number):
        async with one.leave(Ask(wait_s=60)) as held:
            inside.append(number)
            most.append(len(inside))
            order.append(held.leave.ticket)
            await asyncio.sleep(0.002)
            inside.remove(number)

    async def all_calls():
        await asyncio.gather(*(call(number) for number in range(12)))

    asyncio.run(all_calls())
    assert (2, 12) == (max(most), len(set(order)))
    assert 12 == one.backend.state(KEY).counts.granted


def test_a_cancelled_waiter_gives_its_ticket_back(limiter):
    """Also while its question is still on its way."""
    one = limiter(in_flight=1)

    async def scene():
        held = await one.enter(Ask())
        waiters = [asyncio.ensure_future(one.enter(Ask(wait_s=60))) for _ in range(5)]
        for number, waiter in enumerate(waiters):
            await asyncio.sleep(0.004 * number)
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
        assert () == one.backend.state(KEY).queue
        await one.give_back(held, used_tokens=None)
        await one.give_back(await one.enter(Ask(wait_s=10)), used_tokens=None)

    asyncio.run(scene())
    assert () == one.backend.state(KEY).places


def test_a_slot_that_a_cancelled_task_had_is_given_back(limiter):
    """The next one gets it."""
    one = limiter(calls=1, per_ns=MINUTE, in_flight=5)

    async def scene():
        await one.enter(Ask())
        waiter = asyncio.ensure_future(one.enter(Ask(wait_s=600)))
        while len(one.backend.state(KEY).places) < 2:  # noqa: ASYNC110 - a ledger has no event
            await asyncio.sleep(0.001)
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        with pytest.raises(ReachProblem) as found:
            await one.enter(Ask(wait_s=1))
        return found.value.message

    assert "leave would take 59." in asyncio.run(scene()) or one.backend.state(KEY).counts.wasted == 0
    assert 1 == one.backend.state(KEY).counts.cancelled


def test_an_exception_in_the_block_hands_leave_back(limiter):
    """With what it had told of its use."""
    one = limiter(tokens=1, token_burst=10)

    async def scene():
        async with one.leave(Ask(prompt_tokens=10)) as held:
            held.used_tokens = 4
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(scene())
    assert 4 == one.backend.state(KEY).counts.used_tokens


def test_a_429_is_told_to_everybody(limiter):
    """When leave is handed back."""
    one = limiter(calls=100, burst=100)

    async def scene():
        leave = await one.enter(Ask())
        await one.give_back(leave, used_tokens=None, pressure=Pressure(pause_s=60.0))

    asyncio.run(scene())
    assert 1 == one.backend.state(KEY).counts.rate_limited


def test_an_event_loop_goes_on_while_a_task_waits(limiter):
    """Waiting blocks nobody else."""
    one = limiter(in_flight=1)

    async def scene():
        held = await one.enter(Ask())
        waiter = asyncio.ensure_future(one.enter(Ask(wait_s=60)))
        turns = 0
        while not one.backend.state(KEY).queue:
            await asyncio.sleep(0.001)
            turns += 1
        await one.give_back(held, used_tokens=None)
        await one.give_back(await waiter, used_tokens=None)
        return turns

    assert asyncio.run(scene()) >= 1
