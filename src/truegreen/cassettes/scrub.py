# SPDX-License-Identifier: Apache-2.0
"""Requests and answers made fit for a committed file: secrets are replaced, or storing is refused.

What it decides: what of an exchange may be written. What it leaves: finding secrets, to ``leaks``; the key, which was
made before from the request as it was asked.

- Header names are compared without letter case, in requests and in answers alike; credential headers of an answer
  are dropped and listed, its framing is dropped.
- In texts a secret is replaced by ``[redacted: KIND]``. In a compressed body it is replaced in the decoded body, which
  is then stored without its coding. In bytes that are no text, in names, or spread over several events of a stream it
  cannot be replaced with confidence: refused.
- A compressed body that cannot be decoded here cannot be searched: refused.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

import msgspec

from truegreen.cassettes import answer, coding
from truegreen.cassettes.cassette import Redaction
from truegreen.cassettes.leaks import MOST_NESTED, Needles, spans
from truegreen.cassettes.paths import Path, leaves, spelled
from truegreen.cassettes.places import Place, Places
from truegreen.cassettes.request import media_type, text_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted
from truegreen.core.recording import Answered, Asked, Chunk

FRAMING: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
    }
)
"""Headers of an answer that say how it travelled; whoever plays it back frames it anew."""
CODED: Final = frozenset({"content-encoding", "content-md5", "digest", "content-digest", "etag"})
"""Headers that no longer hold once a body is stored in another form."""


class Cleaned(msgspec.Struct, frozen=True, kw_only=True):
    """An answer fit for storing."""

    answered: Answered
    """The answer."""
    decoded: bytes
    """Its body without content coding."""
    redactions: tuple[Redaction, ...]
    """What it does not hold."""


def needles_of(asked: Asked, answered: Answered, places: Places) -> Needles:
    """What stood in the credential places of an exchange, to be searched for everywhere else."""
    values = [*_header_values(asked.headers, places), *_header_values(answered.headers, places)]
    for piece in asked.query.split("&"):
        name, _, value = piece.partition("=")
        if places.is_credential_query(unquote(name).lower()):
            values += [unquote(value), unquote_plus(value)]
    if "://" in asked.path and "@" in asked.path:
        user = unquote(asked.path.partition("://")[2].rpartition("@")[0])
        values += [user, user.partition(":")[2]]
    return Needles(values, places.credential_query)


def clean_document(
    document: dict[str, Any], needles: Needles
) -> tuple[dict[str, Any], tuple[Redaction, ...]]:
    """The request's document without secrets.

    Raises: EvidenceProblem ``cannot-be-cleaned`` if one stands in a name.
    """
    found: list[Redaction] = []
    return _clean(document, (), needles, found), tuple(found)


def clean_answer(answered: Answered, needles: Needles, places: Places) -> Cleaned:
    """The answer without secrets.

    Raises: EvidenceProblem ``cannot-be-cleaned``, ``cassette-body-does-not-match-encoding``.
    """
    headers, redactions = _clean_headers(answered.headers, needles, places)
    applied = coding.codings(answered.headers)
    decoded = coding.decoded(answered.body, applied)
    if decoded is None:
        named = ", ".join(applied)
        raise _refused(
            f"a body with the coding {quoted(named)} cannot be decoded here, so it cannot be searched for secrets",
            hint="pip install 'truegreen[codings]', or ask the endpoint for gzip",
        )
    chunks, counted = answered.chunks, _count(decoded, needles)
    if counted and applied:
        chunks = (Chunk(after_s=sum(chunk.after_s for chunk in chunks), data=decoded),)
        headers = tuple(pair for pair in headers if pair[0].lower() not in CODED)
    if counted:
        chunks = _clean_chunks(chunks, needles)
        decoded = b"".join(chunk.data for chunk in chunks)
        redactions += [
            Redaction(at="wire", count=count, kind=kind) for kind, count in sorted(counted.items())
        ]
    _check_spread(decoded, media_type(headers), needles)
    cleaned = msgspec.structs.replace(answered, headers=headers, chunks=chunks)
    return Cleaned(answered=cleaned, decoded=decoded, redactions=tuple(redactions))


def check_bytes(data: bytes, where: str, needles: Needles) -> None:
    """Refuse bytes that hold a secret.

    Raises: EvidenceProblem ``cannot-be-cleaned``; the message names the kind and never the secret.
    """
    check_text(text_of(data) or data.decode("latin-1"), where, needles)


def check_text(text: str, where: str, needles: Needles, *, nested: int = MOST_NESTED) -> None:
    """Refuse a text that holds a secret.

    Raises: EvidenceProblem ``cannot-be-cleaned``.
    """
    found = spans(text, needles, nested=nested)
    if found:
        raise _refused(f"{where} holds a secret ({found[0].kind}) that cannot be removed with confidence")


def header_credentials(value: str) -> Iterator[str]:
    """The secrets in the value of a credential header: whole, without its scheme, decoded, per cookie."""
    yield value.strip()
    scheme, _, rest = value.strip().partition(" ")
    if rest:
        yield rest.strip()
    if scheme.lower() == "basic":
        decoded = basic_credentials(rest)
        yield decoded
        yield decoded.partition(":")[2]
    for pair in value.split(";"):
        name, equals, cookie = pair.partition("=")
        if equals and name.strip().lower() not in ("path", "domain", "expires", "max-age", "samesite"):
            yield cookie.strip()


def basic_credentials(text: str) -> str:
    """User and password of basic credentials, or an empty text."""
    try:
        return base64.b64decode(text.strip() + "=" * (-len(text.strip()) % 4)).decode("utf-8", "replace")
    except ValueError:  # characters that Base64 does not have, or too few
        return ""


def _header_values(headers: Iterable[tuple[str, str]], places: Places) -> Iterator[str]:
    for name, value in headers:
        if places.of_header(name) is Place.CREDENTIAL:
            yield from header_credentials(value)


def _clean(value: Any, path: Path, needles: Needles, found: list[Redaction]) -> Any:
    if isinstance(value, dict):
        for name in value:
            check_text(name, f"a name at {spelled(path)}", needles)
        return {name: _clean(item, (*path, name), needles, found) for name, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, (*path, place), needles, found) for place, item in enumerate(value)]
    if isinstance(value, str):
        text, counted = clean_text(value, needles)
        found += [
            Redaction(at=spelled(path), count=count, kind=kind) for kind, count in sorted(counted.items())
        ]
        return text
    return value


def clean_text(text: str, needles: Needles) -> tuple[str, Counter[str]]:
    """The text with its secrets replaced, and how many of each kind there were."""
    cut, position, counted = [], 0, Counter[str]()
    for span in spans(text, needles):
        cut += [text[position : span.start], f"[redacted: {span.kind}]"]
        position = span.end
        counted[span.kind] += 1
    return ("".join([*cut, text[position:]]), counted) if counted else (text, counted)


def _clean_headers(
    headers: tuple[tuple[str, str], ...], needles: Needles, places: Places
) -> tuple[tuple[tuple[str, str], ...], list[Redaction]]:
    kept, redactions = [], []
    for name, value in headers:
        lower = name.lower()
        if places.of_header(name) is Place.CREDENTIAL:
            redactions.append(Redaction(at=f"headers.{lower}", count=1, kind="dropped"))
        elif lower not in FRAMING:
            text, counted = clean_text(value, needles)
            kept.append((name, text))
            redactions += [
                Redaction(at=f"headers.{lower}", count=count, kind=kind)
                for kind, count in sorted(counted.items())
            ]
    return tuple(kept), redactions


def _count(decoded: bytes, needles: Needles) -> Counter[str]:
    text = text_of(decoded)
    if text is None:
        check_bytes(decoded, "a body that is no text", needles)
        return Counter()
    return Counter(span.kind for span in spans(text, needles))


def _clean_chunks(chunks: tuple[Chunk, ...], needles: Needles) -> tuple[Chunk, ...]:
    """The chunks with each secret replaced in the chunk in which it begins and cut out of those it reaches into."""
    text = b"".join(chunk.data for chunk in chunks).decode()
    cuts = [
        (
            len(text[: span.start].encode()),
            len(text[: span.end].encode()),
            f"[redacted: {span.kind}]".encode(),
        )
        for span in spans(text, needles)
    ]
    cleaned, start = [], 0
    for chunk in chunks:
        end = start + len(chunk.data)
        cleaned.append(msgspec.structs.replace(chunk, data=_cut(chunk.data, start, end, cuts)))
        start = end
    return tuple(cleaned)


def _cut(data: bytes, start: int, end: int, cuts: list[tuple[int, int, bytes]]) -> bytes:
    out, position = [], start
    for first, last, mark in cuts:
        if last <= start or first >= end:
            continue
        out.append(data[position - start : max(first, start) - start])
        out.append(mark if first >= start else b"")
        position = min(last, end)
    return b"".join([*out, data[position - start :]])


def _check_spread(decoded: bytes, content_type: str, needles: Needles) -> None:
    text = answer.facts(decoded, content_type).text
    if text is not None:
        check_text(text, "an answer's text, put together from its pieces,", needles)


def _refused(sentence: str, *, hint: str = "") -> EvidenceProblem:
    return EvidenceProblem(
        "cannot-be-cleaned",
        sentence,
        hint=hint
        or "take the secret out of what is sent, or record with a key made for it, then record again",
    )


def check_written(data: bytes, needles: Needles) -> None:
    """Search the bytes of a file, and the texts that its lines make up, for secrets.

    Raises: EvidenceProblem ``cannot-be-cleaned``.
    """
    check_text(data.decode(), "the recording", needles, nested=0)  # its Base64 is put together first
    for path, value in leaves(_joined(json.loads(data))):
        if isinstance(value, str):
            check_text(value, f"the recording at {spelled(path)}", needles)


def _joined(value: Any) -> Any:
    """A file's value with texts and Base64 put together from their lines."""
    if isinstance(value, dict):
        if value.keys() == {"$text"}:
            return "".join(value["$text"])
        joined = {name: _joined(item) for name, item in value.items()}
        coded = joined.get("base64")
        return {**joined, "base64": "".join(coded)} if isinstance(coded, list) else joined
    return [_joined(item) for item in value] if isinstance(value, list) else value
