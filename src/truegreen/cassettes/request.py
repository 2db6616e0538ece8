# SPDX-License-Identifier: Apache-2.0
"""A request as it is keyed, stored and compared: everything in it that can change the answer, and nothing else.

What it decides: how the parts of a request are read, what is left out and why. What it leaves: the digest, to
``key``; secrets inside what is kept, to ``scrub``.

- A body is JSON if it reads as JSON, whatever its content type says; else form fields or multipart parts by the
  content type; else bytes. A content coding is undone first.
- A body with one name twice in an object, or one that says JSON and is not, is refused: its receivers read it
  differently.
- Form fields, query names and header names stand in one object each: the order among different names means nothing,
  the order of values under one name stays.
- Credential places are dropped by name, headers that no answer depends on are left out; both are listed.
- Nothing is ever dropped from a body by its name.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec

from truegreen.cassettes import coding, multipart
from truegreen.cassettes.paths import Path, leaves, spelled
from truegreen.cassettes.places import Place
from truegreen.cassettes.rules import KeyRules
from truegreen.core.canonical import Limits, read_spelled
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted
from truegreen.core.recording import TEMPLATE, TEMPLATE_VERSION, Asked

BODY_LIMITS: Final = Limits(max_bytes=64 << 20, max_depth=64)
"""How much of a body is read as JSON; a larger or deeper one is keyed as bytes."""
CONTENT: Final = "base64"
"""Member that holds bytes which are no text."""
Values = dict[str, list[str | None]]
"""Names with all their values in order; None for a name without ``=``."""

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_USER_INFO: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/@]*@")
_ID_NAMES: Final = frozenset(
    {
        "file_id",
        "file_ids",
        "file_data_id",
        "vector_store_ids",
        "container_id",
        "training_file",
        "input_file_id",
    }
    | {"cached_content", "cachedContent", "previous_response_id", "thread_id", "assistant_id", "batch_id"}
)
_URL_NAMES: Final = frozenset({"url", "image_url", "file_url", "file_uri", "fileUri", "uri"})


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """Which prompt template made the request."""

    id: str
    """Id as the caller gave it."""
    version: str | None = None
    """Version as the caller gave it."""


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A request's body by what it holds."""

    kind: str
    """``none``, ``json``, ``form``, ``multipart`` or ``bytes``."""
    codings: tuple[str, ...] = ()
    """Content codings that were undone."""
    media: str = ""
    """Media type of ``multipart`` and ``bytes``, without parameters."""
    value: Any = None
    """The value of ``json``, numbers as spelled."""
    fields: Values = {}
    """The fields of ``form``."""
    parts: tuple[multipart.Part, ...] = ()
    """The parts of ``multipart``, by name."""
    data: bytes = b""
    """The content of ``bytes``."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the request names and does not hold: its content is not in the key."""

    at: str
    """JSON path."""
    kind: str
    """``id``, ``url`` or ``local-path``."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request without what cannot change the answer."""

    method: str
    """HTTP method."""
    host: str
    """Alias of the endpoint."""
    path: str
    """Path, escapes kept, without user information."""
    query: Values
    """Query without credentials; escapes of unreserved characters undone."""
    headers: dict[str, list[str]]
    """Keyed headers by lower-case name."""
    stream: bool
    """Whether the answer is asked for as a stream."""
    template: Template | None
    """The template, where the request names it."""
    body: Body
    """The body."""


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was read, with what was left out."""

    request: Request
    """What is kept."""
    credentials: tuple[str, ...]
    """Places that were dropped because they hold credentials: ``header authorization``, ``query key``, ``userinfo``."""
    ignored_headers: tuple[str, ...]
    """Names of headers that were left out because no answer depends on them."""


def read_request(asked: Asked, rules: KeyRules) -> Read:
    """The request by these rules.

    Raises: EvidenceProblem ``duplicate-key``, ``request-not-json``, ``request-not-text``,
    ``cassette-body-does-not-match-encoding``.
    """
    _check_text((asked.method, asked.path, asked.query, *(text for pair in asked.headers for text in pair)))
    query, dropped = _query(asked.query, rules)
    headers, template, credentials, ignored = _headers(asked.headers, rules)
    body = _body(asked)
    path, had_user = _USER_INFO.subn(r"\1", asked.path)
    request = Request(
        method=asked.method,
        host=rules.host,
        path=path,
        query=query,
        headers=headers,
        stream=_is_stream(path, query, headers, body),
        template=template,
        body=body,
    )
    places = {f"header {name}" for name in credentials} | {f"query {name}" for name in dropped}
    return Read(
        request=request,
        credentials=tuple(sorted(places | ({"userinfo"} if had_user else set()))),
        ignored_headers=tuple(sorted(ignored)),
    )


def document(request: Request, *, with_content: bool = False) -> dict[str, Any]:
    """The request as one value, in the order in which people read it: what is keyed.

    Content that is no text stands in it by digest and size; ``with_content`` adds it for storing.
    """
    return {
        "method": request.method,
        "host": request.host,
        "path": request.path,
        "query": request.query,
        "headers": request.headers,
        "stream": request.stream,
        "template": msgspec.to_builtins(request.template),
        "body_form": _form_document(request.body),
        "body": _body_document(request.body, with_content=with_content),
    }


def references(request: Request) -> tuple[Reference, ...]:
    """What the body names by id, URL or local path: its content is not in the request, so not in the key."""
    if request.body.kind != "json":
        return ()
    found = ((path, _reference(path, value)) for path, value in leaves(request.body.value, ("body",)))
    return tuple(Reference(at=spelled(path), kind=kind) for path, kind in found if kind)


def by_name(pairs: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    """Values under their names, each name's in order."""
    listed: dict[str, list[Any]] = {}
    for name, value in pairs:
        listed.setdefault(name, []).append(value)
    return listed


