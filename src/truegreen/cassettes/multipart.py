# SPDX-License-Identifier: Apache-2.0
"""Multipart bodies as parts, so that a random boundary is no part of a key.

What it decides: which bytes are parts between a boundary (RFC 2046, section 5.1), and how parts are written again.
What it leaves: what a part means.

- Strict: the body begins with the boundary and ends with its closing line, each part has a head, lines end in CR LF.
  Anything else is not multipart and is keyed as bytes.
"""

from __future__ import annotations

import re

import msgspec

Header = tuple[str, str]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part."""

    headers: tuple[Header, ...]
    """Names in lower case, values as they came, in order."""
    data: bytes
    """Content."""


_BOUNDARY = re.compile(r';\s*boundary=(?:"(?P<quoted>[^"]{1,70})"|(?P<bare>[^\s;"]{1,70}))', re.IGNORECASE)


def boundary_of(content_type: str) -> str | None:
    """The boundary that a content type names."""
    found = _BOUNDARY.search(content_type)
    return (found["quoted"] or found["bare"]) if found else None


def parts_of(body: bytes, boundary: str) -> tuple[Part, ...] | None:
    """The parts, or None if the bytes are not parts between this boundary."""
    mark = b"--" + boundary.encode("latin-1", "replace")
    if not body.startswith(mark):
        return None
    first, *sections = (b"\r\n" + body).split(b"\r\n" + mark)
    if first or not sections or sections[-1].rstrip(b"\r\n \t") != b"--":
        return None
    parts = [_part(section) for section in sections[:-1]]
    return tuple(part for part in parts if part is not None) if all(parts) else None


def joined(parts: tuple[Part, ...], boundary: str) -> bytes:
    """The parts between a boundary, as they are sent."""
    mark = b"--" + boundary.encode()
    sections = (
        mark
        + b"\r\n"
        + b"".join(f"{name}: {value}\r\n".encode() for name, value in part.headers)
        + b"\r\n"
        + part.data
        + b"\r\n"
        for part in parts
    )
    return b"".join(sections) + mark + b"--\r\n"


def _part(section: bytes) -> Part | None:
    head, blank, data = section.partition(b"\r\n\r\n")
    if not blank or not head.startswith(b"\r\n"):
        return None
    try:
        lines = head[2:].decode().split("\r\n")
    except UnicodeDecodeError:
        return None
    pairs = [line.partition(":") for line in lines]
    if not all(colon and name.strip() for name, colon, _ in pairs):
        return None
    return Part(
        headers=tuple((name.strip().lower(), value.strip()) for name, _, value in pairs),
        data=data,
    )
