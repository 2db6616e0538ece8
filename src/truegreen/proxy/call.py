# SPDX-License-Identifier: Apache-2.0
"""One request of a client on its way to the upstream and back, attempt by attempt.

What it decides: the order enter, send, leave, maybe again; when bytes go on to the client. What it leaves: who
gets leave and whether an attempt is repeated, to the admission port; facts of an answer, to ``passage``.

- An answer below 400 goes on as it comes, from its first byte: it is not held, so it is not repeated either. An
  attempt can only be repeated before its first byte has gone on.
- With admission, an answer from 400 on is read to its end first, because its body decides whether it is
  repeated; the one that stands goes on with ``x-should-retry: false``, so that retry layers do not multiply.
  Without admission nothing is held, added or repeated.
- Whatever ends an attempt hands its leave back: a hang-up of the client and the end of the proxy too.
- What ``record`` keeps is read beside; keeping comes after the answer and never changes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from truegreen.core.admission import Again, Ended, Leave
from truegreen.core.errors import TruegreenProblem
from truegreen.core.exchange import End, Exchange
from truegreen.core.ports import AdmissionPort
from truegreen.core.recording import Answered, Asked
from truegreen.proxy import refusal
from truegreen.proxy.asks import ask_of
from truegreen.proxy.modes import Mode, Options
from truegreen.proxy.passage import Passage, Stop
from truegreen.proxy.refusal import Own
from truegreen.proxy.request import HOP_BY_HOP, Head, sample_number
from truegreen.proxy.response import ResponseReader
from truegreen.proxy.session import Session
from truegreen.proxy.taken import Came, Taken, lacks_end, reason_against
from truegreen.proxy.uplink import Uplink
from truegreen.proxy.upstream import READ_BYTES, ConnectError, Upstream
from truegreen.proxy.whole import Whole

MAX_HELD: Final = 8 << 20
ERRORS_FROM: Final = 400
NOT_ANSWERED: Final = {
    End.REFUSED: Own(status=502, code="upstream-refused", message="the upstream refused the connection"),
    End.UNREACHABLE: Own(
        status=502, code="upstream-unreachable", message="no connection to the upstream came about"
    ),
    End.UPSTREAM_CLOSED: Own(
        status=502, code="upstream-closed", message="the upstream closed before it answered"
    ),
    End.MALFORMED: Own(status=502, code="upstream-malformed", message="the upstream's answer is not HTTP"),
    End.TIMEOUT: Own(status=504, code="upstream-timeout", message="the upstream did not answer in time"),
}
"""What a client hears that got no byte."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """What every call of one proxy shares."""

    mode: Mode
    """``live`` or ``record`` here."""
    name: str
    """Tells this proxy's calls from another's in a log that they share."""
    upstream: Upstream
    """Where requests go."""
    options: Options
    """What the proxy was told."""
    session: Session
    """What happened so far."""
    admission: AdmissionPort | None
    """Limits and retries, if there are any."""
    clock: Callable[[], float]
    """Monotonic seconds since the proxy started."""
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    """Runs something that outlives its connection; the proxy's end waits for it."""
    keep: Callable[[Asked, Answered], None]
    """Writes a recording in order, without holding up the loop."""


