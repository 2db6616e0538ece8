# SPDX-License-Identifier: Apache-2.0
"""What is taken from another tool's recording, and what is lost on the way.

What it decides: the values that every format is read into, and what is done where a body is not what its headers
say. What it leaves: each format's own words, to the modules beside this one; scrubbing and storing, to ``store``.

- What cannot be taken is told with its place; nothing is guessed in its stead.
- A body that is not coded as its header says was unpacked by the tool: the header goes, and that is a loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from truegreen.cassettes import coding
from truegreen.core.errors import EvidenceProblem
from truegreen.core.recording import Answered, Asked, Chunk

CODED: Final = frozenset({"content-encoding", "content-length"})
STATUSES: Final = range(100, 600)


class NotTakenError(Exception):
    """An entry that cannot be taken; its text says why."""


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange."""

    where: str
    """Which entry of which file."""
    host: str
    """Host of the endpoint, with its port if that is not the scheme's."""
    asked: Asked
    """The request."""
    answered: Answered
    """The answer."""
    recorded_at: str | None
    """When it was recorded, UTC RFC 3339; null if the file does not say."""
    losses: tuple[str, ...]
    """What the file does not hold, or what was changed."""


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """One entry that was not taken."""

    where: str
    """Which entry of which file."""
    why: str
    """Why."""


def exchange(  # noqa: PLR0913 - the parts of an exchange
    *,
    where: str,
    method: Any,
    url: Any,
    request_headers: Iterable[tuple[str, str]],
    request_body: bytes,
    status: Any,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    recorded_at: str | None = None,
    losses: Iterable[str] = (),
) -> Taken:
    """One exchange, whatever format it came from.

    Raises: NotTakenError.
    """
    if not isinstance(method, str) or not method.isascii() or not method.isalpha():
        raise NotTakenError(f"its method is {method!r}, a word is asked")
    if not isinstance(status, int) or isinstance(status, bool) or status not in STATUSES:
        raise NotTakenError(f"its status is {status!r}, a whole number from 100 to 599 is asked")
    host, path, query = _address(url)
    kept, coded_loss = _as_coded(tuple(headers), body)
    return Taken(
        where=where,
        host=host,
        asked=Asked(
            method=method.upper(), path=path, query=query, headers=tuple(request_headers), body=request_body
        ),
        answered=Answered(
            status=status, headers=kept, chunks=(Chunk(after_s=0.0, data=body),) if body else ()
        ),
        recorded_at=recorded_at,
        losses=(*losses, *coded_loss),
    )


def header_pairs(headers: Any) -> Iterator[tuple[str, str]]:
    """Name and value out of an object whose values are texts or lists of them.

    Raises: NotTakenError.
    """
    if headers is None:
        return
    if not isinstance(headers, dict):
        raise NotTakenError("its headers are no object")
    for name, value in headers.items():
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(name, str) or not isinstance(one, str | int):
                raise NotTakenError("a header is no text")
            yield name, str(one)


def _address(url: Any) -> tuple[str, str, str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except (ValueError, TypeError, AttributeError) as err:
        raise NotTakenError("its address cannot be read") from err
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotTakenError("its address is not one of http or https")
    standard = {"http": 80, "https": 443}[parts.scheme]
    host = parts.hostname if port in (None, standard) else f"{parts.hostname}:{port}"
    return host, parts.path or "/", parts.query


def _as_coded(
    headers: tuple[tuple[str, str], ...], body: bytes
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The headers as they fit the body."""
    applied = coding.codings(headers)
    if not applied or not body:
        return headers, ()
    try:
        coding.decoded(body, applied)
    except EvidenceProblem:
        kept = tuple(pair for pair in headers if pair[0].lower() not in CODED)
        return kept, (f"the body was unpacked: content-encoding {', '.join(applied)} is dropped",)
    return headers, ()
