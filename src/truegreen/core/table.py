# SPDX-License-Identifier: Apache-2.0
"""Ordered decision tables: rows of data, the first that matches decides.

What it decides: whether a table has exactly one answer for every combination of facts, and which row that is.
What it leaves: what the answer means, to the rule that asks.

The file is TOML::

    schema = "truegreen/table/v1"
    [fields]                                  # field -> every value that it can have
    state = ["stable-pass", "never-passed"]
    excused = [true, false]
    [[row]]
    id = "passes"                             # kebab-case, once
    when = { state = "stable-pass" }          # field -> value or list of values; a field left out may have any
    then = { outcome = "holds" }              # texts
    why = "every sample passed"
    origin = "article"                        # or "ours"; article_row names the article's row

- Unknown keys, fields and values, second ids and empty texts are refused, each with its row.
- The last row has an empty ``when``: no combination is left without an answer.
- Every row is reached by some combination; the whole product of the fields is looked at, so its size is bounded.
- Facts are asked for whole: a field without a fact, or a fact that is no value of its field, is an error, never a
  row that happens to match.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, Literal

import msgspec

from truegreen.core.canonical import write_json
from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted
from truegreen.core.table_walk import MAX_COMBINATIONS, Value, combinations, unreachable

SCHEMA = "truegreen/table/v1"

MAX_BYTES = 256 * 1024
"""Length of a table file, in bytes."""

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_ROW_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*row[ \t]*\]\]", re.MULTILINE)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row: when it applies, what follows, and why."""

    id: str
    """Kebab-case name, once in its table, never reused."""

    when: dict[str, tuple[Value, ...]]
    """Field to the values with which the row applies; a field that is not here may have any value."""

    then: dict[str, str]
    """What follows."""

    why: str
    """The reason, for people."""

    origin: Literal["article", "ours"]
    """Whether the row is the published table's or was added here."""

    article_row: str = ""
    """Which row of the published table it is, where the row comes from one."""

    def applies(self, facts: dict[str, Value]) -> bool:
        """Whether every field that the row names has one of its values."""
        return all(facts[field] in values for field, values in self.when.items())


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A total table of reachable rows."""

    name: str
    """What messages call it."""

    fields: dict[str, tuple[Value, ...]]
    """Field to every value that it can have."""

    rows: tuple[Row, ...]
    """In order; the first that applies decides."""

    @property
    def content(self) -> dict[str, Any]:
        """The table as a JSON value in the shape of its file, to embed; ``table_of`` reads it back."""
        rows = [_row_content(row) for row in self.rows]
        return {
            "schema": SCHEMA,
            "fields": {name: list(values) for name, values in self.fields.items()},
            "row": rows,
        }

    @property
    def digest(self) -> Sha256:
        """Digest of the canonical form of the content: comments and layout of the file do not change it."""
        return sha256_of(write_json(self.content))

    def decide(self, **facts: Value) -> Row:
        """The first row that applies.

        Raises: UsageProblem ``table-unknown-value`` unless there is a value of its field for each field and no more.
        """
        for field in sorted(self.fields.keys() | facts.keys()):
            if field not in self.fields or facts.get(field) not in self.fields[field]:
                found = quoted(str(facts[field])) if field in facts else "nothing"
                raise _problem("table-unknown-value", self.name, "", f"the fact {quoted(field)} is {found}")
        return next(row for row in self.rows if row.applies(facts))


def load_table(data: bytes, *, name: str) -> Table:
    """The table that a TOML file holds; ``name`` is what messages call it.

    Raises: UsageProblem ``bad-table`` for a file that is no table, and the codes of ``table_of``.
    """
    if len(data) > MAX_BYTES:
        raise _problem("bad-table", name, "", f"{len(data)} bytes, more than the {MAX_BYTES} that are read")
    try:
        text = data.decode()
        content = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as err:
        raise _problem("bad-table", name, "", f"no TOML: {quoted(str(err), 200)}") from err
    lines = tuple(text.count("\n", 0, header.start()) + 1 for header in _ROW_HEADER.finditer(text))
    return table_of(content, name=name, lines=lines)


def table_of(content: Any, *, name: str, lines: tuple[int, ...] = ()) -> Table:
    """The table that a value in the shape of the file holds; ``lines`` are the line numbers of its rows.

    Raises: UsageProblem ``bad-table`` (shape), ``table-unknown-value``, ``table-duplicate-row``, ``table-not-total``,
    ``table-unreachable-row`` or ``table-too-large``.
    """
    _check_keys(content, {"schema", "fields", "row"}, set(), name, "")
    if content["schema"] != SCHEMA:
        raise _problem(
            "bad-table", name, "", f"schema is {quoted(str(content['schema']))}, asked is {quoted(SCHEMA)}"
        )
    fields = _fields(content["fields"], name)
    listed = content["row"]
    if not isinstance(listed, list) or not listed:
        raise _problem("bad-table", name, "", "it has no [[row]]")
    places = lines if len(lines) == len(listed) else (0,) * len(listed)
    rows = tuple(
        _row(row, fields, name, at)
        for row, at in zip(listed, map(_at, range(1, len(listed) + 1), places), strict=True)
    )
    table = Table(name=name, fields=fields, rows=rows)
    _check_rows(table)
    return table


def _fields(content: Any, name: str) -> dict[str, tuple[Value, ...]]:
    if not isinstance(content, dict) or not content:
        raise _problem("bad-table", name, "", "it has no [fields]")
    return {field: _values(values, name, f"field {quoted(field)}") for field, values in content.items()}


def _values(content: Any, name: str, at: str) -> tuple[Value, ...]:
    """A list of different texts, or of different booleans."""
    if not isinstance(content, list) or len({type(value) for value in content}) != 1:
        raise _problem("bad-table", name, at, "it is no list of texts or of booleans")
    if not isinstance(content[0], Value) or len(set(content)) != len(content) or "" in content:
        raise _problem(
            "bad-table",
            name,
            at,
            f"{quoted(str(content))} holds a value twice, an empty text or another type",
        )
    return tuple(content)


def _row(content: Any, fields: dict[str, tuple[Value, ...]], name: str, at: str) -> Row:
    _check_keys(content, {"id", "when", "then", "why", "origin"}, {"article_row"}, name, at)
    texts = {
        key: _text(value, name, f"{at}, {key}")
        for key, value in content.items()
        if key not in {"when", "then"}
    }
    if not _ID.match(texts["id"]):
        raise _problem("bad-table", name, at, f"the id {quoted(texts['id'])} is not kebab-case")
    at = f"{at} ({texts['id']})"
    if texts["origin"] not in {"article", "ours"}:
        raise _problem("bad-table", name, at, f"origin is {quoted(texts['origin'])}, not article or ours")
    when, then = (_mapping(content[key], name, f"{at}, {key}") for key in ("when", "then"))
    if not then:
        raise _problem("bad-table", name, at, "its then is empty")
    return Row(
        id=texts["id"],
        when={field: _when(field, values, fields, name, at) for field, values in when.items()},
        then={key: _text(value, name, f"{at}, then {quoted(key)}") for key, value in then.items()},
        why=texts["why"],
        origin="article" if texts["origin"] == "article" else "ours",
        article_row=texts.get("article_row", ""),
    )


def _when(
    field: str, content: Any, fields: dict[str, tuple[Value, ...]], name: str, at: str
) -> tuple[Value, ...]:
    at = f"{at}, when {quoted(field)}"
    values = _values(content if isinstance(content, list) else [content], name, at)
    if field not in fields:
        raise _problem("table-unknown-value", name, at, f"fields are {', '.join(fields)}")
    for value in values:
        if value not in fields[field]:
            raise _problem("table-unknown-value", name, at, f"it has no value {quoted(_shown(value))}")
    return values


def _mapping(content: Any, name: str, at: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _problem("bad-table", name, at, f"it is of type {type(content).__name__}, not a table")
    return content


def _text(content: Any, name: str, at: str) -> str:
    if not isinstance(content, str) or not content.strip():
        raise _problem(
            "bad-table", name, at, f"it is {quoted(str(content))}, not a text with something in it"
        )
    return content


def _check_keys(content: Any, required: set[str], optional: set[str], name: str, at: str) -> None:
    found = _mapping(content, name, at).keys()
    for key in sorted(required - found):
        raise _problem("bad-table", name, at, f"it has no {key}")
    for key in sorted(found - required - optional):
        raise _problem("bad-table", name, at, f"the key {quoted(key)} is unknown")


def _check_rows(table: Table) -> None:
    seen: set[str] = set()
    for row in table.rows:
        if row.id in seen:
            raise _problem("table-duplicate-row", table.name, f"row {row.id}", "its id stands twice")
        seen.add(row.id)
    if table.rows[-1].when:
        raise _problem(
            "table-not-total", table.name, f"row {table.rows[-1].id}", "the last row's when is not empty"
        )
    size = combinations(table.fields)
    if size > MAX_COMBINATIONS:
        raise _problem(
            "table-too-large", table.name, "", f"{size} combinations, at most {MAX_COMBINATIONS} are checked"
        )
    for place in unreachable(table.fields, [row.when for row in table.rows]):
        at = f"row {table.rows[place].id}"
        raise _problem("table-unreachable-row", table.name, at, "rows above it take every combination")


def _row_content(row: Row) -> dict[str, Any]:
    content: dict[str, Any] = {
        "id": row.id,
        "when": {field: list(values) for field, values in row.when.items()},
        "then": dict(row.then),
        "why": row.why,
        "origin": row.origin,
    }
    return content | ({"article_row": row.article_row} if row.article_row else {})


def _at(number: int, line: int) -> str:
    return f"row {number}, line {line}" if line else f"row {number}"


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else value


def _problem(code: str, name: str, at: str, fault: str) -> UsageProblem:
    return UsageProblem(code, f"table {name}{', ' if at else ''}{at}: {fault}", hint=f"truegreen why {code}")
