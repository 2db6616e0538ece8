# SPDX-License-Identifier: Apache-2.0
"""Clients whose calls go through a limited transport with a counting ledger, for threads and for tasks.

Waits are taken down and not slept: what a test asserts is what was waited, never how long it took.
"""

import asyncio
import datetime as dt
import json

import httpx2

from simulators.ledger import AsyncCountingLedger, CountingLedger
from truegreen.core.admission import Ask
from truegreen.limiter.async_transport import AsyncLimitedTransport
from truegreen.limiter.call_file import CallLog
from truegreen.limiter.door import AsyncDoor, Door, Rulings
from truegreen.limiter.retry import RetryLimits
from truegreen.limiter.transport import LimitedTransport
from truegreen.wiring.answer_reader import reader_of

NOW = dt.datetime(2026, 8, 13, tzinfo=dt.UTC)
TIMEOUT_S = 10.0
"""Longest wait for anything; reaching it is a failure."""
ALONE = httpx2.Limits(max_keepalive_connections=0)
"""A connection for each attempt: without the wait in between, the end of the last one may not have arrived yet."""


class Limited:
    """A transport of one kind and everything that it told."""

    def __init__(self, kind, *, places=1000, limits=None, log=None, inner=None, **more):
        self.kind = kind
        self.waits = []
        self.log = log or CallLog()
        rulings = Rulings(log=self.log, limits=limits or RetryLimits(), clock=lambda: NOW, chance=lambda: 0.5)
        ask = Ask(resource="model", holder="test")
        if kind == "async":
            outer = AsyncCountingLedger(places)
            self.ledger = outer.inner
            self.door = AsyncDoor(outer, rulings)
            self.transport = AsyncLimitedTransport(
                self.door,
                reader_of,
                ask=ask,
                inner=inner or httpx2.AsyncHTTPTransport(limits=ALONE),
                sleep=self._noted,
                **more,
            )
        else:
            self.ledger = CountingLedger(places)
            self.door = Door(self.ledger, rulings)
            self.transport = LimitedTransport(
                self.door,
                reader_of,
                ask=ask,
                inner=inner or httpx2.HTTPTransport(limits=ALONE),
                sleep=self.waits.append,
                **more,
            )

    async def _noted(self, wait_s):
        self.waits.append(wait_s)

    def send(self, url, *, path="/chat/completions", prompt="x", timeout_s=TIMEOUT_S, headers=None, **body):
        """One request, read whole; the answer, or the error that came instead."""
        sent = {"model": "m", "messages": [{"role": "user", "content": prompt}], **body}
        arguments = {"content": json.dumps(sent), "headers": {"x-truegreen-sample": "1", **(headers or {})}}

        async def task():
            async with httpx2.AsyncClient(transport=self.transport, timeout=timeout_s) as client:
                return await client.post(url + path, **arguments)

        try:
            if self.kind == "async":
                return asyncio.run(task())
            with httpx2.Client(transport=self.transport, timeout=timeout_s) as client:
                return client.post(url + path, **arguments)
        except httpx2.TransportError as err:
            return err
