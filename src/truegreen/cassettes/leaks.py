# SPDX-License-Identifier: Apache-2.0
"""Secrets in text: by the shape that providers give them, and by value where a value is known.

What it decides: which stretches of a text are secrets. What it leaves: replacing or refusing, to ``scrub``.

- By shape: keys of providers and forges, private keys, JSON web tokens, bearer tokens, basic credentials (decoded
  first), user information and credential parameters in URLs.
- By value: what stood in a declared credential place is searched for everywhere, as it is, percent-encoded, in
  hexadecimal and inside Base64 at each of the three alignments.
- A run of Base64 is decoded, three times deep, and searched as well; so is what is compressed inside it.
- A value of fewer than ``SHORTEST_VALUE`` characters is not searched for: it would be found everywhere.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

import msgspec

SHORTEST_VALUE: Final = 8
"""Shortest credential that is searched for by value, in characters."""
STAND_INS: Final = frozenset(
    {
        "truegreen",
        "dummy-key",
        "fake-key",
        "test-key",
        "no-key-needed",
        "not-needed",
        "placeholder",
        "sk-no-key-required",
    }
)
"""What clients send where a key is asked and none is needed: no secrets."""
MOST_NESTED: Final = 3
"""How often Base64 inside Base64 is decoded."""

_SHAPES: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = (
    (
        "private-key",
        ("private key-----",),
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
        ),
    ),
    ("provider-key", ("sk-",), re.compile(r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}")),
    ("provider-key", ("aiza",), re.compile(r"(?<![A-Za-z0-9])AIza[0-9A-Za-z_-]{35}")),
    (
        "provider-key",
        ("gsk_", "hf_", "r8_", "xai-", "pplx-", "fw_", "nvapi-", "tgp_v1_"),
        re.compile(r"(?<![A-Za-z0-9])(?:gsk_|hf_|r8_|xai-|pplx-|fw_|nvapi-|tgp_v1_)[A-Za-z0-9_-]{20,}"),
    ),
    (
        "provider-key",
        ("k_live_", "k_test_"),
        re.compile(r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ),
    ("cloud-key", ("akia", "asia"), re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])")),
    ("cloud-key", ("ya29.",), re.compile(r"(?<![A-Za-z0-9])ya29\.[A-Za-z0-9_-]{20,}")),
    (
        "forge-token",
        ("gho_", "ghp_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"(?<![A-Za-z0-9])(?:gh[opusr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    ),
    (
        "forge-token",
        ("glpat-", "npm_", "pypi-"),
        re.compile(
            r"(?<![A-Za-z0-9])(?:glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,})"
        ),
    ),
    ("chat-token", ("xox",), re.compile(r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}")),
    (
        "json-web-token",
        (".eyj",),
        re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ),
    (
        "bearer-token",
        ("bearer",),
        re.compile(r"(?i)(?<![a-z])bearer[ \t]+(?=[a-z._~+/-]*[0-9])[a-z0-9._~+/-]{16,}=*"),
    ),
    (
        "url-credentials",
        ("://",),
        re.compile(r"(?<=://)[^\s/@:\"'<>\[\]{}]+:[^\s/@\"'<>]+(?=@[A-Za-z0-9\[])"),
    ),
)
"""Kind, what every such secret holds in lower case (looked for first, because that is fast), and its shape."""
_BASIC: Final = re.compile(r"(?i)(?<![a-z])basic[ \t]+([A-Za-z0-9+/]{8,}={0,2})")
_PARAMETER: Final = re.compile(r"[?&;](?P<name>[A-Za-z0-9_-]{1,40})=(?P<value>[^&#\s\"'<>\\]{8,})")
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_ALIGNMENTS: Final = 3
_LONGEST_INFLATED: Final = 1 << 20
_SHORTEST_NEEDLE: Final = 8


class Span(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A stretch of a text that is a secret."""

    start: int
    """First character."""
    end: int
    """Behind its last character."""
    kind: str
    """Kebab-case kind: ``provider-key``, ``credential-value``, …."""


