# SPDX-License-Identifier: Apache-2.0
"""One quarantine file at one time: how each entry stands, for ``quarantine check``.

What it decides: the standing of each entry and whether the file would hold a merge. What it leaves: the rules, to
``live``, which is asked as if base and head both held this file; printing, to the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from truegreen.core.instants import instant
from truegreen.quarantine.entries import Entry, Quarantine
from truegreen.quarantine.live import Limits, live

WORDS = {
    "quarantine-expired": "expired",
    "quarantine-too-long": "too long",
    "quarantine-expiring": "ends soon",
    "quarantine-unmatched": "no case",
    "quarantine-not-yet": "not yet",
}
"""Code to the standing that it gives its entry, the weightiest first."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One entry and how it stands."""

    entry: Entry
    """The entry."""
    standing: str
    """``live`` or one of ``WORDS``."""
    days_left: int
    """Whole days until it ends; negative once it has."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """A whole file."""

    rows: tuple[Row, ...]
    """Entries, the one that ends first first."""
    too_many: bool
    """Whether there are more than the policy allows."""
    holds: bool
    """Whether a merge would be held for this file."""


def overview(
    quarantine: Quarantine,
    limits: Limits,
    now: str,
    case_ids: Mapping[str, AbstractSet[str]] | None = None,
) -> Overview:
    """How each entry stands at ``now``; ``case_ids`` are the agreed ids by lane, or None where nothing is agreed on.

    Raises: EvidenceProblem ``bad-time``.
    """
    found = live(quarantine, quarantine, now, limits=limits, base_ids=None)
    boundless = Limits(max_quarantined=len(quarantine.entries), max_quarantine_days=10**6)
    each = live(quarantine, quarantine, now, limits=boundless, base_ids=case_ids)
    said = [(cause.code, (cause.lane, cause.case)) for cause in (*found.causes, *each.causes, *each.notes)]
    rows = [
        _row(entry, {code for code, key in said if key == (entry.lane, entry.id)}, now)
        for entry in quarantine.entries
    ]
    return Overview(
        rows=tuple(sorted(rows, key=lambda row: (row.entry.expires, row.entry.lane, row.entry.id))),
        too_many=len(quarantine.entries) > limits.max_quarantined,
        holds=bool(found.causes),
    )


def _row(entry: Entry, codes: set[str], now: str) -> Row:
    standing = next((word for code, word in WORDS.items() if code in codes), "live")
    return Row(entry=entry, standing=standing, days_left=(instant(entry.expires) - instant(now)).days)
