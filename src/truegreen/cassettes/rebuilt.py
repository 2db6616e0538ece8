# SPDX-License-Identifier: Apache-2.0
"""A stored request as it would go over the wire again.

What it decides: the bytes that mean what the stored document says. What it leaves: sending them, to ``drift``;
proving keys with them, to ``verify_key``.

- Reading what is rebuilt gives the document again. Credentials are not in it: whoever sends it adds its own.
- JSON is written with every number as it is spelled; parts get a boundary of ours; codings are applied again.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from truegreen.cassettes.multipart import Part, joined
from truegreen.core.canonical import Spelled
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted
from truegreen.core.recording import TEMPLATE, TEMPLATE_VERSION, Asked

BOUNDARY: Final = "truegreen-boundary-7MA4YWxkTrZu0gW"
FORM: Final = "application/x-www-form-urlencoded"


def rebuilt(document: dict[str, Any]) -> Asked:
    """The request of a document, as ``cassette_file.stored_document`` gives it.

    Raises: EvidenceProblem ``cassette-shape`` for a document that no request has, ``coding-missing``.
    """
    try:
        kind, codings = document["body_form"]["kind"], document["body_form"].get("codings", [])
        body, content_type = _body(kind, document)
        for coding in codings:
            body = _coded(body, coding)
        headers = [(name, value) for name, values in document["headers"].items() for value in values]
        headers += [("content-type", content_type)] if content_type else []
        headers += [("content-encoding", ", ".join(codings))] if codings else []
        return Asked(
            method=document["method"],
            path=document["path"],
            query="&".join(_pairs(document["query"])),
            headers=(*headers, *_template(document["template"])),
            body=body,
        )
    except (KeyError, TypeError, AttributeError, ValueError) as err:
        raise EvidenceProblem(
            "cassette-shape", f"the stored request cannot be sent again: {type(err).__name__}"
        ) from err


def json_bytes(value: Any) -> bytes:
    """JSON text of a value with numbers as they are spelled."""
    return "".join(_written(value)).encode("utf-8", "surrogatepass")


def _body(kind: str, document: dict[str, Any]) -> tuple[bytes, str]:
    body, media = document["body"], document["body_form"].get("media", "")
    match kind:
        case "none":
            return b"", ""
        case "json":
            return json_bytes(body), "application/json"
        case "form":
            return "&".join(_fields(body)).encode(), FORM
        case "multipart":
            return joined(tuple(map(_part, body)), BOUNDARY), f"{media}; boundary={BOUNDARY}"
        case "bytes":
            return base64.b64decode(body["base64"]), media
    raise KeyError(kind)


def _part(part: dict[str, Any]) -> Part:
    headers = tuple((name, value) for name, values in part["headers"].items() for value in values)
    data = part["text"].encode() if "text" in part else base64.b64decode(part["base64"])
    return Part(headers=headers, data=data)


def _template(template: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    if template is not None:
        yield TEMPLATE, template["id"]
        if template["version"] is not None:
            yield TEMPLATE_VERSION, template["version"]


def _pairs(values: dict[str, list[str | None]]) -> Iterator[str]:
    for name, listed in values.items():
        for value in listed:
            yield name if value is None else f"{name}={value}"


def _fields(values: dict[str, list[str | None]]) -> Iterator[str]:
    for name, listed in values.items():
        for value in listed:
            yield quote(name, safe="") if value is None else f"{quote(name, safe='')}={quote(value, safe='')}"


def _written(value: Any) -> Iterator[str]:
    match value:
        case Spelled():
            yield value.text
        case dict():
            yield "{"
            for place, (name, item) in enumerate(value.items()):
                yield f"{',' if place else ''}{json.dumps(name, ensure_ascii=False)}:"
                yield from _written(item)
            yield "}"
        case list():
            yield "["
            for place, item in enumerate(value):
                yield "," if place else ""
                yield from _written(item)
            yield "]"
        case _:
            yield json.dumps(value, ensure_ascii=False)


def _coded(body: bytes, coding: str) -> bytes:
    match coding:
        case "gzip":
            return gzip.compress(body, mtime=0)
        case "deflate":
            return zlib.compress(body)
    raise EvidenceProblem(
        "coding-missing",
        f"a stored request has the coding {quoted(coding)}, gzip or deflate can be applied again",
    )
