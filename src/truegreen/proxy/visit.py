# SPDX-License-Identifier: Apache-2.0
"""One client's connection to the proxy: whole requests in, answers out, in order.

What it decides: which mode answers, and that a client that leaves ends what is done for it. What it leaves:
forwarding, to ``call``; the recorded answer's bytes, to ``replay``; sockets' beginning, to ``model_proxy``.

- ``replay`` has no way to the upstream: nothing here that plays holds an ``Uplink``.
- ``/_truegreen/health`` is answered here and never forwarded, keyed or counted.
- What a client sends while it is answered waits for its turn; past a limit it is not read.
"""

from __future__ import annotations

import asyncio
import json
from typing import Final

from truegreen.core.errors import TruegreenProblem
from truegreen.core.recording import Miss
from truegreen.proxy import refusal
from truegreen.proxy.asks import layer_of
from truegreen.proxy.call import Call, Shared
from truegreen.proxy.modes import Mode
from truegreen.proxy.passage import Passage, Stop
from truegreen.proxy.replay import Played
from truegreen.proxy.tunnel import Streams, end_connection
from truegreen.proxy.uplink import Uplink
from truegreen.proxy.upstream import READ_BYTES
from truegreen.proxy.whole import RefusedRequestError, Whole, WholeReader

HEALTH: Final = "/_truegreen/health"
CANARY_HEADER: Final = b"x-truegreen-canary"
LINGER_LIMIT_S: Final = 1.0


class Visit:
    """Serves one client connection until either side ends it."""

    def __init__(self, *, client: Streams, shared: Shared, own_authority: str, canary: bytes) -> None:
        """``canary`` is the value that marks the proxy's own test request."""
        self._client, self._out = client
        self._shared = shared
        self._canary = canary
        self._pending = b""
        self._uplink: Uplink | None = None
        if shared.mode is not Mode.REPLAY:
            self._uplink = Uplink(shared.upstream, limit_s=shared.options.limits.connect_s)
        self._reader = WholeReader(
            read=self._read,
            write=self._out.write,
            own_authority=own_authority,
            body_bytes=shared.options.request_bytes,
        )

    async def run(self) -> None:
        """Answer requests until the connection is over; both sides are closed afterwards."""
        is_stopped = True
        try:
            while (whole := await self._next()) is not None:
                self._pending = whole.rest
                if not await self._answer_present(whole):
                    break
            is_stopped = False
        finally:
            if self._uplink is not None:
                self._uplink.drop()
            await end_connection(self._client, self._out, linger_s=0 if is_stopped else LINGER_LIMIT_S)

    async def _next(self) -> Whole | None:
        """The next whole request; None when the connection is over."""
        first, self._pending = self._pending, b""
        options = self._shared.options
        try:
            async with asyncio.timeout(options.idle_s):
                first = first or await self._read()
        except TimeoutError:
            return None
        try:
            return await self._reader.next(first, limit_s=options.request_s)
        except RefusedRequestError as err:
            self._shared.session.add("rejected")
            self._out.write(refusal.refused(err.reason, status=err.status, head=err.head))
            return None

    async def _answer_present(self, whole: Whole) -> bool:
        """Answer while the client is there; whether another request may follow."""
        answering = asyncio.ensure_future(self._answer(whole))
        watching = asyncio.ensure_future(self._until_gone())
        both: set[asyncio.Future[bool]] = {answering, watching}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and not watching.result():  # it sends more than is read ahead
                await asyncio.wait({answering})
            return answering.result() if answering.done() else False
        except ConnectionError:  # the client is gone; what was under way for it is told by its exchange
            return False
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _until_gone(self) -> bool:
        """Keep what comes early; whether the client left."""
        while len(self._pending) <= READ_BYTES:
            raw = await self._read()
            if not raw:
                return True
            self._pending += raw
        return False

    async def _answer(self, whole: Whole) -> bool:
        session = self._shared.session
        if whole.head.path == HEALTH:
            return await self._say_health(whole)
        is_canary = whole.head.first(CANARY_HEADER) == self._canary
        if not is_canary:
            session.add("requests")
            if layer := layer_of(whole, self._shared.options):
                session.layer(layer)
        if self._uplink is None:
            return await self._play(whole, is_canary=is_canary)
        return await Call(whole, shared=self._shared, uplink=self._uplink, out=self._out).run()

    async def _play(self, whole: Whole, *, is_canary: bool) -> bool:
        """Answer from a recording, or say that there is none."""
        shared, head = self._shared, whole.head
        try:
            found = shared.session.play(whole.asked(prefix=shared.upstream.prefix), is_canary=is_canary)
            if isinstance(found, Miss):
                await self._send(refusal.missed(found, head=head))
                return not head.closes
            played = Played(found, head=head, pace=shared.options.pace)
        except TruegreenProblem as problem:
            shared.session.trouble(problem)
            await self._send(refusal.failed(problem, head=head))
            return not head.closes
        await self._perform(whole, played)
        return not played.closes

    async def _perform(self, whole: Whole, played: Played) -> None:
        """Send a recorded answer, reading it beside as if it came from the upstream."""
        shared = self._shared
        passage = Passage(
            number=shared.session.add("exchanges"),
            head=whole.head,
            request=whole.reader,
            started=shared.clock(),
        )
        try:
            if played.is_at_once:
                passage.first_byte = shared.clock()
                for data in played.batches():
                    passage.response.feed(data)
                    await self._send(data)
            else:
                await self._perform_slowly(played, passage)
            if played.closes:
                passage.response.feed(b"")
            passage.stop = Stop.ENDED if passage.response.ended else Stop.UPSTREAM_CLOSED
        except (OSError, asyncio.CancelledError):
            passage.stop = Stop.CLIENT_CLOSED
            raise
        finally:
            passage.response.close()
            shared.session.exchange(passage.exchange(prefix=shared.upstream.prefix, ended=shared.clock()))

    async def _perform_slowly(self, played: Played, passage: Passage) -> None:
        """Piece by piece, each with its pause and in a write of its own."""
        await asyncio.sleep(played.head_after_s)
        passage.first_byte = self._shared.clock()
        passage.response.feed(played.head)
        await self._send(played.head)
        for wait_s, piece in played.pieces():
            await asyncio.sleep(wait_s)
            passage.response.feed(piece)
            await self._send(piece)

    async def _say_health(self, whole: Whole) -> bool:
        shared = self._shared
        document = {"mode": shared.mode.value, "upstream": shared.upstream.authority}
        body = json.dumps(document).encode()
        closing = "Connection: close\r\n" if whole.head.closes else ""
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            f"{refusal.ANSWER_HEADER}: health\r\n{closing}Content-Length: {len(body)}\r\n\r\n"
        )
        await self._send(head.encode() + (b"" if whole.head.method == "HEAD" else body))
        return not whole.head.closes

    async def _send(self, data: bytes) -> None:
        self._out.write(data)
        await self._out.drain()

    async def _read(self) -> bytes:
        """The client's next bytes; a reset is an end like any other."""
        try:
            return await self._client.read(READ_BYTES)
        except OSError:
            return b""