def media_type(headers: Iterable[tuple[str, str]]) -> str:
    """The whole ``Content-Type``, or an empty text."""
    return next((value for name, value in headers if name.lower() == "content-type"), "")


def _query(text: str, rules: KeyRules) -> tuple[Values, list[str]]:
    pairs, dropped = [], []
    for piece in filter(None, text.split("&")):
        name, equals, value = piece.partition("=")
        decoded = unquote_to_bytes(name).decode("utf-8", "replace").lower()
        if rules.places.is_credential_query(decoded):
            dropped.append(decoded)
        else:
            pairs.append((_normal(name), _normal(value) if equals else None))
    return by_name(pairs), dropped


def _normal(text: str) -> str:
    """Escapes of characters that never needed one undone, others in upper case (RFC 3986, section 6.2.2)."""
    return re.sub(
        "%([0-9A-Fa-f]{2})",
        lambda escape: chr(code) if (code := int(escape[1], 16)) in _UNRESERVED else escape[0].upper(),
        text,
    )


def _headers(
    given: tuple[tuple[str, str], ...], rules: KeyRules
) -> tuple[dict[str, list[str]], Template | None, set[str], set[str]]:
    kept: list[tuple[str, str]] = []
    template: dict[str, str] = {}
    dropped: dict[Place, set[str]] = {Place.CREDENTIAL: set(), Place.IGNORED: set()}
    for name, value in given:
        lower = name.lower()
        place = rules.places.of_header(name, value)
        if place is Place.KEYED:
            kept.append((lower, value.strip()))
        elif place is Place.TEMPLATE:
            template[lower] = value.strip()
        else:
            dropped[place].add(lower)
    named = (
        Template(id=template[TEMPLATE], version=template.get(TEMPLATE_VERSION))
        if TEMPLATE in template
        else None
    )
    return by_name(kept), named, dropped[Place.CREDENTIAL], dropped[Place.IGNORED]


