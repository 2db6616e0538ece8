# SPDX-License-Identifier: Apache-2.0
"""The named places of a request: which hold credentials, which headers are keyed, which are ignored.

What it decides: the class of a header or query name, from the table ``places.toml`` and what a policy adds. What
it leaves: dropping and keying, to ``request``.

- A credential place is dropped by its name before keying and listed. That goes for headers, for names in the query
  and for user information in a URL; never for a name inside a body, at whatever depth.
- A header is ignored only if the table allows it; one that nobody knows is keyed.
- ``accept`` is keyed unless it asks for what every client asks for, JSON or anything.
- ``x-truegreen-template`` and its version name the template; they never reach the endpoint.
"""

from __future__ import annotations

import pkgutil
import tomllib
from enum import Enum
from functools import lru_cache
from typing import Final

import msgspec

from truegreen.core.recording import TEMPLATE, TEMPLATE_VERSION

__all__ = ["TEMPLATE", "TEMPLATE_VERSION", "Place", "Places", "places"]

USUAL_ACCEPT: Final = frozenset({"*/*", "application/json", "application/json, text/plain, */*"})
"""What clients accept without meaning anything by it."""


class Place(Enum):
    """What becomes of a header."""

    CREDENTIAL = "credential"
    """Dropped before keying, listed."""
    KEYED = "keyed"
    """Part of the key."""
    IGNORED = "ignored"
    """Listed, not part of the key."""
    TEMPLATE = "template"
    """Names the template or its version."""


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The table, with what a policy adds to it; names in lower case."""

    credential_headers: tuple[str, ...]
    """Headers that hold credentials, in requests and in answers."""
    credential_query: tuple[str, ...]
    """Names in the query that hold credentials."""
    semantic_headers: tuple[str, ...]
    """Headers that are keyed whatever ``ignored_headers`` says."""
    ignored_headers: tuple[str, ...]
    """Headers that no answer depends on; a ``*`` at the end stands for the rest."""

    def of_header(self, name: str, value: str = "") -> Place:
        """The class of a header."""
        lower = name.lower()
        if lower in (TEMPLATE, TEMPLATE_VERSION):
            return Place.TEMPLATE
        if _among(lower, self.credential_headers):
            return Place.CREDENTIAL
        if lower in self.semantic_headers:
            return Place.KEYED
        if lower == "accept":
            return Place.IGNORED if value.strip().lower() in USUAL_ACCEPT else Place.KEYED
        return Place.IGNORED if _among(lower, self.ignored_headers) else Place.KEYED

    def is_credential_query(self, name: str) -> bool:
        """Whether a name in the query holds a credential."""
        return _among(name.lower(), self.credential_query)


def places(
    *,
    credential_headers: tuple[str, ...] = (),
    credential_query: tuple[str, ...] = (),
    semantic_headers: tuple[str, ...] = (),
    ignored_headers: tuple[str, ...] = (),
    table: Places | None = None,
) -> Places:
    """The table, by default the built-in one, with further names."""
    table = table or _table()
    return Places(
        credential_headers=table.credential_headers + _lower(credential_headers),
        credential_query=table.credential_query + _lower(credential_query),
        semantic_headers=table.semantic_headers + _lower(semantic_headers),
        ignored_headers=table.ignored_headers + _lower(ignored_headers),
    )


@lru_cache(maxsize=1)
def _table() -> Places:
    read = tomllib.loads((pkgutil.get_data(__package__, "places.toml") or b"").decode())
    return Places(
        credential_headers=tuple(read["credentials"]["headers"]),
        credential_query=tuple(read["credentials"]["query"]),
        semantic_headers=tuple(read["semantic"]["headers"]),
        ignored_headers=tuple(read["ignored"]["headers"]),
    )


def _lower(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def _among(name: str, listed: tuple[str, ...]) -> bool:
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in listed)
