# SPDX-License-Identifier: Apache-2.0
"""The quarantine: a committed list of cases that are known to be flaky, each with an owner and an end.

What it decides: shapes, and strict reading of ``truegreen.quarantine.toml``. What it leaves: which entries count
now, to ``live``; what an entry may excuse, to the merge table.

- An entry names one case by its whole id. There are no prefixes and no patterns: a family of parameters needs an
  entry for each.
- Owner, reason and ticket are never empty; an entry always ends, and it ends after it began.
- ``expires`` is an instant with its offset, or a day, which means 00:00 UTC of that day.
- No case of a lane stands twice. Unknown keys are refused, as in the policy.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgspec

from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.instants import instant_text
from truegreen.core.policy import QUARANTINE_FILE
from truegreen.core.policy_keys import LANE_NAME_SHAPE
from truegreen.core.shapes import LINE, OneOf, Rule, Shape, Text, Wrong, asked, written
from truegreen.core.toml import TomlFile, dotted, read_toml
from truegreen.core.toml_lines import TomlPath

SCHEMA = "truegreen/quarantine/v1"
MOST_PROBLEMS = 50
"""Problems that one reading collects before it stops."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One case that may be flaky for a while."""

    id: str
    """Whole case id."""
    lane: str
    """Its lane."""
    owner: str
    """Who makes it steady again."""
    reason: str
    """Why it is flaky, in a sentence."""
    ticket: str
    """Where the work on it is followed."""
    since: str
    """Start, UTC RFC 3339; 00:00 of the day in the file."""
    expires: str
    """End, UTC RFC 3339: at this instant the entry is expired."""
    note: str = ""
    """Anything else for people."""


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """One file, read whole."""

    entries: tuple[Entry, ...]
    """Its entries in file order."""
    digest: Sha256
    """Digest of the file's bytes."""


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """A day."""

    def wrong(self, value: Any) -> Wrong | None:
        """Anything but a TOML date without time."""
        is_day = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
        return None if is_day else Wrong(is_type=True, asked=self.words())

    def words(self) -> str:
        """With an example."""
        return "a day such as 2026-11-01, without quotes"

    def schema(self) -> dict[str, Any]:
        """As tools that show TOML as JSON write it."""
        return {"type": "string", "format": "date"}


class End(msgspec.Struct, frozen=True, kw_only=True):
    """A day or an instant."""

    def wrong(self, value: Any) -> Wrong | None:
        """Anything but a TOML date, or a date and time with an offset in whole seconds."""
        if not isinstance(value, dt.date):
            return Wrong(is_type=True, asked=self.words())
        if isinstance(value, dt.datetime) and (value.tzinfo is None or value.microsecond):
            return Wrong(is_type=False, asked=self.words())
        return None

    def words(self) -> str:
        """With examples."""
        return "a day such as 2026-12-01 or an instant such as 2026-12-01T09:00:00Z, without quotes"

    def schema(self) -> dict[str, Any]:
        """As tools that show TOML as JSON write it."""
        return {
            "type": "string",
            "anyOf": [{"format": "date"}, {"format": "date-time", "pattern": r"^[^.]*$"}],
        }


class EntryKey(msgspec.Struct, frozen=True, kw_only=True):
    """One key of an entry."""

    shape: Shape
    """What its value may be."""
    meaning: str
    """What it is for."""
    is_required: bool = True
    """Whether an entry without it is refused."""


_ID = Text(
    meaning="a whole case id",
    max_characters=1000,
    rules=(
        LINE,
        Rule(
            pattern=r"(?:(?!::)[^*?\n])+(?:::| > )[^\n]+",
            asked="the whole id of one case, such as tests/llm/test_tone.py::test_reply[de], not a file or a pattern",
        ),
    ),
)

ENTRY_KEYS: Final[Mapping[str, EntryKey]] = {
    "id": EntryKey(shape=_ID, meaning="The whole id of one case. No prefixes, no patterns."),
    "lane": EntryKey(shape=LANE_NAME_SHAPE, meaning="The lane that the case belongs to."),
    "owner": EntryKey(
        shape=Text(meaning="a name", max_characters=100, rules=(LINE,)),
        meaning="Who makes the case steady again.",
    ),
    "reason": EntryKey(
        shape=Text(meaning="a sentence", max_characters=500, rules=(LINE,)), meaning="Why it is flaky."
    ),
    "ticket": EntryKey(
        shape=Text(meaning="a ticket", max_characters=500, rules=(LINE,)),
        meaning="Where the work on it is followed: a number or an address.",
    ),
    "since": EntryKey(shape=Day(), meaning="The day on which it starts, at 00:00 UTC."),
    "expires": EntryKey(
        shape=End(),
        meaning="When it ends: an instant with its offset, or a day, which means 00:00 UTC of that day.",
    ),
    "note": EntryKey(
        shape=Text(meaning="a note", max_characters=2000),
        meaning="Anything else for people.",
        is_required=False,
    ),
}
"""Every key of an entry, in the order of the documentation."""

