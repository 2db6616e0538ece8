# SPDX-License-Identifier: Apache-2.0
"""Server-sent events out of bytes that arrive in any pieces.

What it decides: where an event ends and what its data is. What it leaves: the data's meaning, to ``facts``.

- Lines end in CR LF, LF or CR; a byte order mark at the start is dropped; comments are skipped.
- Several ``data`` lines of one event are joined by a line feed.
- Pieces may split a character, a line end or ``data:`` itself: work is done on whole lines of bytes.
- An event with a line or data larger than the limit is dropped and ``oversized`` says so; memory stays bounded.
- ``flush`` gives what stands after the last blank line: a browser drops it, but whoever asks whether the
  answer's end was sent must read it.

Source: WHATWG HTML, section 9.2.6 "Interpreting an event stream".
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_EVENT_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One event with data."""

    name: str
    """Value of the last ``event`` line, or empty."""
    data: str
    """All ``data`` lines; bytes that are not UTF-8 are replaced, as a browser does."""


class EventStream:
    """Feed bytes, get events."""

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._rest = bytearray()
        self._after_cr = False
        self._at_start = True
        self._name = b""
        self._data: list[bytes] = []
        self._held = 0
        self._skipping_line = False
        self._skipping_event = False
        self.oversized = False

    def feed(self, piece: bytes) -> list[Event]:
        """Events that this piece completes."""
        events = []
        for line in self._lines(piece):
            event = self._line(line)
            if event is not None:
                events.append(event)
        self._bound_rest()  # after the lines: only then it is known which event the rest belongs to
        return events

    def flush(self) -> list[Event]:
        """The event that stands unfinished at the end of the stream, if it has data."""
        return self.feed(b"\n\n") if self._rest or self._data else []

    def _lines(self, piece: bytes) -> list[bytes]:
        """Whole lines; a CR at the end of a piece ends its line at once, a LF right after it is the same end."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return []
        self._after_cr = piece.endswith(b"\r")
        if self._at_start:
            piece = self._without_bom(piece)
        self._rest += piece
        if b"\n" not in piece and b"\r" not in piece:  # keeps a long line in small pieces linear
            return []
        *lines, rest = self._rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest
        if self._skipping_line:
            self._skipping_line = False
            lines = lines[1:]
        return [bytes(line) for line in lines]

    def _without_bom(self, piece: bytes) -> bytes:
        """The first bytes of the stream, held until it is certain whether they are a byte order mark."""
        start = bytes(self._rest) + piece
        self._rest.clear()
        if len(start) < len(BOM) and BOM.startswith(start):
            self._rest += start
            return b""
        self._at_start = False
        return start.removeprefix(BOM)

    def _bound_rest(self) -> None:
        if self._skipping_line or len(self._rest) > self._limit:
            self._rest.clear()
            self._skipping_line = True
            self._skip_event()

    def _skip_event(self) -> None:
        self.oversized = self._skipping_event = True
        self._data.clear()

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        if len(line) > self._limit:  # as if it had come in pieces
            self._skip_event()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value)
        elif name == b"event":
            self._name = value[: self._limit]
        return None

    def _add(self, value: bytes) -> None:
        self._held += len(value)
        if self._held > self._limit:
            self._skip_event()
        if not self._skipping_event:
            self._data.append(value)

    def _dispatch(self) -> Event | None:
        data, name, skipped = self._data, self._name, self._skipping_event
        self._data, self._name, self._held, self._skipping_event = [], b"", 0, False
        if not data or skipped:
            return None
        return Event(name=name.decode("utf-8", "replace"), data=b"\n".join(data).decode("utf-8", "replace"))
