# SPDX-License-Identifier: Apache-2.0
"""Whether a stored document is one that some request has.

What it decides: the types of its members, by the kind of its body, and that content stands for its digest. What it
leaves: the key, to ``key``; wording with the file's name, to ``cassette_file``.

- The JSON Schema of a file leaves open what a request may hold; here every member has its type, so that no later step
  meets another.
"""

from __future__ import annotations

import base64
from typing import Any, Literal

import msgspec

from truegreen.cassettes.paths import pattern_of
from truegreen.cassettes.request import Values
from truegreen.core.canonical import Spelled
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.quoted import quoted


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Literal["none", "json", "form", "multipart", "bytes"]
    codings: list[str] = []
    media: str = ""


class _Opaque(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sha256: str
    bytes: Spelled
    base64: str


class _TextPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    headers: dict[str, list[str]]
    text: str


class _OpaquePart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    headers: dict[str, list[str]]
    sha256: str
    bytes: Spelled
    base64: str


def check_document(document: dict[str, Any], name: str) -> None:
    """Refuse a document that no request has; its content that is no text stands in it.

    Raises: EvidenceProblem ``cassette-shape``, and ``cassette-edited`` (contradictory) where content is not that of
    its digest.
    """
    try:
        for member in ("method", "host", "path"):
            msgspec.convert(document[member], str)
        msgspec.convert(document["query"], Values)
        msgspec.convert(document["headers"], dict[str, list[str]])
        form = msgspec.convert(document["body_form"], _Form)
        _check_body(form.kind, document["body"], name)
    except (msgspec.ValidationError, ValueError) as err:
        raise EvidenceProblem(
            "cassette-shape", f"{quoted(name)}: the stored request is none: {str(err)[:160].lower()}"
        ) from err


def check_volatile(paths: tuple[str, ...], name: str) -> None:
    """Refuse a declared path that is none.

    Raises: EvidenceProblem ``cassette-shape``.
    """
    for text in paths:
        try:
            pattern_of(text)
        except UsageProblem as err:
            raise EvidenceProblem("cassette-shape", f"{quoted(name)}: {err.message}") from err


def base64_bytes(lines: tuple[str, ...]) -> bytes:
    """Base64 in lines as bytes, read strictly.

    Raises: EvidenceProblem ``cassette-shape``.
    """
    try:
        return base64.b64decode("".join(lines), validate=True)
    except ValueError as err:
        raise EvidenceProblem("cassette-shape", f"a chunk is no Base64: {str(err)[:80].lower()}") from err


def _check_body(kind: str, body: Any, name: str) -> None:
    match kind:
        case "none":
            msgspec.convert(body, None)
        case "form":
            msgspec.convert(body, Values)
        case "bytes":
            _check_content(msgspec.convert(body, _Opaque), name)
        case "multipart":
            for part in msgspec.convert(body, list[dict[str, Any]]):
                if "text" in part:
                    msgspec.convert(part, _TextPart)
                else:
                    _check_content(msgspec.convert(part, _OpaquePart), name)


def _check_content(one: _Opaque | _OpaquePart, name: str) -> None:
    content = base64.b64decode(one.base64, validate=True)
    if sha256_of(content) != one.sha256 or one.bytes.text != str(len(content)):
        raise EvidenceProblem(
            "cassette-edited",
            f"{quoted(name)}: the request's content is not the one of its digest",
            contradictory=True,
        )
