# SPDX-License-Identifier: Apache-2.0
"""Signs of life: for as long as a lease is held, three in its length, and none after."""

import asyncio
import threading

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.limiter.keeping import AsyncKeeper, Keeper


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


def test_nothing_runs_while_no_lease_is_held():
    """The thread ends with the last lease and begins again with the next."""
    keeper = Keeper(lambda *_: None)
    for _ in range(2):
        keeper.keep("a", 1, 60)
        (thread,) = [it for it in threading.enumerate() if it.name == "truegreen-leases"]
        keeper.drop("a")
        thread.join(10)
        assert not thread.is_alive()


def test_tasks_are_kept_alive_by_a_task():
    """The same, in an event loop; after the last drop no task is left."""

    async def story():
        signs, enough = [], asyncio.Event()

        async def beat(lease, held):
            signs.append((lease, held))
            if len(signs) > 2:
                enough.set()
            if len(signs) == 1:
                raise ReachProblem("limiter-unreachable", "once")

        keeper = AsyncKeeper(beat)
        keeper.keep("a", 1, 0.03)
        async with asyncio.timeout(10):
            await enough.wait()
        assert [1, None] == [keeper.drop("a"), keeper.drop("a")]
        await asyncio.sleep(0)
        return set(signs), len(asyncio.all_tasks())

    assert ({("a", 1)}, 1) == asyncio.run(story())


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
    keeper.close()
    assert [] == [it for it in threading.enumerate() if it.name == "truegreen-leases"]

    async def story():
        async def beat(*_):
            pass

        keeper = AsyncKeeper(beat)
        keeper.keep("a", 1, 60)
        await keeper.close()
        return len(asyncio.all_tasks())

    assert 1 == asyncio.run(story())
