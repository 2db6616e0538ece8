# SPDX-License-Identifier: Apache-2.0
"""An answer as it passes, kept beside its passing.

What it decides: which pieces and pauses are kept, and whether an answer is worth keeping. What it leaves:
writing, to the recordings.

- A piece is what arrived at once, free of transfer framing; its pause is the time since the piece before it.
- Headers of the one connection are left out, ``Content-Length`` stays.
- Kept is a whole final answer with 2xx, without an error in it; others only where the caller asks for errors.
  An event stream of a model that stopped without its end mark is never whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from truegreen.core.exchange import End, Exchange
from truegreen.core.recording import Answered, Chunk
from truegreen.proxy.request import HOP_BY_HOP
from truegreen.proxy.response import ResponseReader

NOT_KEPT: Final = {name.decode() for name in HOP_BY_HOP} | {"transfer-encoding", "trailer"}


class Taken:
    """Pieces and pauses of one answer."""

    def __init__(self, *, clock: Callable[[], float], limit_bytes: int) -> None:
        """``clock`` gives monotonic seconds; the first reading is the end of the request."""
        self._clock = clock
        self._limit = limit_bytes
        self._sent_at = clock()
        self._last: float | None = None
        self._head_after_s = 0.0
        self._chunks: list[Chunk] = []
        self._size = 0
        self.is_too_large = False

    def head(self) -> None:
        """The final head has come."""
        if self._last is None:
            self._last = self._clock()
            self._head_after_s = self._last - self._sent_at

    def data(self, data: bytes) -> None:
        """The next stretch of the body."""
        self.head()
        now = self._clock()
        self._size += len(data)
        if self._size > self._limit:
            self.is_too_large = True
            self._chunks.clear()
            return
        self._chunks.append(Chunk(after_s=now - (self._last or now), data=data))
        self._last = now

    def answered(self, response: ResponseReader) -> Answered:
        """The whole answer."""
        options = {
            option.strip().lower() for value in response.values("connection") for option in value.split(",")
        }
        dropped = NOT_KEPT | options
        return Answered(
            status=response.status or 0,
            headers=tuple(
                (name, value) for name, value in response.raw_headers if name.lower() not in dropped
            ),
            chunks=tuple(self._chunks),
            head_after_s=self._head_after_s,
        )


def reason_against(
    exchange: Exchange, *, is_whole: bool, asks_a_model: bool, keeps_errors: bool
) -> str | None:
    """Why an answer is not kept, kebab-case; None if it is. ``is_whole``: its framing was satisfied."""
    if exchange.status is None or not is_whole:
        return "cut"
    if exchange.is_stream and asks_a_model and exchange.end is not End.COMPLETE:
        return "no-end-mark"
    if keeps_errors:
        return None
    if not 200 <= exchange.status < 300:  # noqa: PLR2004 - RFC 9110, 15.3
        return f"status-{exchange.status}"
    return "error-in-answer" if exchange.error_type is not None else None
