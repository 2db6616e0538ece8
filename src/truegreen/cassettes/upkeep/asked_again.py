# SPDX-License-Identifier: Apache-2.0
"""The request of a recording, put together again so that it can be asked once more.

What it decides: whether a recording still holds everything of its request, and its bytes. What it leaves: adding a
credential and sending, to ``wiring``.

- The request that is put together must have the recording's own key: nothing else is asked in its name.
- A request that was stored without its secrets, or with parts, cannot be asked again as it was.
- Credentials were never stored; the places that held them are told.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final
from urllib.parse import quote

from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.cassette_file import rules_of, stored_document
from truegreen.cassettes.key import key_of
from truegreen.cassettes.places import TEMPLATE, TEMPLATE_VERSION
from truegreen.cassettes.request import CONTENT
from truegreen.cassettes.rules import KeyRules
from truegreen.core.canonical import Spelled
from truegreen.core.errors import EvidenceProblem
from truegreen.core.recording import Asked

CODE: Final = "cannot-be-asked-again"
OUR_HEADERS: Final = frozenset({TEMPLATE, TEMPLATE_VERSION})
"""Headers that name the template; no endpoint reads them."""


def asked_of(cassette: Cassette, rules: KeyRules | None = None) -> Asked:
    """The request of a recording, without credentials.

    Raises: EvidenceProblem ``cannot-be-asked-again``.
    """
    if cassette.about.redactions:
        raise _cannot("a secret was taken out of the stored request")
    if any(one.count for one in cassette.about.ignored.paths):
        raise _cannot("values at volatile paths were not keyed, and may be of another day")
    document = stored_document(cassette)
    asked = Asked(
        method=document["method"],
        path=document["path"],
        query=_query(document["query"]),
        headers=_headers(document),
        body=_body(document),
    )
    rules = rules or rules_of(cassette)
    if key_of(asked, rules) != cassette.key:
        raise _cannot("what can be put together from the file has another key")
    return asked


def credential_places(cassette: Cassette) -> tuple[tuple[str, str], ...]:
    """Where credentials stood: ``header`` or ``query``, and the name in lower case."""
    places = (text.partition(" ") for text in cassette.about.ignored.credentials)
    return tuple((kind, name) for kind, _, name in places if name)


def _headers(document: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    listed = [(name, value) for name, values in document["headers"].items() for value in values]
    form = document["body_form"]
    media = {"json": "application/json", "form": "application/x-www-form-urlencoded"}.get(
        form["kind"], form.get("media", "")
    )
    if media and "content-type" not in document["headers"]:
        listed.append(("content-type", media))
    template = document["template"]
    if template:
        listed.append((TEMPLATE, template["id"]))
        if template.get("version") is not None:
            listed.append((TEMPLATE_VERSION, template["version"]))
    return tuple(listed)


def _query(query: dict[str, Any]) -> str:
    pairs = [(name, value) for name, values in query.items() for value in values]
    return "&".join(name if value is None else f"{name}={value}" for name, value in pairs)


def _body(document: dict[str, Any]) -> bytes:
    form, body = document["body_form"], document["body"]
    if form.get("codings"):
        raise _cannot(f"its body was sent with the coding {', '.join(form['codings'])}")
    match form["kind"]:
        case "none":
            return b""
        case "json":
            return _json(body).encode()
        case "form":
            pairs = [(name, value) for name, values in body.items() for value in values]
            return "&".join(
                quote(name) if value is None else f"{quote(name)}={quote(value, safe='')}"
                for name, value in pairs
            ).encode()
        case "bytes" if CONTENT in body:
            return base64.b64decode(body[CONTENT])
    raise _cannot(f"a body of kind {form['kind']} is not put together again")


def _json(value: Any) -> str:
    """A value as JSON, numbers as they were spelled."""
    match value:
        case Spelled():
            return value.text
        case dict():
            return "{" + ",".join(f"{json.dumps(name)}:{_json(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_json, value)) + "]"
    return json.dumps(value)


def _cannot(sentence: str) -> EvidenceProblem:
    return EvidenceProblem(CODE, f"this recording cannot be asked again as it was: {sentence}")
