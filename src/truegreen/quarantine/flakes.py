# SPDX-License-Identifier: Apache-2.0
"""Reads a ``flakes.yaml`` (a list of known-flaky tests with owner, reason and end) and makes entries of it.

What it decides: which entries such a list means, what it lacks, and what is lost. What it leaves: which files are
read and written, to wiring.

- ``first_seen`` becomes ``since``; ``id``, ``owner``, ``reason``, ``expires``, and ``lane``, ``ticket`` and ``note``
  where the list has them, keep their names. Any other key is a loss, and named.
- A lane and a ticket that the list lacks are asked for, never made up.
- An entry that is over is left out: it would excuse nothing and hold everybody.
- What is in the file already stays as it is; the same case with other words is refused, not replaced.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.core.plain_yaml import Document, is_date, read_yaml
from truegreen.core.quoted import quoted
from truegreen.core.shapes import written
from truegreen.quarantine.entries import ENTRY_KEYS, SCHEMA, Entry, as_entry, entry_problems, read_quarantine

NAMES: Final[Mapping[str, str]] = {"first_seen": "since"} | {
    name: name for name in ENTRY_KEYS if name != "since"
}
"""Key of the list to key of an entry."""
DATES: Final[frozenset[str]] = frozenset({"since", "expires"})
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


class Flake(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the list."""

    place: str
    """``NAME:LINE`` where it begins."""
    table: dict[str, Any]
    """Its keys by the names of an entry; dates as ``tomllib`` would give them."""


class Flakes(msgspec.Struct, frozen=True, kw_only=True):
    """The list."""

    rows: tuple[Flake, ...]
    """Its rows in order."""
    losses: tuple[str, ...]
    """What no entry can hold, a sentence each."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an import."""

    text: str
    """The whole new ``truegreen.quarantine.toml``: what was there, then what is new."""
    added: tuple[Entry, ...]
    """New entries."""
    kept: tuple[Entry, ...]
    """Entries that were there already, word by word."""
    losses: tuple[str, ...]
    """What was left out, a sentence each."""


def read_flakes(data: bytes, *, name: str) -> Flakes:
    """The rows of the list in ``data``; an empty file is an empty list.

    Raises: UsageProblem ``bad-yaml``, ``yaml-two-readings``, or ``bad-flakes`` for a file that is no list of
    mappings, or a date that cannot be read.
    """
    documents = read_yaml(data, name=name, takes_dates=True)
    if len(documents) > 1:
        raise _bad(f"{name}: {len(documents)} documents, asked 1")
    value = documents[0].value if documents else None
    if not isinstance(value, list | None):
        raise _bad(f"{name}:1: {written(value)}, asked a list")
    rows: list[Flake] = []
    losses: list[str] = []
    for index, row in enumerate(value or ()):
        place = f"{name}:{documents[0].line_of((index,))}"
        if not isinstance(row, dict):
            raise _bad(f"{place}: {written(row)}, asked id, owner, reason, first_seen and expires")
        rows.append(Flake(place=place, table=_table(row, documents[0], index, name)))
        losses += [
            f"{name}:{documents[0].line_of((index, key))}: an entry has no {quoted(key)}"
            for key in row
            if key not in NAMES
        ]
    return Flakes(rows=tuple(rows), losses=tuple(losses))


def imported(
    flakes: Flakes, existing: bytes | None, now: str, *, lane: str | None, ticket: str | None
) -> Imported:
    """The quarantine with the rows added; ``lane`` and ``ticket`` stand in where a row has none of its own.

    Raises: UsageProblem ``import-incomplete``, ``bad-flakes`` or ``entry-exists``; EvidenceProblem
    ``bad-quarantine`` for a file that is there and cannot be read.
    """
    there = {(entry.lane, entry.id): entry for entry in read_quarantine(existing).entries} if existing else {}
    tables = [(row.place, _completed(row, lane, ticket)) for row in flakes.rows]
    added: dict[tuple[str, str], Mapping[str, Any]] = {}
    kept: list[Entry] = []
    losses = list(flakes.losses)
    for place, table in tables:
        entry = _checked(place, table)
        key = (entry.lane, entry.id)
        if key in added:
            raise _bad(f"{place}: {quoted(entry.id)} stands twice in the list")
        if key in there:
            kept.append(_same(there[key], entry, place))
        elif entry.expires <= now:
            losses.append(f"{place}: {quoted(entry.id)} expired at {entry.expires}")
        else:
            added[key] = table
    text = _appended(existing, added.values())
    read_quarantine(text.encode())
    new = tuple(as_entry(table) for table in added.values())
    return Imported(text=text, added=new, kept=tuple(kept), losses=tuple(losses))


def _table(row: dict[str, Any], document: Document, index: int, name: str) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in row.items():
        place = f"{name}:{document.line_of((index, key))}"
        known = NAMES.get(key)
        if known in DATES:
            table[known] = _date(value, key, place)
        elif known:
            if isinstance(value, str) and is_date(value):
                raise _bad(f"{place}: {key} is the date {quoted(value)}, asked a text")
            table[known] = value
    return table


def _date(value: Any, key: str, place: str) -> dt.date:
    if isinstance(value, str) and _ISO.fullmatch(value):
        try:
            return (
                dt.datetime.fromisoformat(value)
                if len(value) > len("2026-11-01")
                else dt.date.fromisoformat(value)
            )
        except ValueError:  # 30 February
            pass
    raise _bad(f"{place}: {key} is {written(value)}, asked a day such as 2026-11-01")


def _completed(row: Flake, lane: str | None, ticket: str | None) -> dict[str, Any]:
    table = {"lane": lane, "ticket": ticket, **row.table}
    for name in ("lane", "ticket"):
        if table[name] is None:
            raise UsageProblem(
                "import-incomplete",
                f"{row.place}: the entry has no {name}, which the list does not say",
                hint=f"truegreen quarantine import --{name} {name.upper()} FILE",
            )
    return table


def _checked(place: str, table: dict[str, Any]) -> Entry:
    if isinstance(
        table.get("since"), dt.datetime
    ):  # a list may know the minute; an entry starts with its day
        table["since"] = table["since"].date()
    for _, sentence in entry_problems((), table):
        raise _bad(f"{place}: {sentence}")
    return as_entry(table)


def _same(there: Entry, entry: Entry, place: str) -> Entry:
    for name in there.__struct_fields__:
        old, new = getattr(there, name), getattr(entry, name)
        if old != new:
            raise UsageProblem(
                "entry-exists",
                f"{place}: {quoted(entry.id)} is in the quarantine with {name} {quoted(old)}, the list says {quoted(new)}",
                hint="change the entry or the list",
            )
    return there


def _appended(existing: bytes | None, tables: Any) -> str:
    text = existing.decode() if existing else f'schema = "{SCHEMA}"\n'
    newline = "\r\n" if "\r\n" in text else "\n"
    blocks = [newline.join(_block(table)) for table in tables]
    if blocks and not text.endswith("\n"):
        text += newline
    return text + "".join(f"{newline}{block}{newline}" for block in blocks)


def _block(table: Mapping[str, Any]) -> Iterator[str]:
    yield "[[entry]]"
    for name in ENTRY_KEYS:
        if name in table:
            value = table[name]
            yield f"{name} = {_toml_text(value) if isinstance(value, str) else value.isoformat()}"


def _toml_text(text: str) -> str:
    """A basic string, in which whatever is not printable stands as an escape; what JSON escapes, TOML reads alike."""
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in escaped)


def _bad(sentence: str) -> UsageProblem:
    return UsageProblem("bad-flakes", sentence)
