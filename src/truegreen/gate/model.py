# SPDX-License-Identifier: Apache-2.0
"""Values that the gate's steps hand to one another.

- A ``Finding`` is what a check says against one record; a ``Candidate`` is a record that could be read.
- A ``Kind`` is a row of the table of record kinds: everything the flow must know of a kind stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from truegreen.core.decision import Cause, LaneRow
from truegreen.core.digest import Sha256
from truegreen.core.outcome import Word
from truegreen.core.policy import Lane
from truegreen.core.record import Envelope
from truegreen.gate.ground import Ground

Standing = Literal["blocked", "refused", "stale", "note"]
AttemptRule = Literal["pool", "exact", "carry-over"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Why a record does not count."""

    code: str
    """Reason code."""
    standing: Standing
    """``blocked``: contradictory, foreign or forged; ``refused``: the reader refuses the bytes, which holds
    even beside a full set; ``stale``: satisfies nothing, a note beside a full set; ``note``: no weight."""
    facts: Mapping[str, str | int] = msgspec.field(default_factory=dict)
    """Values for the catalogue's sentence."""

    @property
    def word(self) -> Word | None:
        """The word that this finding says on its own."""
        return {"blocked": Word.BLOCK, "refused": Word.HOLD, "stale": Word.HOLD, "note": None}[self.standing]


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What a record's body says about the inputs that it was made from."""

    policy: Sha256
    """Digest of the policy file."""
    ruler: Sha256
    """Ruler digest."""
    subject: Sha256
    """Subject digest."""
    ruler_components: Mapping[str, str]
    """Components of the ruler digest."""
    subject_components: Mapping[str, str]
    """Components of the subject digest."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One record that could be read, with its lane and kind."""

    container: str
    """Artifact, zip or folder."""
    name: str
    """File name."""
    digest: Sha256
    """Digest of the bytes received."""
    envelope: Envelope
    """The envelope."""
    body: Any
    """The kind's typed body."""
    lane: Lane
    """The lane by base's policy."""
    kind: Kind
    """The kind's row."""

    @property
    def identity(self) -> tuple[int, int, str, str]:
        """(run_id, run_attempt, lane, part)."""
        subject = self.envelope.subject
        return (subject.run_id, subject.run_attempt, self.envelope.lane, self.envelope.part)

    @property
    def claims(self) -> Claims:
        """What the body claims."""
        return self.kind.claims(self.body)


class LaneEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted records that speak for one lane."""

    lane: Lane
    """The lane."""
    newest: tuple[Candidate, ...]
    """The newest accepted record of each part that has one."""
    older: tuple[Candidate, ...]
    """Accepted records of older started attempts."""
    j: int
    """Which fresh sequence of the pull request this is, counted from 1, with spent ones."""
    is_complete: bool
    """Whether every member of the expected set is accounted for."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A lane's row with the causes and notes that its own records give."""

    row: LaneRow
    """The row."""
    causes: tuple[Cause, ...]
    """Holds and blocks."""
    notes: tuple[Cause, ...]
    """Disclosures."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One record kind."""

    name: str
    """Its name in policy and schema."""
    writer: str
    """The verb that writes it."""
    model_backed: bool
    """Whether a model's judgement decides it: never required then."""
    attempt: AttemptRule
    """How attempts of one run are read."""
    parts: tuple[str, ...]
    """Names of its parts."""
    decode: Callable[[dict[str, Any]], Any]
    """Schema-checked, typed body; raises EvidenceProblem."""
    claims: Callable[[Any], Claims]
    """What the body claims of its inputs."""
    check: Callable[[Candidate, Ground], Iterator[Finding]]
    """The kind's own arithmetic: contradictions inside one record."""
    judge: Callable[[LaneEvidence, Ground], Judged]
    """The lane's outcome."""
    links: Callable[[Any], tuple[Link, ...]]
    """Earlier attempts that a pooling record names; empty for other kinds."""
    own_samples: Callable[[Any], Any]
    """What a later record must embed of this one, comparable by equality."""
    table: Mapping[str, Any] | None = None
    """Content of the decision table that the kind judges by, for the decision to embed."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One earlier attempt as a pooling record names it."""

    run_id: int
    """Run."""
    run_attempt: int
    """Attempt."""
    head_sha: str
    """Head that it was about."""
    standing: str
    """``samples``, ``left-none`` or ``other-key``."""
    digest: Sha256 | None
    """Digest of its record."""
    samples: Any
    """What it embeds, comparable with ``Kind.own_samples``."""
