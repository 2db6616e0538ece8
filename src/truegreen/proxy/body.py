# SPDX-License-Identifier: Apache-2.0
"""A response body as it passes: its digest and size always, its facts as far as it can be read.

What it decides: what of a body is read, and why it was not. What it leaves: the bytes themselves, which go on
to the client untouched; the facts' meaning, to ``facts``.

- Codings are undone for reading only (``inflater``); one that nobody here reads leaves
  ``unread = "encoding-<name>"``.
- Memory is bounded: a JSON body above the limit is ``too-large``, an event above its limit ``event-too-large``.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from truegreen.proxy.facts import Facts
from truegreen.proxy.inflater import Plain, UnreadableBodyError, inflater_of
from truegreen.proxy.sse import EventStream

MAX_JSON_BYTES: Final = 8 << 20


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
        inflater = inflater_of(coding) if self._wanted else None
        if self._wanted and inflater is None:
            self._give_up(f"encoding-{'-'.join(coding.replace(',', ' ').split())[:40]}")
        self._inflater = inflater or Plain()

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
