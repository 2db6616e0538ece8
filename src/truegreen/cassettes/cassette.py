# SPDX-License-Identifier: Apache-2.0
"""The fields of a cassette's file: one request, above it what is to be known about it, below it every answer.

What it decides: shapes. What it leaves: writing and strict reading, to ``cassette_file``; scrubbing, to ``scrub``.

- Names are sorted at every level, and are chosen so that a reader meets them in the order in which they are needed:
  ``about``, ``digest``, ``key``, ``request``, ``responses``.
- Values that come from outside stand in their plain form (``plain``): long texts as ``{"$text": [piece, …]}``,
  numbers that JSON writers would change as ``{"$number": "0.0"}``.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from truegreen.cassettes.request import Reference, Template
from truegreen.core.digest import Sha256
from truegreen.core.exchange import Usage

SCHEMA: Final = "truegreen/cassette/v1"
"""Version of the file."""


class IgnoredPath(msgspec.Struct, frozen=True, kw_only=True):
    """A declared volatile path."""

    count: int
    """How many values it left out of this request's key."""
    path: str
    """The path as it was declared."""


class IgnoredParts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of the request that is not in the key."""

    credentials: tuple[str, ...]
    """Places dropped because they hold credentials: ``header authorization``, ``query key``, ``userinfo``."""
    headers: tuple[str, ...]
    """Headers that were sent and that no answer depends on."""
    number_types: bool
    """Whether ``1``, ``1.0`` and ``1e0`` count as one number."""
    paths: tuple[IgnoredPath, ...]
    """Declared volatile paths."""


class Redaction(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that was found and is not stored."""

    at: str
    """JSON path in the file's request or answer."""
    count: int
    """How many stretches."""
    kind: str
    """Kind of secret, or ``dropped`` for a whole header."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a reviewer looks at first."""

    ignored: IgnoredParts
    """What the key does not hold."""
    key_schema: str
    """Version of the key."""
    model_asked: str | None
    """``model`` of the request."""
    redactions: tuple[Redaction, ...]
    """Secrets that the stored request does not hold though the key does."""
    references: tuple[Reference, ...]
    """What the request names without holding it."""
    template: Template | None
    """Template that made the request."""


class StoredRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request: the keyed document in its plain form."""

    body: Any
    """JSON value, fields of a form, list of parts, bytes, or null."""
    body_form: dict[str, Any]
    """``kind`` (none, json, form, multipart, bytes), ``codings`` that were undone, ``media``."""
    headers: dict[str, Any]
    """Keyed headers."""
    host: str
    """Alias of the endpoint."""
    method: str
    """HTTP method."""
    path: Any
    """Path."""
    query: dict[str, Any]
    """Query without credentials."""
    stream: bool
    """Whether the answer is asked for as a stream."""
    template: Template | None
    """Template that made the request."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """One header of an answer."""

    name: str
    """Name as it came."""
    value: str
    """Value as it came."""


class StoredChunk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stretch of the body that arrived at once; ``text`` if it is UTF-8, else ``base64``."""

    after_us: int
    """Microseconds since the chunk before it, or since the head."""
    base64: tuple[str, ...] | None = None
    """The bytes in Base64, in lines."""
    text: Any = None
    """The bytes as text."""


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """The body as it came, content coding kept, without transfer framing."""

    bytes: int
    """Its size."""
    chunks: tuple[StoredChunk, ...]
    """Its stretches in order."""
    sha256: Sha256
    """Its digest."""


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded answer."""

    finish_reason: str | None
    """Why it ended, in the vendor's word."""
    head_after_us: int
    """Microseconds from the end of the request to the head."""
    headers: tuple[Header, ...]
    """In order, credentials and framing left out."""
    model_served: str | None
    """Model that answered."""
    recorded_at: str
    """UTC RFC 3339 in whole seconds."""
    redactions: tuple[Redaction, ...]
    """Secrets that the stored answer does not hold."""
    status: int
    """Final status."""
    usage: Usage | None
    """Tokens as reported."""
    view: Any
    """For review: ``{"json": …}`` or ``{"text": …}`` of the decoded body; null where there is none."""
    wire: Wire
    """The body, exact."""


class Cassette(msgspec.Struct, frozen=True, kw_only=True):
    """One file."""

    about: About
    """What to look at first."""
    digest: Sha256
    """SHA-256 over the canonical bytes of all other fields."""
    key: Sha256
    """Key of the request as it was asked."""
    request: StoredRequest
    """What was asked."""
    responses: tuple[StoredAnswer, ...]
    """Its answers in the order in which they came; at least one."""
    schema: str
    """Version of the file."""
