# SPDX-License-Identifier: Apache-2.0
"""A request and its answer as whole values, for whoever records and whoever plays back.

What it decides: shapes. What it leaves: keys, files and scrubbing, to ``cassettes``; sockets, to ``proxy``.

- Bodies are bytes without transfer framing (no chunk sizes), content coding kept.
- Header names keep their spelling and their order; what stands twice stands twice.
"""

from __future__ import annotations

from typing import Final

import msgspec

TEMPLATE: Final = "x-truegreen-template"
"""Header by which a caller names the template of a request; it never goes on to the endpoint."""
TEMPLATE_VERSION: Final = "x-truegreen-template-version"
"""Header that names the template's version; it never goes on either."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One whole request as the client sent it."""

    method: str
    """HTTP method."""
    path: str
    """Path below the upstream's host, prefix included, escapes kept."""
    query: str = ""
    """Query without ``?``, escapes kept."""
    headers: tuple[tuple[str, str], ...] = ()
    """Name and value."""
    body: bytes = b""
    """The body."""


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of an answer that arrived at once."""

    after_s: float
    """Seconds since the chunk before it, or since the head."""
    data: bytes
    """The bytes."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """One whole answer."""

    status: int
    """Final status."""
    headers: tuple[tuple[str, str], ...] = ()
    """Name and value."""
    chunks: tuple[Chunk, ...] = ()
    """The body in the pieces in which it came."""
    head_after_s: float = 0.0
    """Seconds from the end of the request to the head of the answer."""

    @property
    def body(self) -> bytes:
        """The pieces joined."""
        return b"".join(chunk.data for chunk in self.chunks)


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """No recording answers a request."""

    code: str
    """Kebab-case: ``cassette-missing``, ``cassette-exhausted``, …."""
    message: str
    """One sentence: the template, the nearest recording, the first JSON path that differs."""
    key: str
    """``sha256:`` key of what was asked."""
    template: str | None = None
    """Template id, where the request names one."""
    nearest: str | None = None
    """File name of the nearest recording."""
    differs_at: str | None = None
    """First JSON path that differs from it."""
