# SPDX-License-Identifier: Apache-2.0
"""One line of a call log: one attempt at the endpoint, from leave to end.

What it decides: the line's form, and which texts are such lines. What it leaves: files, to whoever writes and reads
them; the numbers, to ``limiter.measure``; retries, to ``limiter.budget``.

- A line is a JSON object whose first value, ``said``, is for people and for shell tools::

      {"said":"model_call_ok model_wait_seconds=0.412 status=200","schema":"truegreen/call/v1",…}

  so that ``grep -c model_call_ok`` counts answered calls, ``grep -c status=429`` the calls that were turned away, and
  ``awk -F= '{s+=$2}'`` over the lines with ``model_wait_seconds`` adds the seconds waited: the first ``=`` of a line
  stands before that number.
- A line is read wherever it stands: a CI log may put job, step and time before it. A line without our JSON but with
  one of the three words is read for what it says, with the first UTC time that stands in it.
- A line that was cut by a kill is no line. Nothing of a request or an answer but its size and digest is kept.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from truegreen.core.errors import EvidenceProblem
from truegreen.core.instants import instant

SCHEMA: Final = "truegreen/call/v1"
MOST_BYTES: Final = 4096
"""Length of the longest line: one write of this size to a file opened for appending is not mixed with others."""
LONGEST_NAME: Final = 200
"""Characters of a name that callers choose that are kept."""
LONGEST_CODE: Final = 80
"""Characters of every other text that are kept."""

_NAMES: Final = ("run", "job", "resource", "call")

_BEGIN: Final = '{"said":"'
_WAITED: Final = re.compile(r"\bmodel_wait_seconds=([0-9]{1,9}(?:\.[0-9]{1,9})?)")
_STATUS: Final = re.compile(r"\bstatus=([0-9]{3})\b")
_AT: Final = re.compile(
    r"\b([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6})[0-9]*)?Z"
)
_OK: Final = re.compile(r"\bmodel_call_ok\b")


class CallEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt."""

    ended_us: int | None = None
    """When it ended, in microseconds since 1970 UTC; None where a foreign line told no time."""
    took_s: float = 0.0
    """Seconds from leave to end."""
    waited_s: float = 0.0
    """Seconds from asking for leave to leave."""
    run: str = ""
    """Pipeline run whose attempts are counted together; empty for none."""
    job: str = ""
    """Who called: job, process."""
    resource: str = "default"
    """What was called."""
    call: str = ""
    """Id of the call that this attempt belongs to."""
    attempt: int = 1
    """Number of the attempt within its call, from 1."""
    status: int | None = None
    """Status that came; None if none did."""
    end: str = ""
    """How the exchange ended, a value of ``core.exchange.End``."""
    is_ok: bool = False
    """Whether the endpoint answered whole and without an error."""
    wants_again: bool = False
    """Whether the attempt is repeated unless the run's retry budget is spent."""
    reason: str = ""
    """Kebab-case reason of the ruling on it."""
    layer: str = ""
    """Another retry layer that this attempt shows; empty for none."""
    request: str = ""
    """``sha256:`` of the request's body; empty where nobody took it."""

    @property
    def is_attempt(self) -> bool:
        """Whether it tells of an attempt, and not only of a wait."""
        return self.status is not None or bool(self.end)


class _Line(CallEntry, frozen=True, kw_only=True, omit_defaults=True):
    said: str
    schema: str


def said(entry: CallEntry) -> str:
    """The words for shell tools: ``model_call_ok`` if it is, then ``model_wait_seconds=`` and ``status=``."""
    words = ["model_call_ok"] if entry.is_ok else []
    words.append(f"model_wait_seconds={_decimal(entry.waited_s)}")
    return " ".join([*words, f"status={'none' if entry.status is None else entry.status}"])


def line_of(entry: CallEntry, *, run: str | None = None) -> bytes:
    """The entry as one line with its line feed, under another run if one is given.

    Texts are cut, and names are left out where the line would be too long.
    """
    told = msgspec.structs.asdict(entry) | ({} if run is None else {"run": run})
    kept = {
        name: value[: _longest(name)] if isinstance(value, str) else value for name, value in told.items()
    }
    line = _encoded(kept)
    if len(line) > MOST_BYTES:
        line = _encoded({**kept, "job": "", "resource": "", "call": ""})
    return line


def entry_of(line: str) -> CallEntry | None:
    """The attempt that a line tells of, or None if it tells of none."""
    begin = line.find(_BEGIN)
    if begin >= 0:
        return _ours(line[begin:].rstrip())
    waited, status, is_ok = _WAITED.search(line), _STATUS.search(line), _OK.search(line)
    if not (waited or status or is_ok):
        return None
    return CallEntry(
        ended_us=_time_in(line),
        waited_s=float(waited[1]) if waited else 0.0,
        status=int(status[1]) if status else (200 if is_ok else None),
        is_ok=bool(is_ok),
    )


def entries_of(text: str) -> Iterator[CallEntry]:
    """Every attempt of a log, in the order of its lines."""
    for line in text.split("\n"):
        entry = entry_of(line)
        if entry is not None:
            yield entry


def microseconds(point: dt.datetime) -> int:
    """A point that has a zone, as ``ended_us`` counts."""
    return (point - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def _encoded(values: dict[str, object]) -> bytes:
    entry = msgspec.convert(values, CallEntry)
    line = _Line(said=said(entry), schema=SCHEMA, **values)  # type: ignore[arg-type]  # the fields of CallEntry
    names = [field.name for field in msgspec.structs.fields(_Line)]
    ordered = msgspec.to_builtins(line)
    first = {name: ordered[name] for name in ("said", "schema")}
    rest = {name: ordered[name] for name in names if name in ordered and name not in first}
    return msgspec.json.encode({**first, **rest}) + b"\n"


def _ours(text: str) -> CallEntry | None:
    try:
        line = msgspec.json.decode(text.encode("utf-8", "surrogateescape"), type=_Line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if line.schema != SCHEMA or line.attempt < 1 or min(line.took_s, line.waited_s) < 0:
        return None
    values = {name: getattr(line, name) for name in CallEntry.__struct_fields__}
    return CallEntry(**values)


def _time_in(line: str) -> int | None:
    found = _AT.search(line)
    if found is None:
        return None
    try:
        second = instant(f"{found[1]}Z")
    except EvidenceProblem:  # 30 February
        return None
    return microseconds(second) + int((found[2] or "").ljust(6, "0"))


def _longest(name: str) -> int:
    return LONGEST_NAME if name in _NAMES else LONGEST_CODE


def _decimal(seconds: float) -> str:
    return f"{max(seconds, 0.0):.3f}"
