# SPDX-License-Identifier: Apache-2.0
"""Cassettes as bytes: written for review, read strictly.

What it decides: the bytes of a cassette, and which bytes are one. What it leaves: the folder, to ``store``.

- JSON with sorted names, two spaces a level, one value a line, one line end at the end. Characters that do not show
  (controls, bidirectional marks) are escapes, so that a reviewer sees what a program reads.
- Read strictly, in this order: JSON (a cut file is ``cassette-truncated``, a YAML tag ``yaml-tag``), its schema,
  its digest (``cassette-edited``), the file's name, each body against its own digest and against its content coding,
  each view against its body, and the key against the stored request.
- Where secrets were taken out of the request the key cannot be computed from the file; the store then compares the
  asked request with the stored one.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Final

import msgspec

from truegreen.cassettes import answer, coding
from truegreen.cassettes.cassette import Cassette, StoredAnswer, StoredChunk, Wire
from truegreen.cassettes.foreign_yaml import refuse_tags
from truegreen.cassettes.key import KEY_SCHEMA, LIMITS, SHORT, file_name, key_of_document
from truegreen.cassettes.plain import pieces, plain, value_of
from truegreen.cassettes.request import BODY_LIMITS, media_type, text_of, without_content
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.well_formed import base64_bytes, check_document, check_volatile
from truegreen.core.canonical import read_json, read_spelled, write_json
from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted
from truegreen.core.recording import Answered, Chunk
from truegreen.core.schema import validate

SCHEMA_NAME: Final = "cassette.v1"
FULL: Final = 64
"""Digits of a name where two keys begin alike."""
_MICRO: Final = 1_000_000
_INVISIBLE: Final = re.compile(r"[^\x20-\x7e\n]")
_BASE64_LINE: Final = 76


def digest_of(fields: dict[str, Any]) -> Sha256:
    """The digest over all fields but ``digest`` itself."""
    return sha256_of(write_json({name: item for name, item in fields.items() if name != "digest"}, LIMITS))


def sealed(cassette: Cassette) -> Cassette:
    """The cassette with the digest of its fields."""
    return msgspec.structs.replace(cassette, digest=digest_of(msgspec.to_builtins(cassette)))


def write_cassette(cassette: Cassette) -> bytes:
    """The bytes of a cassette; its digest is what it says."""
    text = json.dumps(msgspec.to_builtins(cassette), indent=2, sort_keys=True, ensure_ascii=False)
    return (_INVISIBLE.sub(_escaped, text) + "\n").encode()


def read_cassette(data: bytes, name: str) -> Cassette:
    """The cassette in a file called ``name``; an empty name is not compared.

    Raises: EvidenceProblem ``cassette-truncated``, ``cassette-unreadable``, ``yaml-tag``, ``cassette-shape``,
    ``cassette-edited``, ``cassette-misnamed``, ``cassette-body-does-not-match-encoding``, ``cassette-view-differs``,
    ``cassette-key-schema``, ``cassette-wrong-key``, ``coding-missing``.
    """
    fields = _fields(data, name)
    try:
        validate(SCHEMA_NAME, fields)
    except EvidenceProblem as err:
        raise _problem("cassette-shape", name, err.message) from err
    if digest_of(fields) != fields["digest"]:
        raise _problem(
            "cassette-edited",
            name,
            "its digest is not that of its content: it was changed by hand or in part",
        )
    cassette = msgspec.convert(fields, Cassette)
    if name and name not in (file_name(cassette.key, SHORT), file_name(cassette.key, FULL)):
        raise _problem("cassette-misnamed", name, f"its key asks for the name {file_name(cassette.key)}")
    for stored in cassette.responses:
        _check_answer(stored, name)
    _check_key(cassette, name)
    return cassette


def stored_document(cassette: Cassette) -> dict[str, Any]:
    """The document of the stored request, content that is no text included.

    Raises: EvidenceProblem ``cassette-shape``.
    """
    document = value_of(msgspec.to_builtins(cassette.request))
    return {name: document[name] for name in cassette.request.__struct_fields__}


def rules_of(cassette: Cassette) -> KeyRules:
    """The rules by which the cassette says that it was keyed."""
    ignored = cassette.about.ignored
    return KeyRules(
        host=cassette.request.host,
        volatile=tuple(one.path for one in ignored.paths),
        ignores_number_types=ignored.number_types,
    )


def answer_of(stored: StoredAnswer) -> Answered:
    """The answer that was recorded."""
    return Answered(
        status=stored.status,
        headers=pairs(stored),
        head_after_s=stored.head_after_us / _MICRO,
        chunks=tuple(
            Chunk(after_s=one.after_us / _MICRO, data=_chunk_data(one)) for one in stored.wire.chunks
        ),
    )


def pairs(stored: StoredAnswer) -> tuple[tuple[str, str], ...]:
    """The headers of a recorded answer."""
    return tuple((header.name, header.value) for header in stored.headers)


def wire_of(answered: Answered) -> Wire:
    """The body of an answer as it is stored."""
    body = answered.body
    return Wire(
        bytes=len(body),
        sha256=sha256_of(body),
        chunks=tuple(_stored_chunk(chunk) for chunk in answered.chunks),
    )


def view_of(decoded: bytes, content_type: str, *, was_coded: bool) -> Any:
    """What a reviewer reads of a body: its JSON value, the text of a stream, or the decoded text."""
    try:
        return {"json": plain(read_spelled(decoded, BODY_LIMITS), lines=True)}
    except EvidenceProblem:
        pass
    text = answer.facts(decoded, content_type).text
    if text is None and was_coded:
        text = text_of(decoded)
    return None if text is None else {"text": list(pieces(text))}


def micro(seconds: float) -> int:
    """Whole microseconds, never negative."""
    return max(0, round(seconds * _MICRO))


def _fields(data: bytes, name: str) -> Any:
    try:
        return read_json(data, LIMITS)
    except EvidenceProblem as err:
        if err.code == "not-json":
            refuse_tags(data, name)
        stripped = data.strip()
        if err.code == "empty" or (err.code == "not-json" and stripped[:1] == b"{" and stripped[-1:] != b"}"):
            raise _problem(
                "cassette-truncated", name, f"it ends after {len(data)} bytes, before its last brace"
            ) from err
        raise EvidenceProblem(
            "cassette-unreadable",
            f"{quoted(name)}: {err.message} ({err.code})",
            hint=_HINT,
            contradictory=err.contradictory,
        ) from err


def _check_answer(stored: StoredAnswer, name: str) -> None:
    answered = answer_of(stored)
    body = answered.body
    if sha256_of(body) != stored.wire.sha256 or len(body) != stored.wire.bytes:
        raise _problem("cassette-edited", name, "a recorded body is not the one of its digest")
    applied = coding.codings(answered.headers)
    decoded = coding.decoded(body, applied)
    if decoded is None:
        _refuse_unseen(stored, applied, name)
        return
    seen = view_of(decoded, media_type(answered.headers), was_coded=bool(applied))
    if write_json(seen, LIMITS) != write_json(stored.view, LIMITS):
        raise _problem("cassette-view-differs", name, "what it shows for review is not what its body holds")


def _refuse_unseen(stored: StoredAnswer, applied: tuple[str, ...], name: str) -> None:
    """A view of a body that cannot be decoded here could show anything."""
    if stored.view is not None:
        raise EvidenceProblem(
            "coding-missing",
            f"{quoted(name)}: a body with the coding {quoted(', '.join(applied))} cannot be decoded here, so its view is unproved",
            hint="pip install 'truegreen[codings]'",
        )


def _check_key(cassette: Cassette, name: str) -> None:
    if cassette.about.key_schema != KEY_SCHEMA:
        found = quoted(cassette.about.key_schema)
        raise EvidenceProblem(
            "cassette-key-schema",
            f"{quoted(name)} was keyed by {found}, {quoted(KEY_SCHEMA)} is asked",
            hint=_HINT,
        )
    document = stored_document(cassette)
    check_document(document, name)
    check_volatile(rules_of(cassette).volatile, name)
    if cassette.about.redactions:
        return
    if key_of_document(without_content(document), rules_of(cassette)) != cassette.key:
        raise _problem("cassette-wrong-key", name, "its key is not that of the request that it holds")


def _stored_chunk(chunk: Chunk) -> StoredChunk:
    text = text_of(chunk.data)
    if text is None:
        coded = base64.b64encode(chunk.data).decode()
        lines = tuple(coded[start : start + _BASE64_LINE] for start in range(0, len(coded), _BASE64_LINE))
        return StoredChunk(after_us=micro(chunk.after_s), base64=lines)
    return StoredChunk(after_us=micro(chunk.after_s), text=plain(text, lines=True))


def _chunk_data(stored: StoredChunk) -> bytes:
    if stored.base64 is not None:
        return base64_bytes(stored.base64)
    text = value_of(stored.text)
    return text.encode() if isinstance(text, str) else b""


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


_HINT: Final = "restore it with git checkout, or record it again"


def _problem(code: str, name: str, sentence: str) -> EvidenceProblem:
    is_contradiction = code in (
        "cassette-edited",
        "cassette-wrong-key",
        "cassette-misnamed",
        "cassette-view-differs",
    )
    return EvidenceProblem(code, f"{quoted(name)}: {sentence}", hint=_HINT, contradictory=is_contradiction)
