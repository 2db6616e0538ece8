# SPDX-License-Identifier: Apache-2.0
"""A response body as it passes: its digest and size always, its facts as far as it can be read.

What it decides: what of a body is read, and why it was not. What it leaves: the bytes themselves, which go on
to the client untouched; the facts' meaning, to ``facts``.

- gzip and deflate are decoded for reading only; another coding leaves ``unread = "encoding-<name>"``.
- Memory is bounded: a JSON body above the limit is ``too-large``, an event above its limit ``event-too-large``.
- A decompression bomb is cut at a limit of output per piece, not inflated.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Final

from truegreen.proxy.facts import Facts
from truegreen.proxy.sse import EventStream

MAX_JSON_BYTES: Final = 8 << 20
MAX_INFLATED_PIECE: Final = 16 << 20
ANY_HEADER: Final = zlib.MAX_WBITS | 32  # gzip or zlib, told by the first bytes
ZLIB_HEADER_BYTES: Final = 2
RAW_DEFLATE: Final = -zlib.MAX_WBITS  # what some servers send as "deflate"


class UnreadableBodyError(Exception):
    """A body that cannot be read on; its text is the kebab-case reason."""


class Inflater:
    """One content coding, piece by piece."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._start = b""
        self._inner = zlib.decompressobj(ANY_HEADER) if coding == "gzip" else None

    def feed(self, piece: bytes) -> bytes:
        """Decoded bytes. Raises: UnreadableBodyError for broken data and for bombs."""
        if not self._coding:
            return piece
        if self._inner is None:
            piece, self._start = self._start + piece, b""
            if len(piece) < ZLIB_HEADER_BYTES:
                self._start = piece
                return b""
            self._inner = zlib.decompressobj(ANY_HEADER if _is_zlib(piece) else RAW_DEFLATE)
        try:
            plain = self._inner.decompress(piece, MAX_INFLATED_PIECE)
        except zlib.error as err:
            raise UnreadableBodyError("broken-encoding") from err
        if self._inner.unconsumed_tail:
            raise UnreadableBodyError("too-large")
        return plain

    @property
    def is_whole(self) -> bool:
        """Whether the coded data reached its own end."""
        return not self._coding or (self._inner is not None and self._inner.eof)


def _is_zlib(start: bytes) -> bool:
    """Whether "deflate" came with its zlib header, as it should (RFC 1950, 2.2), or without."""
    return start[0] & 0x0F == zlib.DEFLATED and int.from_bytes(start[:ZLIB_HEADER_BYTES], "big") % 31 == 0


class BodyReader:
    """Reads one response body while it passes."""

    def __init__(self, *, content_type: str, content_encoding: str, is_answer: bool) -> None:
        """``is_answer``: the request asked a model, so that a body of whatever type must be JSON or a stream."""
        kind = content_type.partition(";")[0].strip().lower()
        self.facts = Facts()
        self.unread: str | None = None
        self.size = 0
        self.is_stream = kind == "text/event-stream"
        self._wanted = self.is_stream or is_answer or kind == "application/json" or kind.endswith("+json")
        self._sha256 = hashlib.sha256()
        self._events = EventStream()
        self._json = bytearray()
        coding = content_encoding.strip().lower()
        coding = "" if coding == "identity" else coding.removeprefix("x-")
        if self._wanted and coding not in ("", "gzip", "deflate"):
            self._give_up(f"encoding-{'-'.join(coding.replace(',', ' ').split())[:40]}")
        self._inflater = Inflater(coding if coding in ("gzip", "deflate") else "")

    @property
    def sha256(self) -> str:
        """Digest of the body so far, as it came."""
        return f"sha256:{self._sha256.hexdigest()}"

    def feed(self, piece: bytes) -> None:
        """The next piece of the body, free of transfer framing."""
        self._sha256.update(piece)
        self.size += len(piece)
        if self._wanted:
            try:
                self._read(self._inflater.feed(piece))
            except UnreadableBodyError as err:
                self._give_up(str(err))

    def close(self, *, is_whole: bool) -> None:
        """No more bytes come; ``is_whole`` says whether the transfer framing was satisfied."""
        if not self._wanted:
            return
        if self.is_stream:
            self._close_stream()
        elif is_whole:
            self._close_json()
        if self._wanted and is_whole and self.size and not self._inflater.is_whole:
            self._give_up("broken-encoding")

    def _read(self, plain: bytes) -> None:
        if self.is_stream:
            for event in self._events.feed(plain):
                self.facts.read_event(event)
            return
        self._json += plain
        if len(self._json) > MAX_JSON_BYTES:
            raise UnreadableBodyError("too-large")

    def _close_stream(self) -> None:
        for event in self._events.flush():
            self.facts.read_event(event)
        if self._events.oversized:
            self.unread = "event-too-large"
        elif self.facts.not_json:
            self.unread = "not-json"

    def _close_json(self) -> None:
        try:
            document = json.loads(bytes(self._json))
        except (ValueError, RecursionError):
            self.unread = "not-json"
            return
        if isinstance(document, dict):
            self.facts.read_document(document)

    def _give_up(self, reason: str) -> None:
        self.unread = reason
        self._wanted = False
        self._json.clear()
