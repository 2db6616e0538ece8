# SPDX-License-Identifier: Apache-2.0
"""One part of one lane, with its expected attempts and the records that came.

What it decides: which record belongs to which attempt. What it leaves: what that means, to the checks.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from truegreen.core.decision import Cause, Member
from truegreen.core.index import LOST
from truegreen.core.outcome import Word
from truegreen.core.policy import Lane
from truegreen.gate.expected import Expected, Started
from truegreen.gate.model import Candidate, Finding, Kind, Link


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The part, its members and its records."""

    lane: Lane
    """The lane."""
    kind: Kind
    """Its kind."""
    part: str
    """The part."""
    expected: Expected
    """Its expected set."""
    accepted: tuple[Candidate, ...]
    """Accepted records of this part."""
    readable: tuple[Candidate, ...]
    """Readable records of this part, accepted or not."""
    findings: Mapping[tuple[str, str], Finding]
    """(container, file) to the finding against it."""

    def hold(self, code: str, **facts: str | int) -> Cause:
        """A hold about this part."""
        return Cause(code=code, word=Word.HOLD, lane=self.lane.name, facts={**facts, "part": self.part})

    def block(self, code: str, **facts: str | int) -> Cause:
        """A block about this part."""
        return Cause(code=code, word=Word.BLOCK, lane=self.lane.name, facts={**facts, "part": self.part})

    @property
    def newest(self) -> Started | None:
        """The newest started attempt: the lane's current one."""
        return self.expected.started[-1] if self.expected.started else None

    @property
    def older(self) -> tuple[Started, ...]:
        """Earlier started attempts, oldest first."""
        return self.expected.started[:-1]

    def record_of(self, one: Started) -> Candidate | None:
        """The accepted record of an attempt."""
        return _of(self.accepted, one)

    def readable_of(self, one: Started) -> Candidate | None:
        """The record of an attempt, accepted or not."""
        return _of(self.readable, one)

    def finding_of(self, one: Started) -> Finding | None:
        """Why the record of an attempt does not count; None if it counts or is not there."""
        found = self.readable_of(one)
        return self.findings.get((found.container, found.name)) if found else None

    @property
    def newest_record(self) -> Candidate | None:
        """The accepted record of the newest attempt that has one."""
        for one in reversed(self.expected.started):
            if (found := self.record_of(one)) is not None:
                return found
        return None

    @property
    def older_records(self) -> tuple[Candidate, ...]:
        """Accepted records of started attempts, without the newest that there is."""
        newest = self.newest_record
        found = (self.record_of(one) for one in self.expected.started)
        return tuple(c for c in found if c is not None and c is not newest)

    @property
    def links(self) -> tuple[Link, ...]:
        """Earlier attempts that the newest attempt's own record names."""
        record = self.record_of(self.newest) if self.newest else None
        return self.kind.links(record.body) if record else ()

    def link_of(self, one: Started) -> Link | None:
        """How the newest record names an attempt."""
        asked = (one.run.run_id, one.attempt.attempt)
        return next((link for link in self.links if (link.run_id, link.run_attempt) == asked), None)

    def is_passed_over(self, older: Candidate) -> bool:
        """Whether the newest record says nothing of an older one that judged the same with the same ruler."""
        newest = self.newest_record
        if newest is None or any(
            (link.run_id, link.run_attempt) == older.identity[:2] for link in self.links
        ):
            return False
        return (older.claims.ruler, older.claims.subject) == (newest.claims.ruler, newest.claims.subject)

    @property
    def left_none_count(self) -> int:
        """Earlier members that the newest record of a pooling lane says left nothing: each spends one sequence."""
        links = (self.link_of(one) for one in self.older)
        return sum(1 for link in links if link is not None and link.standing == "left-none")

    def is_lost(self, one: Started) -> bool:
        """Whether the runner took the attempt away before it left anything, by a complete artifact list."""
        return (
            (one.job.conclusion or "") in LOST
            and one.attempt.artifacts_complete
            and not one.has_artifact(self.lane.name, self.part)
            and self.readable_of(one) is None
        )

    @property
    def lost(self) -> tuple[Started, ...]:
        """Older attempts of an exact or carry-over lane that were lost to the runner."""
        if self.kind.attempt == "pool":
            return ()
        return tuple(one for one in self.older if self.is_lost(one))

    def members(self) -> tuple[Member, ...]:
        """Each started attempt with what came of it."""
        return tuple(self._member(one) for one in self.expected.started)

    def _member(self, one: Started) -> Member:
        record = self.record_of(one)
        link = self.link_of(one)
        if one is not self.newest and self.kind.attempt == "pool" and link is not None:
            standing = {"samples": "carried", "left-none": "left-none", "other-key": "superseded"}[
                link.standing
            ]
        elif record is not None:
            standing = "present"
        elif one is not self.newest and self.is_lost(one) and self.kind.attempt != "pool":
            standing = "lost"
        else:
            standing = "missing"
        digest = record.digest if record else (link.digest if link else None)
        return Member(
            lane=self.lane.name,
            part=self.part,
            run_id=one.run.run_id,
            run_attempt=one.attempt.attempt,
            standing=standing,
            digest=digest,
        )


def _of(candidates: tuple[Candidate, ...], one: Started) -> Candidate | None:
    asked = (one.run.run_id, one.attempt.attempt)
    return next((c for c in candidates if c.identity[:2] == asked), None)
