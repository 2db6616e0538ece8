# SPDX-License-Identifier: Apache-2.0
"""Which entries of the quarantine count for one head at one time, and what they make the gate hold.

What it decides: the entries that excuse, and the causes and notes that the files themselves give. What it leaves:
which states an entry excuses and for which lanes, to the merge table; reading git, to the gate.

- Only entries of base excuse; what head adds counts once it is on base.
- An entry that head drops is dropped at once, and one that head shortens ends at the earlier time. A later end
  counts only from base.
- An entry counts from its ``since`` and no longer at its ``expires``: that instant is expired.
- An entry that has expired on base holds every head (``quarantine-expired``), except one that drops it. An entry
  that is expired in head's own file holds too: merged, it would hold everybody.
- A file that cannot be read, or that exceeds the policy's limits, holds; it is named as base's if base's is no
  better. A head whose own file is in order, or gone, mends what is wrong with base's and is not held for it.
- Seven days before its end an entry that counts draws a note; so does one that matches no case of base.

``head`` is the file of the tree that is judged: for ``tree = "merge"`` that of the merge, so that an entry which came
to base after head was branched off does not read as dropped.

Every function is pure: ``now`` is handed in, and a clock that steps back gives the answer of the earlier time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from truegreen.core.decision import Cause
from truegreen.core.errors import EvidenceProblem
from truegreen.core.instants import instant
from truegreen.core.outcome import Word
from truegreen.quarantine.entries import Entry, Quarantine, read_quarantine

WARNED_DAYS = 7
"""How long before its end an entry is announced, in days."""

CaseKey = tuple[str, str]
"""Lane and case id."""


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is there and cannot be read."""

    why: str
    """The reader's sentence."""


Reading = Quarantine | Unreadable | None
"""What became of one revision's file; None if the revision has none."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the policy allows."""

    max_quarantined: int
    """Most entries of one file."""
    max_quarantine_days: int
    """Longest time from ``since`` to ``expires``, in days."""


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """The quarantine as it counts now."""

    entries: Mapping[CaseKey, Entry]
    """Entries that excuse, each with the end that counts."""
    causes: tuple[Cause, ...]
    """What holds."""
    notes: tuple[Cause, ...]
    """What is said without weight."""

    def excused_until(self, lane: str, case: str) -> str | None:
        """The end of the entry that excuses exactly this case, or None."""
        entry = self.entries.get((lane, case))
        return entry.expires if entry else None


def reading(data: bytes | None) -> Reading:
    """What became of the file of one revision, given its bytes or None if there is no such file."""
    if data is None:
        return None
    try:
        return read_quarantine(data)
    except EvidenceProblem as problem:
        return Unreadable(why=problem.message)


def live(
    base: Reading, head: Reading, now: str, *, limits: Limits, base_ids: Mapping[str, AbstractSet[str]] | None
) -> Live:
    """The quarantine for one head; ``base_ids`` are base's case ids by lane, or None if base has no baseline.

    Raises: EvidenceProblem ``bad-time`` unless ``now`` is UTC RFC 3339 in whole seconds.
    """
    today = instant(now)
    causes = [*_file_causes(head, limits, "head")]
    if causes:  # else head mends whatever is wrong with base's file
        causes = [*_file_causes(base, limits, "base")] or causes
        return Live(entries={}, causes=tuple(causes), notes=())
    listed, kept = _by_case(base), _by_case(head)
    both = {key: _ending_first(entry, kept[key]) for key, entry in listed.items() if key in kept}
    counting = {key: entry for key, entry in both.items() if entry.since <= now < entry.expires}
    return Live(
        entries=counting,
        causes=tuple(_expired(listed, kept, now)),
        notes=(*_timely(both, today), *_unmatched(both, base_ids)),
    )


def _file_causes(read: Reading, limits: Limits, where: str) -> Iterator[Cause]:
    if isinstance(read, Unreadable):
        yield Cause(code="quarantine-unreadable", word=Word.HOLD, facts={"where": where, "problem": read.why})
    if not isinstance(read, Quarantine):
        return
    if len(read.entries) > limits.max_quarantined:
        facts: dict[str, str | int] = {
            "where": where,
            "entries": len(read.entries),
            "most": limits.max_quarantined,
        }
        yield Cause(code="quarantine-too-many", word=Word.HOLD, facts=facts)
    longest = dt.timedelta(days=limits.max_quarantine_days)
    for entry in read.entries:
        if instant(entry.expires) - instant(entry.since) > longest:
            facts = {"where": where, "since": entry.since, "expires": entry.expires}
            yield _cause("quarantine-too-long", entry, {**facts, "most_days": limits.max_quarantine_days})


def _expired(listed: Mapping[CaseKey, Entry], kept: Mapping[CaseKey, Entry], now: str) -> Iterator[Cause]:
    for key, entry in kept.items():
        ends = [one for one in (listed.get(key), entry) if one and one.expires <= now]
        if ends:
            where = "base" if ends[0] is listed.get(key) else "head"
            yield _cause("quarantine-expired", ends[0], {"where": where, "expires": ends[0].expires})


def _timely(both: Mapping[CaseKey, Entry], today: dt.datetime) -> Iterator[Cause]:
    for entry in both.values():
        left = instant(entry.expires) - today
        if instant(entry.since) > today:
            yield _cause("quarantine-not-yet", entry, {"since": entry.since}, word=None)
        elif dt.timedelta(0) < left <= dt.timedelta(days=WARNED_DAYS):
            yield _cause("quarantine-expiring", entry, {"expires": entry.expires}, word=None)


def _unmatched(
    both: Mapping[CaseKey, Entry], base_ids: Mapping[str, AbstractSet[str]] | None
) -> Iterator[Cause]:
    if base_ids is None:
        return
    for (lane, case), entry in both.items():
        if case not in base_ids.get(lane, frozenset()):
            yield _cause("quarantine-unmatched", entry, {}, word=None)


def _cause(code: str, entry: Entry, facts: dict[str, str | int], word: Word | None = Word.HOLD) -> Cause:
    about: dict[str, str | int] = {"id": entry.id, "owner": entry.owner, "ticket": entry.ticket}
    return Cause(code=code, word=word, lane=entry.lane, case=entry.id, facts={**about, **facts})


def _by_case(read: Reading) -> dict[CaseKey, Entry]:
    return {(entry.lane, entry.id): entry for entry in read.entries} if isinstance(read, Quarantine) else {}


def _ending_first(base: Entry, head: Entry) -> Entry:
    """Base's entry, ending when the first of the two ends."""
    return msgspec.structs.replace(base, expires=min(base.expires, head.expires))