def _body(asked: Asked) -> Body:
    if not asked.body:
        return Body(kind="none")
    applied = coding.codings(asked.headers)
    plain = coding.decoded(asked.body, applied)
    content_type = media_type(asked.headers)
    media = content_type.partition(";")[0].strip().lower()
    if plain is None:
        return Body(kind="bytes", media=media, codings=applied, data=asked.body)
    is_json, value = _json(plain, media)
    if is_json:
        return Body(kind="json", codings=applied, value=value)
    fields = _form(plain) if media == "application/x-www-form-urlencoded" else None
    if fields is not None:
        return Body(kind="form", codings=applied, fields=fields)
    boundary = multipart.boundary_of(content_type) if media.startswith("multipart/") else None
    parts = multipart.parts_of(plain, boundary) if boundary else None
    if parts is not None:
        ordered = tuple(sorted(parts, key=_part_name))
        return Body(kind="multipart", media=media, codings=applied, parts=ordered)
    return Body(kind="bytes", media=media, codings=applied, data=plain)


def _json(data: bytes, media: str) -> tuple[bool, Any]:
    try:
        return True, read_spelled(data, BODY_LIMITS)
    except EvidenceProblem as err:
        if err.code == "duplicate-key":
            raise
        if err.code == "not-json" and (media == "application/json" or media.endswith("+json")):
            sentence = f"the body says {media} and is {err.message}"
            raise EvidenceProblem("request-not-json", sentence) from err
        return False, None


def _form(data: bytes) -> Values | None:
    try:
        pieces = [piece.partition("=") for piece in data.decode("ascii").split("&") if piece]
        return by_name(
            (_unescaped(name), _unescaped(value) if equals else None) for name, equals, value in pieces
        )
    except UnicodeDecodeError:
        return None


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode()


def _part_name(part: multipart.Part) -> str:
    disposition = dict(part.headers).get("content-disposition", "")
    found = re.search(r'[;\s]name="([^"]*)"', disposition)
    return found[1] if found else ""


def _form_document(body: Body) -> dict[str, Any]:
    about: dict[str, Any] = {"kind": body.kind}
    if body.codings:
        about["codings"] = list(body.codings)
    return {**about, "media": body.media} if body.media else about


def _body_document(body: Body, *, with_content: bool) -> Any:
    match body.kind:
        case "json":
            return body.value
        case "form":
            return body.fields
        case "multipart":
            return [_part_document(part, with_content=with_content) for part in body.parts]
        case "bytes":
            return _opaque(body.data, with_content=with_content)
    return None


def _part_document(part: multipart.Part, *, with_content: bool) -> dict[str, Any]:
    headers = by_name(part.headers)
    text = text_of(part.data)
    if text is not None:
        return {"headers": headers, "text": text}
    return {"headers": headers, **_opaque(part.data, with_content=with_content)}


def _opaque(data: bytes, *, with_content: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"sha256": sha256_of(data), "bytes": len(data)}
    return {**about, CONTENT: base64.b64encode(data).decode()} if with_content else about


def without_content(stored: dict[str, Any]) -> dict[str, Any]:
    """A document without the content that ``with_content`` added."""
    body = stored["body"]
    if stored["body_form"]["kind"] == "bytes":
        body = {name: item for name, item in body.items() if name != CONTENT}
    elif stored["body_form"]["kind"] == "multipart":
        body = [{name: item for name, item in part.items() if name != CONTENT} for part in body]
    return {**stored, "body": body}


def text_of(data: bytes) -> str | None:
    """Bytes as text, if they are UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _is_stream(path: str, query: Values, headers: dict[str, list[str]], body: Body) -> bool:
    return (
        (isinstance(body.value, dict) and body.value.get("stream") is True)
        or ":stream" in path
        or "sse" in query.get("alt", [])
        or any("text/event-stream" in value for value in headers.get("accept", []))
    )


def _reference(path: Path, value: Any) -> str | None:
    if not isinstance(value, str) or value.startswith("data:"):
        return None
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    if name in _ID_NAMES:
        return "id"
    if value.startswith("file:"):
        return "local-path"
    return "url" if name in _URL_NAMES and "://" in value[:12] else None


def _check_text(texts: Iterable[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as err:
            raise EvidenceProblem(
                "request-not-text",
                f"{quoted(text)} is no UTF-8, a request line and headers of text are asked",
            ) from err
