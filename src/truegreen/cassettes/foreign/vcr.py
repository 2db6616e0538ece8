# SPDX-License-Identifier: Apache-2.0
"""Cassettes of vcrpy and pytest-recording, as YAML or JSON.

What it decides: which entry is which exchange. What it leaves: what is lost in common, to ``taken``.

- YAML is read from its events first: any tag but those of plain values and ``!!binary`` is refused before anything is
  constructed (older cassettes name Python objects, which a careless loader would make).
- A body is text, bytes, or null. ``base64_string`` is the JSON form's spelling of bytes.
- The file does not say when it was recorded, nor in which pieces an answer came.

Source: vcrpy 9, vcr/serializers and vcr/serialize.py (version 1 of the format).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any, Final

from truegreen.cassettes.foreign.taken import Left, NotTakenError, Taken, exchange, header_pairs
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

MAX_BYTES: Final = 64 << 20
PLAIN_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("binary", "str", "int", "float", "bool", "null", "map", "seq")
)
LOSSES: Final = ("the file has no date", "an answer's pieces and their times are not in the file")
VERSION: Final = 1


def entries(data: bytes, name: str) -> Iterator[Taken | Left]:
    """Every entry of a cassette.

    Raises: EvidenceProblem ``yaml-tag`` (contradictory), ``foreign-unreadable``.
    """
    document = _document(data, name)
    interactions = document.get("interactions") if isinstance(document, dict) else None
    if not isinstance(interactions, list) or document.get("version") != VERSION:
        raise _unreadable(name, "it is no cassette of version 1, with interactions")
    for number, entry in enumerate(interactions, start=1):
        where = f"{name}, interaction {number}"
        try:
            yield _exchange(entry, where)
        except NotTakenError as err:
            yield Left(where=where, why=str(err))


def _exchange(entry: Any, where: str) -> Taken:
    request, response = _object(entry, "request"), _object(entry, "response")
    status = _object(response, "status")
    return exchange(
        where=where,
        method=request.get("method"),
        url=request.get("uri"),
        request_headers=header_pairs(request.get("headers")),
        request_body=_body(request.get("body")),
        status=status.get("code"),
        headers=header_pairs(response.get("headers")),
        body=_body(response.get("body")),
        losses=LOSSES,
    )


def _object(holder: Any, name: str) -> dict[str, Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(value, dict):
        raise NotTakenError(f"its {name} is no object")
    return value


def _body(value: Any) -> bytes:
    match value:
        case None:
            return b""
        case bytes():
            return value
        case str():
            return value.encode("utf-8", "surrogateescape")
        case {"base64_string": str(text)}:
            return _base64(text)
        case {"string": bytes() | str() | None}:
            return _body(value["string"])
    raise NotTakenError("a body is neither text nor bytes")


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as err:
        raise NotTakenError("a body is no Base64") from err


def _document(data: bytes, name: str) -> Any:
    if len(data) > MAX_BYTES:
        raise _unreadable(name, f"it has {len(data)} bytes, at most {MAX_BYTES} are read")
    if data.lstrip()[:1] == b"{":
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            pass  # YAML may begin so too
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import, needed for files of other tools only
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - as above

    try:
        text = data.decode()
        for event in YAML(typ="safe", pure=True).parse(text):
            _refuse_tag(getattr(event, "tag", None), name)
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as err:
        raise _unreadable(name, "it is neither JSON nor YAML") from err


def _refuse_tag(tag: Any, name: str) -> None:
    if tag is not None and str(tag) not in PLAIN_TAGS:
        raise EvidenceProblem(
            "yaml-tag",
            f"{quoted(name)} holds the YAML tag {quoted(str(tag))}, which could run code when it is loaded",
            hint="record it again with a current version of its tool, then import it",
            contradictory=True,
        )


def _unreadable(name: str, why: str) -> EvidenceProblem:
    return EvidenceProblem("foreign-unreadable", f"{quoted(name)}: {why}")
