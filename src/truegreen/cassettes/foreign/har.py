# SPDX-License-Identifier: Apache-2.0
"""Recordings of Polly.js and other HTTP archives (HAR 1.2).

What it decides: which entry is which exchange. What it leaves: what is lost in common, to ``taken``.

- ``content.text`` is text, Base64, or, where Polly stores a coded or binary body, a JSON list of such pieces (Base64,
  or hexadecimal in older files).
- Request headers that a browser adds to an archive as pseudo headers (``:method``) are none.
- ``startedDateTime`` is when it was recorded; times inside of the answer are not in the file.

Source: HAR 1.2, sections entries and content; pollyjs, adapters' ``serializeResponse``.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

from truegreen.cassettes.foreign.taken import Left, NotTakenError, Taken, exchange
from truegreen.core.errors import EvidenceProblem
from truegreen.core.instants import instant_text
from truegreen.core.quoted import quoted

LOSSES = ("an answer's pieces and their times are not in the file",)


def entries(data: bytes, name: str) -> Iterator[Taken | Left]:
    """Every entry of an archive, in the order in which it was recorded.

    Raises: EvidenceProblem ``foreign-unreadable``.
    """
    try:
        document = json.loads(data)
        listed = document["log"]["entries"]
    except (ValueError, RecursionError, KeyError, TypeError) as err:
        raise EvidenceProblem(
            "foreign-unreadable", f"{quoted(name)} is no HTTP archive with log.entries"
        ) from err
    if not isinstance(listed, list):
        raise EvidenceProblem("foreign-unreadable", f"{quoted(name)}: log.entries is no list")
    for number, entry in enumerate(listed, start=1):
        where = f"{name}, entry {number}"
        try:
            yield _exchange(entry, where)
        except NotTakenError as err:
            yield Left(where=where, why=str(err))


def _exchange(entry: Any, where: str) -> Taken:
    request, response = _object(entry, "request"), _object(entry, "response")
    content = response.get("content")
    posted = request.get("postData")
    return exchange(
        where=where,
        method=request.get("method"),
        url=request.get("url"),
        request_headers=_headers(request.get("headers")),
        request_body=_posted(posted) if isinstance(posted, dict) else b"",
        status=response.get("status"),
        headers=_headers(response.get("headers")),
        body=_content(content) if isinstance(content, dict) else b"",
        recorded_at=_instant(entry.get("startedDateTime")),
        losses=LOSSES,
    )


def _object(holder: Any, name: str) -> dict[str, Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(value, dict):
        raise NotTakenError(f"its {name} is no object")
    return value


def _headers(listed: Any) -> Iterator[tuple[str, str]]:
    for one in listed if isinstance(listed, list) else []:
        name, value = (one.get("name"), one.get("value")) if isinstance(one, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(value, str):
            raise NotTakenError("a header has no name or no value")
        if not name.startswith(":"):
            yield name, value


def _posted(posted: dict[str, Any]) -> bytes:
    text = posted.get("text")
    if text is None and posted.get("params"):
        raise NotTakenError("its body is only there as parameters")
    if text is not None and not isinstance(text, str):
        raise NotTakenError("its body is no text")
    return (text or "").encode("utf-8", "surrogatepass")


def _content(content: dict[str, Any]) -> bytes:
    text, encoding = content.get("text"), content.get("encoding")
    if text is None:
        if content.get("size"):
            raise NotTakenError("the answer's body is not in the file")
        return b""
    if not isinstance(text, str):
        raise NotTakenError("the answer's body is no text")
    if encoding != "base64" and not content.get("_isBinary"):
        return text.encode("utf-8", "surrogatepass")
    try:
        listed = json.loads(text)
    except ValueError:
        listed = [text]
    if not isinstance(listed, list) or not all(isinstance(piece, str) for piece in listed):
        listed = [text]
    return b"".join(_piece(piece) for piece in listed)


def _piece(text: str) -> bytes:
    """Hexadecimal reads as Base64 as well, so it is tried first: a Base64 text of only its digits is not seen."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        pass
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as err:
        raise NotTakenError("the answer's body is neither Base64 nor hexadecimal") from err


def _instant(text: Any) -> str | None:
    try:
        point = dt.datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None
    return instant_text(point.astimezone(dt.UTC).replace(microsecond=0)) if point.tzinfo else None
