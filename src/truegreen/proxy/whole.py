# SPDX-License-Identifier: Apache-2.0
"""One request of a client, read to its end before anything is done with it.

What it decides: when a request is whole, and what is no request that can be served. What it leaves: heads and
framing, to ``request``; the answer to what is refused, to ``refusal``.

- The body is kept twice: free of framing for the key, and as it came for the upstream (chunk sizes and
  trailers included), so that what is forwarded is what was sent.
- ``Expect: 100-continue`` is answered here and not passed on: the body is here when the upstream is asked.
- Two ``Content-Length`` lines are refused even where they agree; h11 would join them (RFC 9112, 6.3).
- A WebSocket or another upgrade is refused: it cannot be recorded and would pass unseen.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from truegreen.core.recording import TEMPLATE, TEMPLATE_VERSION, Asked
from truegreen.proxy.request import MAX_HEAD_BYTES, Head, NotForwardableError, RequestReader

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
LENGTHS: Final = re.compile(rb"^content-length[ \t]*:(.*)$", re.IGNORECASE | re.MULTILINE)
OF_THE_CONNECTION: Final = frozenset({b"content-length", b"transfer-encoding", b"expect", b"trailer"})
"""Headers that say how a request was framed, not what was asked."""
KEPT_HERE: Final = frozenset({b"expect", TEMPLATE.encode(), TEMPLATE_VERSION.encode()})
"""Headers that do not go on: this hop has answered the first, and the others are for recordings."""
CONNECT_SAYS: Final = "connect"


class RefusedRequestError(Exception):
    """A request that is not served: ``status`` and the kebab-case ``reason`` say why."""

    def __init__(self, status: int, reason: str, head: Head | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.head = head


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """One whole request."""

    head: Head
    """Its head."""
    reader: RequestReader
    """What read it: digest, size, body."""
    framed: bytes
    """The body as it came."""
    rest: bytes
    """What came after it on the connection."""

    def asked(self, *, prefix: str) -> Asked:
        """The request as recordings know it; ``prefix`` is the upstream's path prefix."""
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in self.head.end_to_end
            if name.lower() not in OF_THE_CONNECTION
        )
        return Asked(
            method=self.head.method,
            path=prefix + self.head.path,
            query=self.head.query,
            headers=headers,
            body=self.reader.body,
        )

    def onward(self, *, prefix: str, authority: str, sample: str | None) -> bytes:
        """The bytes that the upstream gets; what names the template stays here."""
        head = self.head.rewritten(prefix=prefix, host=authority, sample=sample, without=KEPT_HERE)
        return head + self.framed


class WholeReader:
    """Reads requests of one connection, one after the other."""

    def __init__(
        self,
        *,
        read: Callable[[], Awaitable[bytes]],
        write: Callable[[bytes], None],
        own_authority: str,
        body_bytes: int,
    ) -> None:
        """``read`` gives the client's next bytes, none at its end; ``body_bytes`` is the longest body."""
        self._read, self._write = read, write
        self._own_authority = own_authority
        self._body_bytes = body_bytes

    async def next(self, first: bytes, *, limit_s: float) -> Whole | None:
        """The request that begins with ``first``; None if the client left before its end.

        Raises: RefusedRequestError.
        """
        reader = RequestReader(own_authority=self._own_authority, max_kept=self._body_bytes)
        try:
            async with asyncio.timeout(limit_s):
                return await self._whole(reader, first)
        except TimeoutError as err:
            raise RefusedRequestError(408, "request-too-slow", reader.head) from err
        except NotForwardableError as err:
            raise RefusedRequestError(400, str(err), reader.head) from err

    async def _whole(self, reader: RequestReader, raw: bytes) -> Whole | None:
        start, framed, is_told = b"", bytearray(), False
        while raw:
            had_head = reader.head is not None
            if not had_head:
                start += raw
            body = reader.feed(raw)
            if reader.head is not None:
                if not had_head:
                    _check(reader.head, start)
                framed += body
                self._check_size(reader)
                if reader.ended:
                    return Whole(head=reader.head, reader=reader, framed=bytes(framed), rest=reader.rest)
                if reader.awaits_continue and not is_told:
                    is_told = True
                    self._write(CONTINUE)
            raw = await self._read()
        return None

    def _check_size(self, reader: RequestReader) -> None:
        declared = reader.head.first(b"content-length") if reader.head else None
        if reader.size > self._body_bytes or int(declared or 0) > self._body_bytes:
            raise RefusedRequestError(413, "request-too-large", reader.head)


def _check(head: Head, start: bytes) -> None:
    """What h11 lets pass and we do not; ``start`` holds the head as it came."""
    lengths = LENGTHS.findall(start.partition(b"\r\n\r\n")[0][:MAX_HEAD_BYTES])
    if len(lengths) > 1 or b"," in b"".join(lengths):
        raise RefusedRequestError(400, "two-lengths", head)
    if head.first(b"upgrade") is not None:
        raise RefusedRequestError(400, "upgrade", head)