class Needles:
    """Known credentials in every spelling that is searched for."""

    def __init__(self, values: Iterable[str] = (), parameters: Iterable[str] = ()) -> None:
        """``values``: credentials; ``parameters``: names in a URL's query that hold one, in lower case."""
        self.parameters = frozenset(parameters)
        spellings = {
            one
            for value in values
            if len(value) >= SHORTEST_VALUE and value.lower() not in STAND_INS
            for one in _spellings(value)
            if len(one) >= _SHORTEST_NEEDLE
        }
        self._spellings = sorted(spellings, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._spellings)))

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Every place where one stands."""
        is_there = any(spelling in text for spelling in self._spellings)  # far faster than the pattern
        return self._pattern.finditer(text) if is_there else iter(())


def spans(text: str, needles: Needles, *, nested: int = MOST_NESTED) -> tuple[Span, ...]:
    """The secrets of a text, in order, none overlapping another; Base64 is decoded ``nested`` times."""
    found = sorted(_found(text, needles, nested))
    merged: list[Span] = []
    for span in found:
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            merged.append(Span(start=last.start, end=max(last.end, span.end), kind=last.kind))
        else:
            merged.append(span)
    return tuple(merged)


def _found(text: str, needles: Needles, depth: int) -> Iterator[Span]:
    lower = text.lower()
    for kind, marks, shape in _SHAPES:
        if any(mark in lower for mark in marks):
            for found in shape.finditer(text):
                yield Span(start=found.start(), end=found.end(), kind=kind)
    for found in needles.finditer(text):
        yield Span(start=found.start(), end=found.end(), kind="credential-value")
    yield from _basic(text, lower)
    yield from _parameters(text, lower, needles)
    if depth:
        yield from _coded(text, needles, depth)


def _basic(text: str, lower: str) -> Iterator[Span]:
    for found in _BASIC.finditer(text) if "basic" in lower else ():
        if b":" in _decoded(found[1]):
            yield Span(start=found.start(1), end=found.end(1), kind="basic-credentials")


def _parameters(text: str, lower: str, needles: Needles) -> Iterator[Span]:
    is_there = any(f"{name}=" in lower for name in needles.parameters)
    for found in _PARAMETER.finditer(text) if is_there else ():
        if found["name"].lower() in needles.parameters:
            yield Span(start=found.start("value"), end=found.end("value"), kind="url-parameter")


def _coded(text: str, needles: Needles, depth: int) -> Iterator[Span]:
    for found in _RUN.finditer(text):
        if any(True for inner in _inside(found[0]) for _ in _found(inner, needles, depth - 1)):
            yield Span(start=found.start(), end=found.end(), kind="base64")


def _inside(run: str) -> Iterator[str]:
    """What a run of Base64 decodes to, wherever in it the coded text begins."""
    for offset in range(4):
        data = _decoded(run[offset:])
        yield _as_text(data)
        if data[:2] == b"\x1f\x8b" or data[:1] == b"\x78":
            yield _as_text(_inflated(data))


def _as_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _decoded(run: str) -> bytes:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    bare = bare[: len(bare) - (len(bare) % 4 == 1)]
    return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, _LONGEST_INFLATED)
    except zlib.error:
        return b""


def _spellings(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "replace")
    yield value
    yield quote(value, safe="")
    yield raw.hex()
    yield raw.hex().upper()
    for alignment in range(_ALIGNMENTS):
        coded = base64.b64encode(bytes(alignment) + raw).decode()
        first = (alignment * 8 + 5) // 6  # characters that hold bits of what stands before
        last = (alignment + len(raw)) * 8 // 6  # whole characters of what is ours
        yield coded[first:last]
        yield coded[first:last].replace("+", "-").replace("/", "_")
