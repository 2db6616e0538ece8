# SPDX-License-Identifier: Apache-2.0
"""The key of a request: SHA-256 over the canonical bytes of everything in it that can change the answer.

What it decides: the digest and the name of a cassette's file. What it leaves: what counts, to ``request`` and
``rules``.

- The digest is over RFC 8785 bytes of one object: ``schema``, then the members of ``request.document`` in their plain
  form, without volatile places.
- The file holds all 64 digits, its name the first 12.
"""

from __future__ import annotations

from typing import Any, Final

from truegreen.cassettes.plain import plain
from truegreen.cassettes.request import document, read_request
from truegreen.cassettes.rules import KeyRules, keyed
from truegreen.core.canonical import Limits, write_json
from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.recording import Asked

KEY_SCHEMA: Final = "truegreen/cassette-key/v1"
"""Version of what is keyed and how; part of the key."""
SHORT: Final = 12
"""Digits in a file's name."""
LIMITS: Final = Limits(max_bytes=128 << 20, max_depth=96)
"""How much a keyed document may hold."""


def key_of(asked: Asked, rules: KeyRules) -> Sha256:
    """The key of a request.

    Raises: EvidenceProblem as ``read_request``.
    """
    return key_of_document(document(read_request(asked, rules).request), rules)


def keyed_bytes(content: dict[str, Any], rules: KeyRules) -> bytes:
    """The bytes that are digested."""
    return write_json({"schema": KEY_SCHEMA, **plain(keyed(content, rules))}, LIMITS)


def key_of_document(content: dict[str, Any], rules: KeyRules) -> Sha256:
    """The key of a document that ``request.document`` gave."""
    return sha256_of(keyed_bytes(content, rules))


def file_name(key: str, digits: int = SHORT) -> str:
    """Name of the cassette of a key."""
    return f"{key.removeprefix('sha256:')[:digits]}.json"
