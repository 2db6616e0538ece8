# SPDX-License-Identifier: Apache-2.0
"""An upstream's response as it passes: read beside, never rewritten.

What it decides: where the response ends, what its head says, and whether the bytes are HTTP at all. What it
leaves: forwarding (every byte goes on as it came) and the verdict on how it ended, to ``tunnel``.

- 1xx answers are passed over; the final one is kept.
- After bytes that are not HTTP nothing more is read; ``malformed`` says so.
- An answer delimited by the close of the connection ends there; every other answer that is closed early has no end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import h11

from truegreen.proxy.body import BodyReader
from truegreen.proxy.cache_marks import marks_in

MAX_HEAD_BYTES: Final = 256 << 10
VERSION: Final = b"HTTP/1."
REQUEST_IDS: Final = ("x-request-id", "request-id", "apim-request-id", "x-ms-request-id")


class ResponseReader:
    """Reads one response beside its forwarding."""

    def __init__(
        self,
        *,
        method: str,
        closes: bool,
        is_answer: bool,
        on_data: Callable[[bytes], None] | None = None,
    ) -> None:
        """``closes``: the client asked for a close afterwards; ``is_answer``: a model was asked.

        ``on_data``: gets each stretch of the final answer's body, free of framing, as it came.
        """
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        headers = [("Host", "observer"), ("Connection", "close" if closes else "keep-alive")]
        self._h11.send(h11.Request(method=method, target="/", headers=headers))
        self._h11.send(h11.EndOfMessage())
        self._is_answer = is_answer
        self._on_data = on_data
        self._start = b""
        self._headers: tuple[tuple[str, str], ...] = ()
        self.status: int | None = None
        self.reason = ""
        self.raw_headers: tuple[tuple[str, str], ...] = ()
        self.body = BodyReader(content_type="", content_encoding="", is_answer=False)
        self.ended = False
        self.malformed = False
        self.has_excess = False

    @property
    def keeps_connection(self) -> bool:
        """Whether another request may follow on this connection."""
        return self.ended and self._h11.their_state is h11.DONE and not self.has_excess

    @property
    def request_id(self) -> str | None:
        """The endpoint's id of the request."""
        return next((value for name in REQUEST_IDS if (value := self.header(name))), None)

    @property
    def retry_after(self) -> str | None:
        """``Retry-After`` as it came, or ``retry-after-ms`` with its unit."""
        in_ms = self.header("retry-after-ms")
        return self.header("retry-after") or (f"{in_ms}ms" if in_ms else None)

    @property
    def cache_marks(self) -> tuple[str, ...]:
        """Marks of a response cache."""
        return marks_in(self._headers)

    def values(self, name: str) -> tuple[str, ...]:
        """Every value of a header, each at most 200 characters."""
        return tuple(value[:200] for key, value in self._headers if key == name)

    def header(self, name: str) -> str | None:
        """First value of a header, at most 200 characters."""
        return next((value[:200] for key, value in self._headers if key == name), None)

    def feed(self, raw: bytes) -> None:
        """The next bytes of the connection; an empty piece is its close."""
        if self.malformed:
            return
        if self.ended:
            self.has_excess = self.has_excess or bool(raw)
            return
        self._start = (self._start + raw[: len(VERSION)])[: len(VERSION)]
        if not VERSION.startswith(self._start):  # h11 would wait for the end of a head
            self.malformed = True
            return
        try:
            self._h11.receive_data(raw)
            self._read()
        except h11.RemoteProtocolError:
            self.malformed = bool(raw)  # at the close it only means that the end is missing

    def close(self) -> None:
        """The connection is over, however it came about."""
        self.body.close(is_whole=self.ended)

    def _read(self) -> None:
        pieces: list[bytes] = []
        try:
            while not self.ended:
                event = self._h11.next_event()
                if isinstance(event, h11.Data):
                    pieces.append(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    self.ended = True
                    self.has_excess = bool(self._h11.trailing_data[0])
                elif isinstance(event, h11.Response):
                    self._read_head(event)
                elif not isinstance(event, h11.InformationalResponse):
                    break
        finally:
            if pieces:
                piece = b"".join(pieces)
                self.body.feed(piece)
                if self._on_data is not None:
                    self._on_data(piece)

    def _read_head(self, response: h11.Response) -> None:
        self.status = response.status_code
        self.reason = bytes(response.reason).decode("latin-1")
        self.raw_headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw_items()
        )
        self._headers = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers
        )
        self.body = BodyReader(
            content_type=self.header("content-type") or "",
            content_encoding=self.header("content-encoding") or "",
            is_answer=self._is_answer,
        )
