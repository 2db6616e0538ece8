# SPDX-License-Identifier: Apache-2.0
"""A recorded answer as bytes on the wire.

What it decides: head, framing and pieces of what is played. What it leaves: finding the recording, to the
recordings; sending, to ``visit``.

- Status, headers and body are the recorded ones; only what is of one connection is made anew: ``Connection``,
  and the framing (``Content-Length`` where the recorded one is true, else chunks, or the close for HTTP/1.0).
- ``x-truegreen-answer: replayed`` is added: nobody can take a replayed answer for a live one.
- Each piece is a chunk of its own where chunks are used, so that a client meets the recorded boundaries.
- The adversarial cuts are a function of the bytes: the same answer is cut the same way each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from itertools import pairwise
from typing import Final

from truegreen.core.errors import EvidenceProblem
from truegreen.core.recording import Answered, Chunk
from truegreen.proxy.modes import Pace
from truegreen.proxy.refusal import ANSWER_HEADER
from truegreen.proxy.request import HOP_BY_HOP, Head

UNSENDABLE: Final = re.compile(r"[\r\n\0]|[^\0-\xff]")
"""What no header holds: it would end the head early, or has no byte."""
NO_BODY: Final = frozenset({204, 304})
LAST_CHUNK: Final = b"0\r\n\r\n"
CUTS: Final = re.compile(rb"(?<=da)(?=ta:)|(?<=[\xc0-\xff])(?=[\x80-\xbf])|(?<=\r)(?=\n)|(?<=\n)(?=\n)")
"""Places where a reader that trusts its pieces breaks."""
BATCH_BYTES: Final = 64 << 10
"""Size from which a batch of pieces is written."""
OPAQUE_BYTES: Final = 7
"""Length of the pieces of a body with a content coding, in which no place means anything."""


class Played:
    """One answer, ready to be sent to one client."""

    def __init__(self, answered: Answered, *, head: Head, pace: Pace) -> None:
        """Raises: EvidenceProblem ``recording-unsendable`` for headers that are none."""
        self.is_at_once = pace is Pace.AT_ONCE
        has_body = head.method != "HEAD" and answered.status not in NO_BODY
        self._chunks = paced(answered, pace) if has_body else ()
        self._is_framed = not has_body or has_true_length(answered)
        self._is_chunked = not self._is_framed and head.version == b"1.1"
        self.closes = head.closes or not (self._is_framed or self._is_chunked)
        self.head = _head(
            answered, is_chunked=self._is_chunked, keeps_length=self._is_framed, closes=self.closes
        )
        self.head_after_s = answered.head_after_s if pace is Pace.RECORDED else 0.0

    def pieces(self) -> Iterator[tuple[float, bytes]]:
        """Seconds to wait before a piece, and the piece as it is sent."""
        for chunk in self._chunks:
            if chunk.data:
                yield chunk.after_s, self._framed(chunk.data)
        if self._is_chunked:
            yield 0.0, LAST_CHUNK

    def batches(self) -> Iterator[bytes]:
        """Head and pieces for writes without pauses: few writes, the same chunks."""
        batch = bytearray(self.head)
        for _, piece in self.pieces():
            batch += piece
            if len(batch) > BATCH_BYTES:
                yield bytes(batch)
                batch.clear()
        if batch:
            yield bytes(batch)

    def _framed(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if self._is_chunked else data


def paced(answered: Answered, pace: Pace) -> tuple[Chunk, ...]:
    """The pieces to play, with the pauses before them."""
    if pace is Pace.RECORDED:
        return answered.chunks
    if pace is Pace.AT_ONCE:
        return tuple(Chunk(after_s=0.0, data=chunk.data) for chunk in answered.chunks)
    coded = any(name.lower() == "content-encoding" for name, _ in answered.headers)
    return tuple(Chunk(after_s=0.0, data=data) for data in cut(answered.body, is_opaque=coded))


def cut(body: bytes, *, is_opaque: bool) -> tuple[bytes, ...]:
    """The body in hostile pieces; they join to it."""
    if is_opaque:
        return tuple(body[at : at + OPAQUE_BYTES] for at in range(0, len(body), OPAQUE_BYTES))
    places = [0, *(found.start() for found in CUTS.finditer(body)), len(body)]
    return tuple(body[start:end] for start, end in pairwise(places) if end > start)


def has_true_length(answered: Answered) -> bool:
    """Whether the recorded ``Content-Length`` is the body's."""
    lengths = {value.strip() for name, value in answered.headers if name.lower() == "content-length"}
    return lengths == {str(len(answered.body))}


def sendable_headers(answered: Answered, *, keeps_length: bool) -> tuple[tuple[str, str], ...]:
    """The recorded headers without those of the recorded connection, with the mark of a replay.

    ``keeps_length``: whether ``Content-Length`` stays. Raises: EvidenceProblem ``recording-unsendable``.
    """
    for name, value in answered.headers:
        if UNSENDABLE.search(name) or UNSENDABLE.search(value):
            raise EvidenceProblem(
                "recording-unsendable",
                f"header {name[:40]!r} of a recorded answer holds {value[:40]!r}, which no header can",
                hint="record it again",
            )
    options = {
        option.strip().lower()
        for name, value in answered.headers
        if name.lower() == "connection"
        for option in value.split(",")
    }
    dropped = {name.decode() for name in HOP_BY_HOP} | options | {"transfer-encoding", "trailer"}
    dropped |= set() if keeps_length else {"content-length"}
    kept = tuple((name, value) for name, value in answered.headers if name.lower() not in dropped)
    return (*kept, (ANSWER_HEADER, "replayed"))


def _head(answered: Answered, *, is_chunked: bool, keeps_length: bool, closes: bool) -> bytes:
    lines = [f"HTTP/1.1 {answered.status} {_phrase(answered.status)}"]
    lines += [f"{name}: {value}" for name, value in sendable_headers(answered, keeps_length=keeps_length)]
    if is_chunked:
        lines.append("Transfer-Encoding: chunked")
    if closes:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # 529 and other vendors' own
        return "Unknown"