class Call:
    """One request in ``live`` or ``record``."""

    def __init__(self, whole: Whole, *, shared: Shared, uplink: Uplink, out: asyncio.StreamWriter) -> None:
        self._whole, self._shared = whole, shared
        self._uplink, self._out = uplink, out
        self._earlier: tuple[Ended, ...] = ()
        self._began = shared.clock()
        self._name = f"{shared.name}-{shared.session.add('calls')}"

    async def run(self) -> bool:
        """Answer it; whether the client's connection may carry another request."""
        while True:
            try:
                leave = await self._enter()
            except TruegreenProblem as problem:
                self._shared.session.add("refused_leave")
                return self._say(refusal.failed(problem, head=self._whole.head))
            attempt = _Attempt(self._whole, shared=self._shared, uplink=self._uplink, out=self._out)
            try:
                await attempt.run()
            except asyncio.CancelledError:
                exchange = attempt.close(Stop.CLIENT_CLOSED)
                self._keep(attempt, exchange)  # a client may leave at the end mark of its stream
                self._shared.spawn(self._hand_back(leave, exchange, attempt.passage.response))
                raise
            exchange = attempt.close(None)
            if attempt.has_passed:
                self._keep(attempt, exchange)
            again = await self._after(leave, exchange, attempt)
            if again is None:
                return await self._settle(attempt, exchange)
            self._shared.session.add("retries")
            self._uplink.drop()  # an upstream that failed may be about to close it
            await asyncio.sleep(again.wait_s)

    async def _enter(self) -> Leave | None:
        """Leave to send now. Raises: as ``AdmissionPort.enter``."""
        if self._shared.admission is None:
            return None
        ask = ask_of(
            self._whole,
            self._shared.options,
            call=self._name,
            spent_s=self._shared.clock() - self._began,
        )
        leave = await self._shared.admission.enter(ask)
        self._shared.session.wait(leave.waited_s)
        return leave

    async def _after(self, leave: Leave | None, exchange: Exchange, attempt: _Attempt) -> Again | None:
        """Hand leave back; what to do if nothing went on to the client yet."""
        admission = self._shared.admission
        if leave is None or admission is None:
            return None
        ended = ended_of(exchange, attempt.passage.response, has_passed=attempt.has_passed)
        try:
            said = await asyncio.shield(self._shared.spawn(admission.leave(leave, ended, self._earlier)))
        except TruegreenProblem as problem:  # a limiter or a log that is away: the attempt stands as it is
            self._shared.session.trouble(problem)
            return None
        self._earlier += (ended,)
        return said if isinstance(said, Again) and not attempt.has_passed else None

    async def _hand_back(self, leave: Leave | None, exchange: Exchange, response: ResponseReader) -> None:
        if leave is None or self._shared.admission is None:
            return
        ended = ended_of(exchange, response, has_passed=True)  # to nobody: it cannot be repeated
        try:
            await self._shared.admission.leave(leave, ended, self._earlier)
        except TruegreenProblem as problem:
            self._shared.session.trouble(problem)

    async def _settle(self, attempt: _Attempt, exchange: Exchange) -> bool:
        """Send what is held, keep what is to be kept; whether another request may follow."""
        keeps = attempt.passage.stop is Stop.ENDED and attempt.passage.response.keeps_connection
        if not attempt.has_passed:
            keeps = self._send_held(attempt, exchange) and keeps
            self._keep(attempt, exchange)
        with suppress(OSError):
            await self._out.drain()
        return keeps and not self._whole.head.closes

    def _send_held(self, attempt: _Attempt, exchange: Exchange) -> bool:
        response = attempt.passage.response
        if response.ended and response.status is not None:
            self._out.write(final_error(response, bytes(attempt.plain), head=self._whole.head))
            return True
        said = NOT_ANSWERED.get(exchange.end, NOT_ANSWERED[End.UPSTREAM_CLOSED])
        detail = f" ({exchange.end_detail})" if exchange.end_detail else ""
        told = replace(said, message=f"{said.message}: {self._shared.upstream.authority}{detail}")
        self._say(refusal.own_answer(told, head=self._whole.head))
        return False

    def _say(self, data: bytes) -> bool:
        self._out.write(data)
        return not self._whole.head.closes

    def _keep(self, attempt: _Attempt, exchange: Exchange) -> None:
        response, taken, options = attempt.passage.response, attempt.taken, self._shared.options
        if taken is None:
            return
        came = Came(
            status=exchange.status,
            is_whole=response.ended or exchange.end_mark,
            lacks_end=lacks_end(
                is_stream=exchange.is_stream,
                asks_a_model=self._whole.head.asks_a_model,
                has_mark=exchange.end_mark,
                unread=exchange.unread,
            ),
            error_type=exchange.error_type,
        )
        reason = reason_against(came, keeps_errors=options.keeps_errors)
        if reason is None and taken.is_too_large:
            reason = "too-large"
        if reason is not None:
            self._shared.session.leave_out(reason)
            return
        answered = taken.answered(status=response.status or 0, headers=response.raw_headers)
        self._shared.keep(self._whole.asked(prefix=self._shared.upstream.prefix), answered)


