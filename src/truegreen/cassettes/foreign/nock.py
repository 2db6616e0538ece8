# SPDX-License-Identifier: Apache-2.0
"""Recordings of nock (``nock.recorder`` with ``output_objects``, and nock back).

What it decides: which entry is which exchange. What it leaves: what is lost in common, to ``taken``.

- A body that nock parsed is written as JSON again: its white space and the spelling of its numbers are lost.
- A coded or binary answer is a list of hexadecimal pieces, or one of them.
- Request headers are in the file only if it was recorded with them (``reqheaders``). Without them a header that an
  answer depends on, such as a version, is missing from the key: the request that is asked later may not be found.

Source: nock 14, lib/recorder.js (generateRequestAndResponseObject) and lib/back.js.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from truegreen.cassettes.foreign.taken import Left, NotTakenError, Taken, exchange, header_pairs
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

LOSSES = ("the file has no date", "an answer's pieces and their times are not in the file")


def entries(data: bytes, name: str) -> Iterator[Taken | Left]:
    """Every entry of a recording.

    Raises: EvidenceProblem ``foreign-unreadable``.
    """
    try:
        listed = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise EvidenceProblem("foreign-unreadable", f"{quoted(name)} is no JSON") from err
    if not isinstance(listed, list):
        raise EvidenceProblem("foreign-unreadable", f"{quoted(name)} is no list of scopes")
    for number, entry in enumerate(listed, start=1):
        where = f"{name}, scope {number}"
        try:
            yield _exchange(entry, where)
        except NotTakenError as err:
            yield Left(where=where, why=str(err))


def _exchange(entry: Any, where: str) -> Taken:
    if not isinstance(entry, dict) or not isinstance(entry.get("scope"), str):
        raise NotTakenError("it is no scope with an address")
    path = entry.get("path")
    if not isinstance(path, str) or not path.startswith("/"):
        raise NotTakenError("its path is no text that begins with /")
    losses = list(LOSSES)
    if entry.get("reqheaders") is None:
        losses.append("request headers are not in the file")
    if isinstance(entry.get("body"), dict | list) or isinstance(entry.get("response"), dict):
        losses.append("JSON is written anew: its spelling is lost")
    body, parsed = _request_body(entry.get("body"))
    headers = list(header_pairs(entry.get("reqheaders")))
    if parsed and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("content-type", "application/json"))
    return exchange(
        where=where,
        method=entry.get("method"),
        url=entry["scope"].rstrip("/") + path,
        request_headers=headers,
        request_body=body,
        status=entry.get("status"),
        headers=_raw_headers(entry),
        body=_response_body(entry),
        losses=losses,
    )


def _request_body(value: Any) -> tuple[bytes, bool]:
    if value is None or value == "":
        return b"", False
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass"), False
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), True


def _response_body(entry: dict[str, Any]) -> bytes:
    value = entry.get("response")
    if value is None or value == "":
        return b""
    if entry.get("responseIsBinary") and isinstance(value, str):
        return _hex([value])
    is_pieces = isinstance(value, list) and all(isinstance(piece, str) for piece in value)
    if is_pieces and _is_coded(entry):
        return _hex(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _is_coded(entry: dict[str, Any]) -> bool:
    return any(name.lower() == "content-encoding" for name, _ in _raw_headers(entry))


def _hex(pieces: list[str]) -> bytes:
    try:
        return b"".join(map(bytes.fromhex, pieces))
    except ValueError as err:
        raise NotTakenError("the answer's body is no hexadecimal") from err


def _raw_headers(entry: dict[str, Any]) -> list[tuple[str, str]]:
    raw = entry.get("rawHeaders", entry.get("headers"))
    if isinstance(raw, dict) or raw is None:
        return list(header_pairs(raw))
    if not isinstance(raw, list) or len(raw) % 2 or not all(isinstance(one, str) for one in raw):
        raise NotTakenError("its headers are no names and values in turn")
    return list(zip(raw[::2], raw[1::2], strict=True))
