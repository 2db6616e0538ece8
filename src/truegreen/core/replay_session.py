# SPDX-License-Identifier: Apache-2.0
"""What one replay came to: hits, misses, what was not played, and whether that is the whole run.

What it decides: the file that a replay leaves (``truegreen/replay-session/v1``), how several are read as one, and
which guard is stronger. What it leaves: playing, to ``proxy``; guarding, to whoever starts the command; what the
account is worth, to the gate.

- Whoever replays writes one file a process or worker; ``joined`` reads them as one run.
- A recording is unused only if no part of a whole run played it; after a part of a run nothing is.
- Joined, the weakest guard counts, and one part that did not end makes the whole incomplete.
- A missed request stands here as it would be stored, or not at all: no secret enters this file.
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

from collections.abc import Iterable

import msgspec

from truegreen.core.canonical import read_json, write_json
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem
from truegreen.core.instants import instant
from truegreen.core.schema import validate

SCHEMA = "truegreen/replay-session/v1"
GUARDS = ("none", "audit", "preload", "landlock", "namespace")
"""What kept the command from other sockets, from weakest to strongest: nothing, the audit hook inside Python alone,
then the audit hook with a preloaded library, with Landlock, with a network namespace."""


class Played(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One recording that answered."""

    file: str
    """Its file, from the folder of the recordings, with ``/``."""
    key: Sha256
    """Key of the request that it answered."""
    count: int
    """How often it answered."""


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One header line."""

    name: str
    """Its name as it was sent."""
    value: str
    """Its value."""


class AskedAgain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request as a recording of it would store it."""

    method: str
    """HTTP method."""
    path: str
    """Path below the upstream's host, escapes kept."""
    query: str
    """Query without ``?``, escapes kept."""
    headers: tuple[Header, ...]
    """The headers that a recording keeps, in their order."""
    body_base64: str
    """The body in Base64."""


class Missed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request without a recording."""

    code: str
    """Kebab-case: ``cassette-missing``, ``cassette-exhausted``, …."""
    key: Sha256 | None
    """Key of what was asked; null for a request that cannot be read, so that it has none."""
    count: int
    """How often it was asked in vain."""
    template: str | None = None
    """Template id, where the request names one."""
    nearest: str | None = None
    """File of the nearest recording."""
    differs_at: str | None = None
    """First JSON path that differs from it."""
    asked: AskedAgain | None = None
    """The request, for somebody who may record it; null where it cannot be stored as it was sent."""


class ReplaySession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One replay, or the part of it that one process saw."""

    schema: str
    """``truegreen/replay-session/v1``."""
    cassettes: str
    """Folder of the recordings, from the root of the repository, with ``/``."""
    guard: str
    """One of ``GUARDS``."""
    started_at: str
    """UTC RFC 3339."""
    ended_at: str
    """UTC RFC 3339."""
    command_exit: int | None
    """Exit code of what was run; null if it did not end by itself."""
    complete: bool
    """Whether everything ran: to its end, nothing selected, deselected or interrupted."""
    incomplete_because: str
    """Why it is not complete, in words; empty otherwise."""
    hits: tuple[Played, ...]
    """Recordings that answered, by file."""
    misses: tuple[Missed, ...]
    """Requests without a recording, by key."""
    unused: tuple[str, ...]
    """Files of recordings that nothing played, sorted."""
    upstream_calls: int
    """Requests that left for an upstream: 0, or this was no replay."""
    guard_stops: int
    """Connections past the door that the guard stopped."""
    before: str | None
    """``h1:`` of the folder's files when the replay began; null for an empty folder."""
    after: str | None
    """The same when it had ended."""
    commit: str = ""
    """Commit that was checked out when the replay began; empty where there was none."""


def write_session(session: ReplaySession) -> bytes:
    """Canonical bytes."""
    return write_json(msgspec.to_builtins(session))


def read_session(data: bytes) -> ReplaySession:
    """The session in a file.

    Raises: EvidenceProblem ``schema-refused``, besides what the strict reader raises.
    """
    value = read_json(data)
    validate("replay-session.v1", value)
    return msgspec.convert(value, ReplaySession, strict=True)


def joined(sessions: Iterable[ReplaySession]) -> ReplaySession:
    """Several parts of one run as one session.

    Raises: EvidenceProblem ``no-session`` for none, ``sessions-differ`` if they are about different recordings.
    """
    parts = tuple(sessions)
    if not parts:
        raise EvidenceProblem("no-session", "0 sessions of a replay were given, at least 1 is asked")
    for name in ("cassettes", "before", "commit"):
        found = {getattr(part, name) for part in parts}
        if len(found) > 1:
            one, other = sorted(map(str, found))[:2]
            raise EvidenceProblem(
                "sessions-differ", f"the sessions name {len(found)} values of {name}: {one!r} and {other!r}"
            )
    exits = [part.command_exit for part in parts]
    return ReplaySession(
        schema=SCHEMA,
        cassettes=parts[0].cassettes,
        guard=weakest(part.guard for part in parts),
        started_at=min((part.started_at for part in parts), key=instant),
        ended_at=max((part.ended_at for part in parts), key=instant),
        command_exit=None if None in exits else next((one for one in exits if one), 0),
        complete=all(part.complete for part in parts),
        incomplete_because=next((part.incomplete_because for part in parts if not part.complete), ""),
        hits=_hits(parts),
        misses=_misses(parts),
        unused=tuple(sorted(set.intersection(*(set(part.unused) for part in parts)))),
        upstream_calls=sum(part.upstream_calls for part in parts),
        guard_stops=sum(part.guard_stops for part in parts),
        before=parts[0].before,
        commit=parts[0].commit,
        after=next((part.after for part in parts if part.after != part.before), parts[0].after),
    )


def refuse_doubled(sessions: Iterable[ReplaySession]) -> None:
    """A part that is given twice stands in for one that is not there, and plays its recordings twice.

    Raises: EvidenceProblem ``session-twice`` for two equal accounts in which something was asked.
    """
    parts = [part for part in sessions if part.hits or part.misses]
    for place, part in enumerate(parts):
        if part in parts[:place]:
            raise EvidenceProblem(
                "session-twice",
                f"the account of one replay from {part.started_at} to {part.ended_at} was given 2 times, 1 is asked",
                hint="name the session file of every part once",
            )


def weakest(guards: Iterable[str]) -> str:
    """The weakest of these guards; ``none`` if there are none."""
    return min(guards, key=GUARDS.index, default=GUARDS[0])


def is_weaker(guard: str, demanded: str) -> bool:
    """Whether a guard is less than what is demanded."""
    return GUARDS.index(guard) < GUARDS.index(demanded)


def _hits(parts: tuple[ReplaySession, ...]) -> tuple[Played, ...]:
    counts: dict[tuple[str, Sha256], int] = {}
    for hit in (hit for part in parts for hit in part.hits):
        counts[hit.file, hit.key] = counts.get((hit.file, hit.key), 0) + hit.count
    return tuple(Played(file=file, key=key, count=count) for (file, key), count in sorted(counts.items()))


def _misses(parts: tuple[ReplaySession, ...]) -> tuple[Missed, ...]:
    found: dict[tuple[str, str], Missed] = {}
    for miss in (miss for part in parts for miss in part.misses):
        place = (miss.key or "", miss.code)
        known = found.get(place)
        more = known.count if known else 0
        found[place] = msgspec.structs.replace(known or miss, count=more + miss.count)
    return tuple(found[key] for key in sorted(found))