class _Attempt:
    """One attempt on the wire."""

    def __init__(self, whole: Whole, *, shared: Shared, uplink: Uplink, out: asyncio.StreamWriter) -> None:
        self._whole, self._shared = whole, shared
        self._uplink, self._out = uplink, out
        self._held = bytearray()
        self.plain = bytearray()
        self.has_passed = False
        self.taken: Taken | None = None
        if shared.mode is Mode.RECORD:
            self.taken = Taken(clock=shared.clock, limit_bytes=shared.options.kept_bytes)
        self.passage = Passage(
            number=shared.session.add("exchanges"),
            head=whole.head,
            request=whole.reader,
            started=shared.clock(),
            on_data=self._on_data,
        )

    async def run(self) -> None:
        """Send the request and pass the answer on until something stops it."""
        self._shared.session.add("upstream_calls")
        try:
            async with asyncio.timeout(self._shared.options.limits.exchange_s):
                self.passage.stop = await self._pass()
        except TimeoutError:
            self.passage.stop = Stop.TIMEOUT
        except ConnectError as err:
            self.passage.connect_error = err
            self.passage.stop = Stop.NO_CONNECTION

    def close(self, stop: Stop | None) -> Exchange:
        """The finished exchange; ``stop`` says what cut it off from outside."""
        if stop is not None:
            self.passage.stop = stop
        response = self.passage.response
        response.close()
        if self.passage.stop is not Stop.ENDED or not response.keeps_connection:
            self._uplink.drop()
        exchange = self.passage.exchange(prefix=self._shared.upstream.prefix, ended=self._shared.clock())
        self._shared.session.exchange(exchange)
        return exchange

    async def _pass(self) -> Stop:
        reader, writer = await self._uplink.connected()
        upstream, head = self._shared.upstream, self._whole.head
        sample = sample_number(head.token) if head.token and self._shared.options.forwards_sample else None
        writer.write(self._whole.onward(prefix=upstream.prefix, authority=upstream.authority, sample=sample))
        response = self.passage.response
        while not response.ended:
            try:
                raw = await reader.read(READ_BYTES)
            except OSError:
                return Stop.UPSTREAM_RESET
            if raw and self.passage.first_byte is None:
                self.passage.first_byte = self._shared.clock()
            response.feed(raw)
            self._send_on(raw)
            if not raw:
                return Stop.ENDED if response.ended else Stop.UPSTREAM_CLOSED
            if self.has_passed and not response.ended:
                try:
                    await self._out.drain()
                except OSError:
                    return Stop.CLIENT_CLOSED
        return Stop.ENDED

    def _send_on(self, raw: bytes) -> None:
        if self.has_passed:
            self._out.write(raw)
            return
        self._held += raw
        if self._may_pass():
            self.has_passed = bool(self._held)
            self._out.write(bytes(self._held))
            self._held.clear()
            self.plain.clear()

    def _may_pass(self) -> bool:
        response = self.passage.response
        if self._shared.admission is None and response.malformed:
            return True
        if response.status is None:
            return False
        if self.taken is not None:
            self.taken.head()
        is_free = self._shared.admission is None or response.status < ERRORS_FROM
        return is_free or len(self._held) > MAX_HELD

    def _on_data(self, data: bytes) -> None:
        if not self.has_passed:
            self.plain += data
        if self.taken is not None:
            self.taken.data(data)


def ended_of(exchange: Exchange, response: ResponseReader, *, has_passed: bool) -> Ended:
    """What the admission port hears of an attempt; ``has_passed``: whether part of the answer went on."""
    usage = exchange.usage
    parts = (usage.prompt_tokens, usage.completion_tokens)
    used = usage.total_tokens
    if used is None and None not in parts:
        used = sum(part or 0 for part in parts)
    return Ended(
        status=exchange.status,
        end=exchange.end,
        retry_after=response.values("retry-after"),
        retry_after_ms=response.values("retry-after-ms"),
        should_retry=response.header("x-should-retry"),
        date=response.header("date"),
        error_type=exchange.error_type,
        error_text=response.body.facts.error_text,
        took_s=exchange.ended_s - exchange.started_s,
        has_passed=has_passed,
        used_tokens=used,
    )


def final_error(response: ResponseReader, plain: bytes, *, head: Head) -> bytes:
    """A held answer from 400 on, with the word for retry layers that it stands."""
    dropped = {name.decode() for name in HOP_BY_HOP} | {"transfer-encoding", "trailer", "x-should-retry"}
    has_body = head.method != "HEAD"
    dropped |= {"content-length"} if has_body else set()
    lines = [f"HTTP/1.1 {response.status} {response.reason}".rstrip()]
    lines += [f"{name}: {value}" for name, value in response.raw_headers if name.lower() not in dropped]
    lines += ["x-should-retry: false"]
    if has_body:
        lines.append(f"Content-Length: {len(plain)}")
    if head.closes or not response.keeps_connection:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + plain
