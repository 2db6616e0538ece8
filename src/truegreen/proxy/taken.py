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

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from truegreen.core.recording import Answered, Chunk
from truegreen.proxy.request import HOP_BY_HOP

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

    def answered(self, *, status: int, headers: Iterable[tuple[str, str]]) -> Answered:
        """The whole answer; ``headers`` as they came."""
        came = tuple(headers)
        options = {
            option.strip().lower()
            for name, value in came
            if name.lower() == "connection"
            for option in value.split(",")
        }
        dropped = NOT_KEPT | options
        return Answered(
            status=status,
            headers=tuple((name, value) for name, value in came if name.lower() not in dropped),
            chunks=tuple(self._chunks),
            head_after_s=self._head_after_s,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Came:
    """What came of an answer, as far as its keeping depends on it."""

    status: int | None
    """Status; None if none came."""
    is_whole: bool
    """Whether its framing was satisfied, or its own end mark was seen."""
    lacks_end: bool
    """Whether it is a model's event stream without its end mark."""
    error_type: str | None
    """Type of an error in it."""


def lacks_end(*, is_stream: bool, asks_a_model: bool, has_mark: bool, unread: str | None) -> bool:
    """Whether an answer is a model's event stream without its end mark.

    A coding that nobody here can read hides the mark, and is no reason against the answer; bytes that are no JSON
    are the usual sign of a cut.
    """
    return is_stream and asks_a_model and not has_mark and not (unread or "").startswith("encoding-")


def reason_against(came: Came, *, keeps_errors: bool) -> str | None:
    """Why an answer is not kept, kebab-case; None if it is."""
    if came.status is None or not came.is_whole:
        return "cut"
    if came.lacks_end:
        return "no-end-mark"
    if keeps_errors:
        return None
    if not 200 <= came.status < 300:  # noqa: PLR2004 - RFC 9110, 15.3
        return f"status-{came.status}"
    return "error-in-answer" if came.error_type is not None else None
