# SPDX-License-Identifier: Apache-2.0
"""Leave that a block of code holds, and the leases that this process keeps alive.

What it decides: which leases are kept, and which were lost. What it leaves: when a sign of life is due, to ``keeping``.

- A forked child keeps no lease of its parent's alive.
"""

from __future__ import annotations

import os

from truegreen.core.admission import Leave, Pressure
from truegreen.limiter.backend import NO_PRESSURE, Backend, Key
from truegreen.limiter.keeping import Keeper
from truegreen.limiter.state import Gone


class Leases:
    """The leases of this process at one backend."""

    def __init__(self, backend: Backend) -> None:
        """Nothing runs before the first lease."""
        self._backend, self._pid = backend, 0
        self._start()

    def keep(self, key: Key, lease: str, lease_s: float) -> None:
        """Give signs of life for this lease from now on."""
        if self._pid != os.getpid():
            self._start()
        self._keeper.keep(lease, key, lease_s)

    def drop(self, lease: str) -> None:
        """No more."""
        if self._pid != os.getpid():
            self._start()
        self._keeper.drop(lease)
        self._lost.discard(lease)

    def is_lost(self, lease: str) -> bool:
        """Whether the lease ended although it was kept."""
        return lease in self._lost

    def close(self) -> None:
        """No more for any."""
        if self._pid == os.getpid():
            self._keeper.close()

    def _start(self) -> None:
        self._keeper: Keeper[Key] = Keeper(self._beat)
        self._lost: set[str] = set()
        self._pid = os.getpid()

    def _beat(self, lease: str, key: Key) -> None:
        if isinstance(self._backend.beat(key, lease), Gone) and self._keeper.drop(lease):
            self._lost.add(lease)


class Held:
    """Leave that is held; tell it what was used before it ends."""

    def __init__(self, leave: Leave, leases: Leases) -> None:
        """Made by ``Limiter.leave``."""
        self.leave = leave
        self.used_tokens: int | None = None
        """Tokens that the call used; None if nobody knows."""
        self.pressure: Pressure = NO_PRESSURE
        """What the call's end means for everybody."""
        self._leases = leases

    @property
    def is_lost(self) -> bool:
        """Whether the lease has ended meanwhile: somebody else may hold the place."""
        return self._leases.is_lost(self.leave.lease)
