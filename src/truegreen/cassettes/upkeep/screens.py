# SPDX-License-Identifier: Apache-2.0
"""Recordings on a terminal: a table, a page, a list of differences, sums and weeks.

What it decides: the lines. What it leaves: escapes for what a terminal would obey, to whoever prints; the values, to
``listing``, ``reading`` and ``run_log``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from truegreen.cassettes.upkeep.listing import Row, Sums
from truegreen.cassettes.upkeep.reading import ABSENT, Change
from truegreen.cassettes.upkeep.run_log import Log, missed_most, weeks

LONGEST: Final = 200
"""Most characters of one value in a list of differences."""
COLUMNS: Final = ("file", "template", "model", "answers", "tokens", "recorded")


def table(rows: Sequence[Row]) -> Iterator[str]:
    """One line a recording."""
    if not rows:
        yield "0 recordings"
        return
    cells = [COLUMNS, *map(_cells, rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(COLUMNS))]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    broken = sum(bool(row.problem) for row in rows)
    yield f"{len(rows)} recordings" + (f", {broken} cannot be read" if broken else "")


def page(name: str, shown: dict[str, Any]) -> Iterator[str]:
    """One recording: what to know first, the request, the answers."""
    yield name
    for key in ("key", "template", "model_asked", "ignored", "redactions"):
        yield f"  {key}: {_short(shown[key])}"
    yield "request"
    yield from _block(shown["request"])
    for number, answer in enumerate(shown["answers"], start=1):
        yield f"answer {number} of {len(shown['answers'])}"
        yield from _block(answer)


def changes(found: Sequence[Change]) -> Iterator[str]:
    """Each difference: its path, the old value, the new."""
    for change in found:
        yield change.at
        yield f"  - {_short(change.old)}"
        yield f"  + {_short(change.new)}"
    yield f"{len(found)} differences"


def numbers(sums: Sums) -> Iterator[str]:
    """A folder in numbers."""
    yield f"recordings  {sums.recordings}" + (
        f" ({sums.unreadable} more cannot be read)" if sums.unreadable else ""
    )
    yield f"answers     {sums.answers}"
    yield f"bytes       {sums.bytes}"
    yield f"tokens      {sums.tokens} reported"
    yield f"redactions  {sums.redactions}"
    yield f"recorded    {sums.oldest} to {sums.newest}" if sums.oldest else "recorded    never"
    for title, counted in (("template", sums.templates), ("model", sums.models)):
        for name, count in counted:
            yield f"{title:<11} {count:>5}  {name}"


def log_lines(log: Log) -> Iterator[str]:
    """Misses by week, the templates that missed most, what the last whole run did not play."""
    if not log.runs:
        yield "runs        0 in the log"
    for week in weeks(log.runs):
        asked = week.hits + week.misses
        rate = f"{float(week.miss_rate * 100):.1f} %" if week.miss_rate is not None else "-"
        told = "  more than one in ten: templates churn" if week.churns else ""
        yield f"{week.week}    {week.misses} of {asked} requests missed ({rate}) in {week.runs} runs{told}"
    for name, count in missed_most(log.runs):
        yield f"missed      {count:>5}  {name}"
    whole = next((run for run in reversed(log.runs) if run.complete), None)
    if whole is not None:
        yield f"unused      {len(whole.unused)} recordings in the last complete run, {whole.at}"
    if log.unreadable:
        yield f"unreadable  {log.unreadable} lines of the log: its numbers are not certain"


def _cells(row: Row) -> tuple[str, ...]:
    template = f"{row.template} {row.version}" if row.version else row.template
    if row.problem:
        return (row.file, f"cannot be read: {row.problem}", "", "", "", "")
    model = row.model_asked or "-"
    if row.model_served and row.model_served != row.model_asked:
        model = f"{model} ({row.model_served})"
    statuses = sorted({status for status in row.statuses if status not in range(200, 300)})
    answers = f"{row.answers}" + (f" ({', '.join(map(str, statuses))})" if statuses else "")
    tokens = "-" if row.tokens is None else str(row.tokens)
    return (row.file, template, model, answers, tokens, row.recorded_at or "-")


def _block(value: Any) -> Iterator[str]:
    """A value as indented JSON, a text of several lines line by line."""
    if not isinstance(value, dict):
        yield f"  {_short(value)}"
        return
    for name, item in value.items():
        if isinstance(item, str) and "\n" in item:
            yield f"  {name}:"
            yield from (f"    | {line}" for line in item.split("\n"))
        elif isinstance(item, dict | list) and item:
            yield f"  {name}:"
            text = json.dumps(item, indent=2, ensure_ascii=False)
            yield from (f"    {line}" for line in text.split("\n"))
        else:
            yield f"  {name}: {json.dumps(item, ensure_ascii=False)}"


def _short(value: Any) -> str:
    if value is ABSENT or value == ABSENT:
        return ABSENT
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
