# SPDX-License-Identifier: Apache-2.0
"""An AdmissionPort in memory: gives leave at once unless told otherwise, and says ``again`` from a list."""

import asyncio

from truegreen.core.admission import Final, Leave


class MemoryAdmission:
    """Counts who is in; ``says`` is consumed one by one, then every attempt stands."""

    def __init__(self, *says, refuses=None):
        self.says = list(says)
        self.refuses = refuses
        self.asks = []
        self.ended = []
        self.earlier = []
        self.inside = 0
        self.peak = 0
        self.gate = None
        """An ``asyncio.Event`` that ``enter`` waits for, made in the loop of the proxy."""
        self.cancelled = 0

    async def enter(self, ask):
        """Leave, or what the test wants instead."""
        self.asks.append(ask)
        if self.refuses is not None:
            raise self.refuses
        if self.gate is not None:
            try:
                await self.gate()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        number = len(self.asks)
        return Leave(ticket=number, lease=f"lease-{number}", ask=ask, waited_s=0.25)

    async def leave(self, leave, ended, earlier):
        """Out; the next word of the list."""
        await asyncio.sleep(0)
        self.inside -= 1
        self.ended.append(ended)
        self.earlier.append(earlier)
        return self.says.pop(0) if self.says else Final(reason="answered")
