# SPDX-License-Identifier: Apache-2.0
"""A ledger without limits, for a proxy that was given none: calls are repeated and logged, and not held back.

What it decides: nothing but the pause that an endpoint asked for, which every call of this process keeps. What it
leaves: limits, to ``limiter``.
"""

from __future__ import annotations

import asyncio

from truegreen.core.admission import Ask, Leave, Pressure


class OpenLedger:
    """Implements ``core.ports.AsyncLedgerPort`` within one event loop."""

    def __init__(self) -> None:
        self._asked = 0
        self._paused_until = 0.0

    async def enter(self, ask: Ask) -> Leave:
        """Leave at once, or after the pause that the endpoint told somebody."""
        self._asked += 1
        ticket = self._asked
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while (wait_s := self._paused_until - loop.time()) > 0:  # noqa: ASYNC110 - a time may move on, it is no event
            await asyncio.sleep(wait_s)
        return Leave(ticket=ticket, lease=f"open-{ticket}", ask=ask, waited_s=loop.time() - begun)

    async def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """Only the pause counts."""
        del leave, used_tokens
        until = asyncio.get_running_loop().time() + pressure.pause_s
        self._paused_until = max(self._paused_until, until)
