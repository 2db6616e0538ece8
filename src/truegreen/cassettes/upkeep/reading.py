# SPDX-License-Identifier: Apache-2.0
"""A recording as a person reads it: request above answers, bodies decoded, nothing that could be a secret.

What it decides: what is shown of a recording, and how two are compared. What it leaves: the file's own form, to
``cassette_file``; escapes for a terminal, to whoever prints.

- Content codings are undone; JSON is shown as its value, a stream as its joined text beside the number of its
  pieces, other text as text, anything else as size and digest.
- Every text, names among them, is searched for secrets once more before it is shown, whatever the file says about
  its redactions; headers that hold credentials by their name are shown without their value.
- Two recordings are compared by JSON path over what is shown.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from truegreen.cassettes import answer, coding
from truegreen.cassettes.cassette import Cassette, StoredAnswer
from truegreen.cassettes.cassette_file import answer_of, stored_document
from truegreen.cassettes.leaks import Needles
from truegreen.cassettes.paths import leaves, spelled
from truegreen.cassettes.places import Place, places
from truegreen.cassettes.plain import plain
from truegreen.cassettes.request import media_type, text_of
from truegreen.cassettes.scrub import clean_text
from truegreen.core.canonical import read_json
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem

NOT_SHOWN: Final = "[redacted: by its name]"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One place at which two recordings differ."""

    at: str
    """JSON path over what ``readable`` gives."""
    old: Any
    """Value in the older; ``ABSENT`` if there is none."""
    new: Any
    """Value in the newer; ``ABSENT`` if there is none."""


ABSENT: Final = "(absent)"


def readable(cassette: Cassette) -> dict[str, Any]:
    """Everything of a recording that a reviewer needs, as JSON values."""
    about = cassette.about
    document = plain(stored_document(cassette))
    shown = {
        "key": cassette.key,
        "key_schema": about.key_schema,
        "template": msgspec.to_builtins(about.template),
        "model_asked": about.model_asked,
        "ignored": msgspec.to_builtins(about.ignored),
        "redactions": msgspec.to_builtins(about.redactions),
        "request": {
            **{name: document[name] for name in ("method", "host", "path", "query", "stream", "body")},
            "headers": _headers(document["headers"]),
        },
        "answers": [_answer(stored) for stored in cassette.responses],
    }
    return {name: _clean(value) for name, value in shown.items()}


def decoded_body(stored: StoredAnswer) -> bytes | None:
    """The body of an answer without its content coding; None if the coding is not undone here.

    Raises: EvidenceProblem ``cassette-body-does-not-match-encoding``.
    """
    answered = answer_of(stored)
    return coding.decoded(answered.body, coding.codings(answered.headers))


def content_type(stored: StoredAnswer) -> str:
    """The answer's ``Content-Type``, or an empty text."""
    return media_type(answer_of(stored).headers)


def differences(old: Cassette, new: Cassette) -> tuple[Change, ...]:
    """Every place at which two recordings differ, in the order of reading."""
    before, after = dict(leaves(readable(old))), dict(leaves(readable(new)))
    paths = [*before, *(path for path in after if path not in before)]
    return tuple(
        Change(at=spelled(path), old=before.get(path, ABSENT), new=after.get(path, ABSENT))
        for path in paths
        if _unlike(before.get(path, ABSENT), after.get(path, ABSENT))
    )


def _unlike(old: Any, new: Any) -> bool:
    """Whether two values differ; 1, true and 1.0 do."""
    return type(old) is not type(new) or old != new


def _answer(stored: StoredAnswer) -> dict[str, Any]:
    return {
        "status": stored.status,
        "recorded_at": stored.recorded_at,
        "model_served": stored.model_served,
        "finish_reason": stored.finish_reason,
        "usage": msgspec.to_builtins(stored.usage),
        "redactions": msgspec.to_builtins(stored.redactions),
        "headers": [[one.name, _value(one.name, one.value)] for one in stored.headers],
        **_body(stored),
    }


def _body(stored: StoredAnswer) -> dict[str, Any]:
    size = {"bytes": stored.wire.bytes, "pieces": len(stored.wire.chunks)}
    decoded = decoded_body(stored)
    if decoded is None or text_of(decoded) is None:
        return {**size, "body_sha256": sha256_of(decoded) if decoded is not None else stored.wire.sha256}
    try:
        return {**size, "json": read_json(decoded)}
    except EvidenceProblem:
        said = answer.facts(decoded, content_type(stored)).text
    return {**size, "text": said if said is not None else text_of(decoded)}


def _headers(headers: dict[str, Any]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in headers.items()}


def _value(name: str, value: Any) -> Any:
    return NOT_SHOWN if places().of_header(name) is Place.CREDENTIAL else value


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return clean_text(value, Needles())[0] if isinstance(value, str) else value
