# SPDX-License-Identifier: Apache-2.0
"""Ledgers that the service keeps, step by step: for whoever does its own waiting.

What it decides: how a step is tried again when the service is not there. What it leaves: what is said, to ``talk``;
leave, to the service; long polls, to ``client``.

- A step that is told twice is taken once, since every ask has an id of its own: a lost connection is tried again.
- A service that restarts is awaited for ``patience_s``, and never longer than the ask waits; then the error is
  ``limiter-unreachable``.
"""

from __future__ import annotations

import os
import time
from typing import Final
from urllib.parse import quote

import httpx2

from truegreen.core.admission import Pressure
from truegreen.core.errors import ReachProblem
from truegreen.limiter.backend import NO_PRESSURE, Key
from truegreen.limiter.bounds import out_of_bounds
from truegreen.limiter.http import talk, wire
from truegreen.limiter.limits import SECOND
from truegreen.limiter.state import Answer, Go, Gone, Ledger, Request

RETRY_S: Final = 0.2
"""Pause between two tries to reach a service that is not there."""


class Http:
    """Implements ``backend.Backend``; the service's tenant is the token's."""

    is_quick: Final = False

    def __init__(self, address: talk.Address) -> None:
        """Nothing is connected yet. Raises: UsageProblem ``bad-limiter-address``."""
        self.address: Final = address
        self.name: Final = address.url
        self._options = talk.options(address)
        self._start()

    def ask(self, key: Key, request: Request) -> Answer:
        """As ``ledger.ask``."""
        return out_of_bounds(request) or self.asked(key, request, hold_s=None)

    def asked(self, key: Key, request: Request, *, hold_s: float | None) -> Answer:
        """As ``ask``, with an answer that waits at the service; see ``talk.asking``."""
        post = talk.asking(key, request, hold_s=hold_s)
        return talk.standing(*self._sent(post, self.patience_s(request)))

    def look(self, key: Key, id: str) -> Answer:  # noqa: A002 - the field of a request has this name
        """As ``ledger.look``."""
        return talk.standing(*self._sent(talk.looking(key, id)))

    def beat(self, key: Key, id: str) -> Answer:  # noqa: A002 - as above
        """As ``ledger.beat``; tried once, since the next sign is due soon."""
        status, body = self._once(talk.beating(key, id))
        if status == 410:  # noqa: PLR2004 - Gone
            return Gone()
        alive = talk.decoded(talk.body_of(status, body), wire.Alive)
        return Go(ticket=0, waited_ns=0, lease_ns=round(alive.lease_s * 1_000_000_000))

    def hand_back(
        self,
        key: Key,
        id: str,  # noqa: A002 - as above
        *,
        used_tokens: int | None = None,
        is_unused: bool = False,
        pressure: Pressure = NO_PRESSURE,
    ) -> None:
        """As ``ledger.hand_back``, then ``ledger.pressed``."""
        talk.body_of(*self._sent(talk.ending(key, id, used_tokens, pressure, is_unused=is_unused)))

    def state(self, key: Key) -> Ledger:
        """The ledger as it stands now, on the service's clock."""
        try:
            response = self._mine().get(f"{wire.LEDGER}?resource={quote(talk.resource_of(key), safe='')}")
        except (httpx2.HTTPError, RuntimeError) as err:  # the latter: closed meanwhile
            raise talk.unreachable(self.address, err) from err
        return talk.decoded(talk.body_of(response.status_code, response.content), wire.Kept).ledger

    def close(self) -> None:
        """Close the connections; leases stay."""
        self._client.close()

    def patience_s(self, request: Request) -> float:
        """How long a service that is not there is tried again for this ask."""
        wait_s = self.address.patience_s if request.wait_ns is None else request.wait_ns / SECOND
        return max(0.0, min(self.address.patience_s, wait_s))

    def taken_back(self, key: Key, id: str) -> None:  # noqa: A002 - as above
        """Hand back what was asked, told once: if it is not heard, its lease ends by itself."""
        talk.body_of(*self._once(talk.ending(key, id, None, NO_PRESSURE, is_unused=True)))

    def _sent(self, post: talk.Post, patience_s: float | None = None) -> tuple[int, bytes]:
        patience_s = self.address.patience_s if patience_s is None else patience_s
        until_s = time.monotonic() + patience_s
        while True:
            try:
                status, body = self._once(post)
                if status == 503:  # noqa: PLR2004 - stopping, or too many connections
                    talk.body_of(status, body)
            except ReachProblem:
                if time.monotonic() >= until_s:
                    raise
            else:
                return status, body
            time.sleep(RETRY_S)

    def _once(self, post: talk.Post) -> tuple[int, bytes]:
        try:
            response = self._mine().post(**post.request)
        except (httpx2.HTTPError, RuntimeError) as err:  # the latter: closed meanwhile
            raise talk.unreachable(self.address, err) from err
        return response.status_code, response.content

    def _start(self) -> None:
        self._client, self._pid = httpx2.Client(**self._options), os.getpid()

    def _mine(self) -> httpx2.Client:
        if self._pid != os.getpid():  # connections are the parent's
            self._start()
        return self._client
