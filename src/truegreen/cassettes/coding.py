# SPDX-License-Identifier: Apache-2.0
"""Content codings: the decoded form of a body, for keys, for review and for the search for secrets.

What it decides: whether a body is what its ``Content-Encoding`` says, and what it decodes to. What it leaves: the
bytes themselves, which are kept as they came.

- gzip and deflate (with and without zlib's header) are always there; br and zstd need their libraries, and a body
  that cannot be decoded for want of one is ``undecodable``, never guessed.
- A body that contradicts its header is refused: one client would hand out compressed bytes, another an error.
- Several codings are undone from the last to the first. A bomb is cut at a limit.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

MAX_DECODED: Final = 256 << 20
"""Largest decoded body, in bytes."""
MAGIC: Final = {"gzip": "1f8b", "zstd": "28b52ffd", "deflate": "78"}
"""First bytes of a coded body, in hexadecimal, where they are fixed."""
_ALIASES: Final = {"x-gzip": "gzip", "x-deflate": "deflate"}
_PIECE: Final = 1024
_ZLIB_NIBBLE: Final = 8
_GZIP_WBITS: Final = zlib.MAX_WBITS | 16


def codings(headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The codings of ``Content-Encoding`` in the order in which they were applied, ``identity`` left out."""
    named = (
        one.strip().lower()
        for name, value in headers
        if name.lower() == "content-encoding"
        for one in value.split(",")
    )
    return tuple(_ALIASES.get(one, one) for one in named if one not in ("", "identity"))


def decoded(body: bytes, applied: tuple[str, ...]) -> bytes | None:
    """The body without its codings; None where a library for one is missing or nobody knows the coding.

    Raises: EvidenceProblem ``cassette-body-does-not-match-encoding``, ``too-large``.
    """
    if not body:
        return body
    for coding in reversed(applied):
        undone = _undone(body, coding)
        if undone is None:
            return None
        body = undone
    return body


def _undone(body: bytes, coding: str) -> bytes | None:
    match coding:
        case "gzip":
            return _inflated(body, _GZIP_WBITS, coding)
        case "deflate":
            has_header = body[0] & 0x0F == _ZLIB_NIBBLE and int.from_bytes(body[:2], "big") % 31 == 0
            return _inflated(body, zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS, coding)
        case "br":
            return _brotli(body)
        case "zstd":
            return _zstd(body)
    return None


def _inflated(body: bytes, wbits: int, coding: str) -> bytes:
    plain = b""
    while body:  # a gzip file may have several members
        inner = zlib.decompressobj(wbits)
        try:
            plain += inner.decompress(body, MAX_DECODED - len(plain) + 1)
        except zlib.error as err:
            raise _contradiction(body, coding) from err
        if len(plain) > MAX_DECODED or inner.unconsumed_tail:
            raise _too_large(coding)
        if not inner.eof:
            raise _contradiction(body, coding)
        body = inner.unused_data
        if body and coding != "gzip":
            raise _contradiction(body, coding)
    return plain


def _brotli(body: bytes) -> bytes | None:
    try:
        import brotli  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra that has no types
    except ImportError:
        return None
    decoder, plain = brotli.Decompressor(), bytearray()
    try:
        for piece in _pieces(body):
            plain += decoder.process(piece)
            _check_size(len(plain), "br")
    except brotli.error as err:
        raise _contradiction(body, "br") from err
    if not decoder.is_finished():
        raise _contradiction(body, "br")
    return bytes(plain)


def _zstd(body: bytes) -> bytes | None:
    try:
        import zstandard  # noqa: PLC0415 - an extra, and few answers need it
    except ImportError:
        return None
    decoder, plain = zstandard.ZstdDecompressor().decompressobj(), bytearray()
    try:
        for piece in _pieces(body):
            rest = piece
            while rest:
                if decoder.eof:  # another frame follows
                    decoder = zstandard.ZstdDecompressor().decompressobj()
                plain += decoder.decompress(rest)
                rest = decoder.unused_data if decoder.eof else b""
            _check_size(len(plain), "zstd")
    except zstandard.ZstdError as err:
        raise _contradiction(body, "zstd") from err
    if not decoder.eof:
        raise _contradiction(body, "zstd")
    return bytes(plain)


def _pieces(body: bytes) -> Iterator[bytes]:
    """Small enough that one of them cannot blow up beyond all bounds."""
    return (body[start : start + _PIECE] for start in range(0, len(body), _PIECE))


def _check_size(size: int, coding: str) -> None:
    if size > MAX_DECODED:
        raise _too_large(coding)


def _too_large(coding: str) -> EvidenceProblem:
    return EvidenceProblem("too-large", f"a {coding} body decodes to more than {MAX_DECODED} bytes")


def _contradiction(body: bytes, coding: str) -> EvidenceProblem:
    begins = f", which begins with {MAGIC[coding]}" if coding in MAGIC else ""
    return EvidenceProblem(
        "cassette-body-does-not-match-encoding",
        f"the header says {coding}{begins}, and the body begins with {quoted(body[:4].hex())}",
        hint="record it again, with the body as it came over the wire or decoded and without the header",
    )