FILE_SCHEMA_SHAPE = OneOf(values=(SCHEMA,))
"""What the file's ``schema`` may say."""


def read_quarantine(data: bytes, *, name: str = QUARANTINE_FILE) -> Quarantine:
    """The quarantine in ``data``.

    Raises: EvidenceProblem ``bad-quarantine``, the first in the file, with its line.
    """
    try:
        file = read_toml(data, name)
    except UsageProblem as err:
        raise EvidenceProblem("bad-quarantine", err.message, hint=_HINT) from err
    for problem in _in_order(file):
        raise problem
    entries = tuple(as_entry(table) for table in file.root.get("entry", ()))
    return Quarantine(entries=entries, digest=sha256_of(data))


def quarantine_problems(data: bytes, *, name: str = QUARANTINE_FILE) -> tuple[EvidenceProblem, ...]:
    """Everything that is wrong with a file, in the order of its lines; empty for one that can be read."""
    try:
        return _in_order(read_toml(data, name))
    except UsageProblem as err:
        return (EvidenceProblem("bad-quarantine", err.message, hint=_HINT),)


_HINT = "truegreen quarantine check"
_Found = tuple[TomlPath, str]


def _in_order(file: TomlFile) -> tuple[EvidenceProblem, ...]:
    found = sorted(islice(_found(file), MOST_PROBLEMS), key=lambda one: file.lines.get(one[0], 0))
    return tuple(
        EvidenceProblem("bad-quarantine", f"{file.at(path)}: {sentence}", hint=_HINT)
        for path, sentence in found
    )


def _found(file: TomlFile) -> Iterator[_Found]:
    if "schema" not in file.root:
        yield (), f"the file has no schema, asked {FILE_SCHEMA_SHAPE.words()}"
        return
    refused = FILE_SCHEMA_SHAPE.wrong(file.root["schema"])
    if refused:
        yield ("schema",), f"schema is {written(file.root['schema'])}, {asked(refused)}"
        return
    for name in [name for name in file.root if name not in ("schema", "entry")]:
        yield (name,), f"{dotted((name,))} is no key of this file, which has schema and [[entry]]"
    entries = file.root.get("entry", [])
    if not isinstance(entries, list):
        yield ("entry",), f"entry is {written(entries)}, asked tables [[entry]]"
        return
    first: dict[tuple[Any, Any], int] = {}
    for index, table in enumerate(entries):
        path = ("entry", index)
        if not isinstance(table, dict):
            yield path, f"{dotted(path)} is {written(table)}, asked tables [[entry]]"
            continue
        wrong = [*entry_problems(path, table)]
        yield from wrong
        key = (table.get("lane"), table.get("id"))
        if not wrong and first.setdefault(key, index) != index:
            earlier = file.at(("entry", first[key], "id"))
            yield (
                (*path, "id"),
                f"{written(table['id'])} stands twice in lane {table['lane']}, first at {earlier}",
            )


def entry_problems(path: TomlPath, table: Mapping[str, Any]) -> Iterator[tuple[TomlPath, str]]:
    """What is wrong with one entry as ``tomllib`` gives it: where, below ``path``, and a sentence."""
    found = [*_key_problems(path, table)]
    yield from found or _order_problems(path, table)


def as_entry(table: Mapping[str, Any]) -> Entry:
    """The entry that a table without problems means.

    Raises: EvidenceProblem ``bad-time`` for an instant that UTC cannot write.
    """
    times = {name: instant_text(_point(table[name])) for name in ("since", "expires")}
    return Entry(**{**table, **times})


def _key_problems(path: TomlPath, table: Mapping[str, Any]) -> Iterator[_Found]:
    for name in [name for name in table if name not in ENTRY_KEYS]:
        from difflib import get_close_matches  # noqa: PLC0415 - nobody else in a gate compares texts

        nearest = get_close_matches(name[:64], ENTRY_KEYS, n=1)
        ending = f", the nearest is {nearest[0]}" if nearest else ""
        yield (*path, name), f"{dotted((*path, name))} is no key of an entry{ending}"
    for name, key in ENTRY_KEYS.items():
        if name in table:
            refused = key.shape.wrong(table[name])
            if refused:
                yield (*path, name), f"{dotted((*path, name))} is {written(table[name])}, {asked(refused)}"
        elif key.is_required:
            yield path, f"the entry has no {name}, asked {key.shape.words()}"


def _order_problems(path: TomlPath, table: Mapping[str, Any]) -> Iterator[_Found]:
    try:
        entry = as_entry(table)
    except EvidenceProblem as err:  # an instant that UTC cannot write
        yield (*path, "expires"), err.message
        return
    if entry.since >= entry.expires:
        yield (
            (*path, "expires"),
            f"the entry ends at {entry.expires}, asked later than its start {entry.since}",
        )


def _point(day_or_instant: dt.date) -> dt.datetime:
    if isinstance(day_or_instant, dt.datetime):
        return day_or_instant
    return dt.datetime.combine(day_or_instant, dt.time(), tzinfo=dt.UTC)
