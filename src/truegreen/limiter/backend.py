# SPDX-License-Identifier: Apache-2.0
"""What keeps ledgers: one step of one ledger for each question, whole or not at all.

What it decides: the questions. What it leaves: where a state is kept and whose clock counts, to each backend; waiting,
to the clients; the rules, to ``ledger``.

- Every backend passes the suite in ``tests/unit/limiter``; a new one joins by a line in its list.
- A step that raises has changed nothing that was acknowledged.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from truegreen.core.admission import Pressure
from truegreen.limiter.state import Answer, Ledger, Request

NO_PRESSURE = Pressure()
"""An end that means nothing for the others."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """Names one ledger."""

    tenant: str = "default"
    """Whose calls count together."""
    resource: str = "default"
    """What is called."""


class Backend(Protocol):
    """Keeps ledgers; may be used by any thread, and by a forked child.

    Every method raises ReachProblem ``limiter-unreachable`` if the state cannot be reached, and
    ``limiter-state-unreadable`` if it cannot be trusted.
    """

    @property
    def name(self) -> str:
        """What it is and where, for messages, such as ``file:/var/ci/limiter``."""
        ...

    @property
    def is_quick(self) -> bool:
        """Whether a step takes microseconds, so that an event loop may make it itself."""
        ...

    def ask(self, key: Key, request: Request) -> Answer:
        """As ``ledger.ask``."""
        ...

    def look(self, key: Key, id: str) -> Answer:  # noqa: A002 - the field of a request has this name
        """As ``ledger.look``."""
        ...

    def beat(self, key: Key, id: str) -> Answer:  # noqa: A002 - as above
        """As ``ledger.beat``."""
        ...

    def hand_back(
        self,
        key: Key,
        id: str,  # noqa: A002 - as above
        *,
        used_tokens: int | None = None,
        is_unused: bool = False,
        pressure: Pressure = NO_PRESSURE,
    ) -> None:
        """As ``ledger.hand_back`` and ``ledger.pressed``, in one step."""
        ...

    def state(self, key: Key) -> Ledger:
        """The ledger as it stands now, for people; nothing is changed."""
        ...

    def close(self) -> None:
        """Let go of files and connections; leases stay."""
        ...
