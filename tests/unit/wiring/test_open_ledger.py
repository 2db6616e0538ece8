# SPDX-License-Identifier: Apache-2.0
"""A ledger without limits keeps the pause that an endpoint told."""

import asyncio

from truegreen.core.admission import Ask, Pressure
from truegreen.wiring.open_ledger import OpenLedger


def test_leave_is_given_at_once_and_in_order():
    """Nothing is limited."""

    async def run():
        ledger = OpenLedger()
        return [await ledger.enter(Ask()) for _ in range(3)]

    leaves = asyncio.run(run())
    assert ([1, 2, 3], 3) == ([one.ticket for one in leaves], len({one.lease for one in leaves}))


def test_a_told_pause_holds_everybody():
    """The next to ask waits until it is over, and says how long."""

    async def run():
        ledger = OpenLedger()
        leave = await ledger.enter(Ask())
        loop = asyncio.get_running_loop()
        until = loop.time() + 0.05
        await ledger.give_back(leave, used_tokens=None, pressure=Pressure(pause_s=0.05))
        await ledger.give_back(leave, used_tokens=None, pressure=Pressure(pause_s=0.0))
        later = await ledger.enter(Ask())
        return loop.time() >= until, later.waited_s > 0

    assert (True, True) == asyncio.run(run())
