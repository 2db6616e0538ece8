# SPDX-License-Identifier: Apache-2.0
"""A folder of recordings as rows, and as sums.

What it decides: what is listed of each recording, and what is counted. What it leaves: whether a recording is right,
to ``check``; reading files, to whoever has them.

- A file that cannot be read is a row with the code of what is wrong, never left out.
- No text of a request or an answer stands in a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.core.errors import EvidenceProblem

NO_TEMPLATE = "(none)"
"""Stands where a recording names no template."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One file, read or not."""

    file: str
    """Its name."""
    cassette: Cassette | None
    """The recording; null if the file is none."""
    problem: str = ""
    """Code of what is wrong."""
    message: str = ""
    """The sentence about it."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One recording."""

    file: str
    """Its file."""
    template: str
    """Template id, or ``(none)``."""
    version: str | None
    """Template version."""
    model_asked: str | None
    """Model that was asked."""
    model_served: str | None
    """Model that answered first."""
    answers: int
    """How many answers it holds."""
    statuses: tuple[int, ...]
    """Their statuses, in order."""
    recorded_at: str | None
    """When the last of them came."""
    tokens: int | None
    """Tokens of all answers, as far as they were reported; null if none was."""
    problem: str
    """Code of what is wrong with the file; empty if it can be read."""


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in numbers."""

    recordings: int
    """Files that are recordings."""
    unreadable: int
    """Files that should be and cannot be read."""
    answers: int
    """Answers of all."""
    bytes: int
    """Size of all files."""
    tokens: int
    """Tokens as reported."""
    redactions: int
    """Secrets that were taken out when recording."""
    templates: tuple[tuple[str, int], ...]
    """Recordings by template, the most first."""
    models: tuple[tuple[str, int], ...]
    """Recordings by model asked, the most first."""
    oldest: str | None
    """When the oldest answer was recorded."""
    newest: str | None
    """When the newest was."""


def seen(files: Mapping[str, bytes | None]) -> tuple[Seen, ...]:
    """Each file of a folder, by name; None stands for what is no regular file."""
    return tuple(_seen(name, files[name]) for name in sorted(files))


def rows(looked: Iterable[Seen]) -> tuple[Row, ...]:
    """The recordings as rows, by template and then by file."""
    return tuple(sorted(map(_row, looked), key=lambda row: (row.template, row.version or "", row.file)))


def sums(looked: Iterable[Seen], size: int) -> Sums:
    """The recordings in numbers; ``size`` is that of all files in bytes."""
    all_seen = tuple(looked)
    cassettes = [one.cassette for one in all_seen if one.cassette]
    answers = [stored for cassette in cassettes for stored in cassette.responses]
    dates = sorted(stored.recorded_at for stored in answers)
    return Sums(
        recordings=len(cassettes),
        unreadable=len(all_seen) - len(cassettes),
        answers=len(answers),
        bytes=size,
        tokens=sum(_tokens(cassette) or 0 for cassette in cassettes),
        redactions=sum(
            one.count
            for cassette in cassettes
            for one in (*cassette.about.redactions, *(r for s in cassette.responses for r in s.redactions))
        ),
        templates=_most_first(template_of(cassette) for cassette in cassettes),
        models=_most_first(cassette.about.model_asked or NO_TEMPLATE for cassette in cassettes),
        oldest=dates[0] if dates else None,
        newest=dates[-1] if dates else None,
    )


def template_of(cassette: Cassette) -> str:
    """Template id of a recording, or ``(none)``."""
    return cassette.about.template.id if cassette.about.template else NO_TEMPLATE


def _seen(name: str, data: bytes | None) -> Seen:
    if data is None:
        return Seen(file=name, cassette=None, problem="not-a-file", message=f"{name} is no regular file")
    try:
        return Seen(file=name, cassette=read_cassette(data, name))
    except EvidenceProblem as err:
        return Seen(file=name, cassette=None, problem=err.code, message=err.message)


def _row(one: Seen) -> Row:
    cassette = one.cassette
    if cassette is None:
        return Row(
            file=one.file, template=NO_TEMPLATE, version=None, model_asked=None, model_served=None, answers=0,
            statuses=(), recorded_at=None, tokens=None, problem=one.problem,
        )  # fmt: skip
    template = cassette.about.template
    return Row(
        file=one.file,
        template=template_of(cassette),
        version=template.version if template else None,
        model_asked=cassette.about.model_asked,
        model_served=next(
            (stored.model_served for stored in cassette.responses if stored.model_served), None
        ),
        answers=len(cassette.responses),
        statuses=tuple(stored.status for stored in cassette.responses),
        recorded_at=max(stored.recorded_at for stored in cassette.responses),
        tokens=_tokens(cassette),
        problem="",
    )


def _tokens(cassette: Cassette) -> int | None:
    """Tokens of all answers: the total where it is reported, else prompt and completion."""
    counts = []
    for usage in (stored.usage for stored in cassette.responses if stored.usage):
        parts = [one for one in (usage.prompt_tokens, usage.completion_tokens) if one is not None]
        if usage.total_tokens is not None:
            counts.append(usage.total_tokens)
        elif parts:
            counts.append(sum(parts))
    return sum(counts) if counts else None


def _most_first(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
