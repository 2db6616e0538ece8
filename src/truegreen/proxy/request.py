# SPDX-License-Identifier: Apache-2.0
"""A client's request as it passes: its head rewritten for the upstream, its body untouched.

What it decides: which sample a request belongs to, what of its head is changed, and what cannot be forwarded.
What it leaves: sending, to ``tunnel``.

- ``/s/<token>/rest`` belongs to sample ``token``; token and marker are dropped, the upstream's prefix is put
  before. Any other path belongs to no sample.
- Of the head only three things change: the target, ``Host``, and the hop-by-hop headers (RFC 9110, 7.6.1).
  ``x-truegreen-sample`` is added only if the caller asked for it. Order and spelling of the rest stay.
- The body goes on as it came, framing included; it is read beside, not re-encoded.
- A head with both ``Content-Length`` and ``Transfer-Encoding`` is refused: two readers could disagree on it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import h11

TOKEN: Final = re.compile(r"[A-Za-z0-9._-]{1,80}")
SAMPLE_PATH: Final = re.compile(r"/s/([^/?]*)(/[^?]*)?(\?.*)?")
ABSOLUTE: Final = re.compile(r"https?://([^/?]*)", re.IGNORECASE)
HOP_BY_HOP: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade", b"proxy-authorization"}
)
SAMPLE_HEADER: Final = b"x-truegreen-sample"
ANSWER_PATHS: Final = ("/completions", "/responses", "/messages")
MAX_HEAD_BYTES: Final = 64 << 10
MAX_READ_BODY: Final = 8 << 20


class NotForwardableError(Exception):
    """Bytes that are no request which can go on; its text is the kebab-case reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """One request's head."""

    token: str | None
    """The sample's token."""
    method: str
    """HTTP method."""
    target: str
    """What comes after the upstream's prefix: path and query."""
    version: bytes
    """``1.1`` or ``1.0``."""
    headers: tuple[tuple[bytes, bytes], ...]
    """Headers as they were spelled, in their order."""

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def asks_a_model(self) -> bool:
        """Whether the answer must be a model's."""
        return self.method == "POST" and self.path.endswith(ANSWER_PATHS)

    @property
    def closes(self) -> bool:
        """Whether the client wants the connection closed after the answer."""
        options = _options(self.headers)
        return b"close" in options or (self.version == b"1.0" and b"keep-alive" not in options)

    @property
    def query(self) -> str:
        """What follows the target's first ``?``."""
        return self.target.partition("?")[2]

    @property
    def end_to_end(self) -> tuple[tuple[bytes, bytes], ...]:
        """Headers that are not of this connection alone, ``Host`` left out."""
        dropped = HOP_BY_HOP | _options(self.headers) | {b"host"}
        return tuple((name, value) for name, value in self.headers if name.lower() not in dropped)

    def first(self, name: bytes) -> bytes | None:
        """First value of a header by its lower-case name."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def rewritten(
        self, *, prefix: str, host: str, sample: str | None, without: Collection[bytes] = ()
    ) -> bytes:
        """The head that the upstream gets; ``sample`` is the value of ``x-truegreen-sample`` or None.

        ``without``: further names, in lower case, that are dropped.
        """
        dropped = {*without, *({SAMPLE_HEADER} if sample else ())}
        lines = [b"%s %s HTTP/%s" % (self.method.encode(), (prefix + self.target).encode(), self.version)]
        lines.append(b"Host: " + host.encode())
        lines += [name + b": " + value for name, value in self.end_to_end if name.lower() not in dropped]
        if sample is not None:
            lines.append(SAMPLE_HEADER + b": " + sample.encode())
        if self.closes:
            lines.append(b"Connection: close")
        return b"\r\n".join([*lines, b"", b""])


class RequestReader:
    """Reads one request beside its forwarding: feed raw bytes, get the part that belongs to its body."""

    def __init__(self, *, own_authority: str, max_kept: int = MAX_READ_BODY) -> None:
        """``own_authority`` is ``host:port`` of the observer: another one in an absolute target is refused.

        ``max_kept``: how many bytes of the body are kept for reading.
        """
        self._own = own_authority
        self._max_kept = max_kept
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._sha256 = hashlib.sha256()
        self._body = bytearray()
        self.head: Head | None = None
        self.size = 0
        self.ended = False
        self.is_broken = False
        self.rest = b""

    @property
    def sha256(self) -> str:
        """Digest of the body so far, without framing."""
        return f"sha256:{self._sha256.hexdigest()}"

    @property
    def body(self) -> bytes:
        """The body so far, without framing; whole only while ``size`` is within what is kept."""
        return bytes(self._body)

    @property
    def awaits_continue(self) -> bool:
        """Whether the client waits for ``100 Continue`` before it sends its body."""
        return self._h11.they_are_waiting_for_100_continue

    @property
    def model_asked(self) -> str | None:
        """``model`` of a JSON body, if there is one."""
        try:
            document = json.loads(bytes(self._body))
        except (ValueError, RecursionError):
            return None
        model = document.get("model") if isinstance(document, dict) else None
        return model[:200] if isinstance(model, str) else None

    def feed(self, raw: bytes) -> bytes:
        """The part of ``raw`` that belongs to the body, framing included; what follows is in ``rest``.

        Raises: NotForwardableError.
        """
        if self.ended:
            self.rest += raw
            return b""
        try:
            self._h11.receive_data(raw)
            if self.head is None:
                raw = self._read_head()
            return self._read_body(raw)
        except h11.RemoteProtocolError as err:
            self.is_broken = True
            raise NotForwardableError("bad-request") from err

    def _read_head(self) -> bytes:
        """The raw bytes after the head, or nothing while the head is incomplete."""
        event = self._h11.next_event()
        if not isinstance(event, h11.Request):
            return b""
        headers = tuple((bytes(name), bytes(value)) for name, value in event.headers.raw_items())
        names = {name.lower() for name, _ in headers}
        if {b"content-length", b"transfer-encoding"} <= names:
            raise NotForwardableError("two-framings")
        method = event.method.decode("ascii")
        if method == "CONNECT":
            raise NotForwardableError("connect")
        version = bytes(event.http_version)
        if version not in (b"1.0", b"1.1"):
            raise NotForwardableError("bad-version")
        token, target = self._route(event.target)
        self.head = Head(token=token, method=method, target=target, version=version, headers=headers)
        return self._h11.trailing_data[0]

    def _route(self, raw_target: bytes) -> tuple[str | None, str]:
        target = raw_target.decode("ascii", "surrogateescape")
        absolute = ABSOLUTE.match(target)
        if absolute:
            if absolute.group(1).lower() != self._own:
                raise NotForwardableError("foreign-target")
            target = target[absolute.end() :] or "/"
        if not (target.startswith("/") and target.isascii()):
            raise NotForwardableError("bad-target")
        sample = SAMPLE_PATH.fullmatch(target)
        if not sample:
            return None, target
        token, path, query = sample.groups(default="")
        if not TOKEN.fullmatch(token):
            raise NotForwardableError("bad-token")
        return token, (path or "/") + query

    def _read_body(self, raw: bytes) -> bytes:
        if self.head is None:
            return b""
        while True:
            event = self._h11.next_event()
            if isinstance(event, h11.Data):
                self._keep(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                self.ended = True
                self.rest = self._h11.trailing_data[0]
                return raw[: len(raw) - len(self.rest)]
            else:
                return raw

    def _keep(self, data: bytes) -> None:
        self._sha256.update(data)
        self.size += len(data)
        if self.size <= self._max_kept:
            self._body += data


def sample_number(token: str) -> str:
    """The number part of ``<caseindex>-<samplenumber>``: what follows the last hyphen."""
    return token.rpartition("-")[2]


def _options(headers: tuple[tuple[bytes, bytes], ...]) -> frozenset[bytes]:
    """Names that ``Connection`` headers list, in lower case."""
    values = (value for name, value in headers if name.lower() == b"connection")
    return frozenset(option.strip().lower() for value in values for option in value.split(b","))
