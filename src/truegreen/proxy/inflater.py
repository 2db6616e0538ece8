# SPDX-License-Identifier: Apache-2.0
"""One content coding undone piece by piece, for reading beside; what goes on to the client stays coded.

What it decides: which codings can be read, and how far one piece may blow up. What it leaves: the plain text, to
``body``.

- gzip, deflate (with its header and without, as servers send it), and with the extra ``codings`` br and zstd.
- A decompression bomb is cut at a limit of output per piece.
"""

from __future__ import annotations

import importlib
import zlib
from typing import Any, Final, Protocol

MAX_INFLATED_PIECE: Final = 16 << 20
ANY_HEADER: Final = zlib.MAX_WBITS | 32  # gzip or zlib, told by the first bytes
ZLIB_HEADER_BYTES: Final = 2
RAW_DEFLATE: Final = -zlib.MAX_WBITS  # what some servers send as "deflate"
ZSTD_STEP: Final = 256
"""Bytes given to zstd at once: its blocks of 128 KiB take 4 bytes or more, so a step gives 8 MiB at most."""


class UnreadableBodyError(Exception):
    """A body that cannot be read on; its text is the kebab-case reason."""


class Inflater(Protocol):
    """One content coding, piece by piece."""

    def feed(self, piece: bytes) -> bytes:
        """Decoded bytes. Raises: UnreadableBodyError for broken data and for bombs."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether the coded data reached its own end."""
        ...


def inflater_of(coding: str) -> Inflater | None:
    """The inflater of a coding (in lower case, empty for none); None if nobody here can read it."""
    match coding:
        case "":
            return Plain()
        case "gzip" | "deflate":
            return Zlib(coding)
        case "br":
            return Brotli(module) if (module := _module("brotli")) else None
        case "zstd":
            return Zstd(module) if (module := _module("zstandard")) else None
        case _:
            return None


class Plain:
    """No coding."""

    is_whole: Final = True

    def feed(self, piece: bytes) -> bytes:
        """The piece."""
        return piece


class Zlib:
    """gzip and deflate."""

    def __init__(self, coding: str) -> None:
        self._start = b""
        self._inner = zlib.decompressobj(ANY_HEADER) if coding == "gzip" else None

    def feed(self, piece: bytes) -> bytes:
        """Decoded bytes. Raises: UnreadableBodyError."""
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
        return self._inner is not None and self._inner.eof


class Brotli:
    """br, by the package of that name."""

    def __init__(self, module: Any) -> None:
        self._broken = module.error
        self._inner = module.Decompressor()

    def feed(self, piece: bytes) -> bytes:
        """Decoded bytes. Raises: UnreadableBodyError."""
        try:
            plain: bytes = self._inner.process(piece, output_buffer_limit=MAX_INFLATED_PIECE)
        except self._broken as err:
            raise UnreadableBodyError("broken-encoding") from err
        if not self._inner.can_accept_more_data():
            raise UnreadableBodyError("too-large")
        return plain

    @property
    def is_whole(self) -> bool:
        """Whether the coded data reached its own end."""
        return bool(self._inner.is_finished())


class Zstd:
    """zstd, frame by frame, by the package zstandard."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._inner = module.ZstdDecompressor().decompressobj()

    def feed(self, piece: bytes) -> bytes:
        """Decoded bytes. Raises: UnreadableBodyError."""
        plain = bytearray()
        for start in range(0, len(piece), ZSTD_STEP):
            rest = piece[start : start + ZSTD_STEP]
            while rest:
                if self._inner.eof:  # another frame follows
                    self._inner = self._module.ZstdDecompressor().decompressobj()
                try:
                    plain += self._inner.decompress(rest)
                except self._module.ZstdError as err:
                    raise UnreadableBodyError("broken-encoding") from err
                rest = self._inner.unused_data if self._inner.eof else b""
            if len(plain) > MAX_INFLATED_PIECE:
                raise UnreadableBodyError("too-large")
        return bytes(plain)

    @property
    def is_whole(self) -> bool:
        """Whether the coded data reached the end of a frame."""
        return bool(self._inner.eof)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _is_zlib(start: bytes) -> bool:
    """Whether "deflate" came with its zlib header, as it should (RFC 1950, 2.2), or without."""
    return start[0] & 0x0F == zlib.DEFLATED and int.from_bytes(start[:ZLIB_HEADER_BYTES], "big") % 31 == 0
