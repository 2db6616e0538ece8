# SPDX-License-Identifier: Apache-2.0
"""The decision: one word, its causes, each lane's row, and everything that it was made from.

What it decides: the shape and the order in which causes are told. What it leaves: making it, to the gate;
wording the line and every rendering, to ``report``.

- The heaviest word decides; within a word the first cause in the gate's order leads.
- A note never changes the word.
- The record embeds policy, tables, quarantine and ``now``, so that the same bytes can be made again.
"""

from __future__ import annotations

from typing import Any

import msgspec

from truegreen.core.digest import Sha256
from truegreen.core.outcome import Outcome, Word

SCHEMA = "truegreen/decision/v1"


class Cause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One reason, with the facts that its words need."""

    code: str
    """Reason code: an entry of the reason catalogue."""
    word: Word | None
    """``hold`` or ``block``; null for a note."""
    lane: str | None = None
    """The lane that it belongs to."""
    case: str | None = None
    """The case that it belongs to."""
    facts: dict[str, str | int] = {}
    """Values that the catalogue's sentence names; untrusted text, bounded."""


class CaseRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One case as the gate counted it."""

    id: str
    """Case id."""
    passed: int
    """Samples that passed, pooled over attempts."""
    asked: int
    """Samples that count, pooled."""
    state: str
    """The recomputed state."""
    why: str
    """Its cause code."""
    then: str
    """What the merge table says: ``merge``, ``hold`` or ``block``."""
    row: str
    """Id of the table row that decided."""
    bound_low: float | None = None
    """Lower bound of the pass rate, rounded outward."""
    bound_high: float | None = None
    """Upper bound of the pass rate, rounded outward."""
    proves: str = ""
    """What the bound proves, in words."""
    owner: str | None = None
    """Who answers for it."""
    blast_radius: str = "normal"
    """``low``, ``normal`` or ``high``."""
    excused_until: str | None = None
    """Expiry of the quarantine entry that excuses it."""
    detail: str = ""
    """Expected and got of the first failing sample; untrusted text, bounded."""
    buckets: dict[str, int] = {}
    """Samples by bucket, pooled, with ``missing``."""


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One member of the expected set and what came of it."""

    lane: str
    """Lane."""
    part: str
    """Part."""
    run_id: int
    """Run."""
    run_attempt: int
    """Attempt."""
    standing: str
    """``present``, ``missing``, ``superseded``, ``left-none``, ``lost`` or ``carried``."""
    digest: Sha256 | None = None
    """Digest of the record that fills it."""


class LaneRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One lane's outcome."""

    lane: str
    """Its name."""
    kind: str
    """Its record kind."""
    role: str
    """Its role."""
    seal: str
    """What is asked of who wrote its records: ``unsigned``, nothing."""
    outcome: Outcome
    """What the evidence says."""
    code: str
    """Leading reason code; ``holds`` when nothing speaks against it."""
    owner: str | None = None
    """Who is asked."""
    cases: tuple[CaseRow, ...] = ()
    """Its cases, worst first."""
    members: tuple[Member, ...] = ()
    """Its expected set."""
    calls: int = 0
    """Calls to the endpoint, pooled."""
    wall_ms: int = 0
    """Wall clock of sampling, pooled, milliseconds."""
    tokens: int = 0
    """Tokens reported by the endpoint, pooled."""
    endpoint: str = ""
    """Host that answered."""
    models_served: tuple[str, ...] = ()
    """Models that answered."""
    replayed: int = 0
    """Recordings that answered in place of an endpoint; more than 0 says that nothing was sampled."""
    guard: str = ""
    """What kept a replay from other sockets; empty for a lane that was sampled."""


class About(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gate's own subject: what evidence had to be about."""

    repo: str
    """``owner/name``, or ``local``."""
    head_repo: str
    """Repository of the head."""
    pull_request: int | None
    """Its number."""
    event: str
    """Event."""
    head_sha: str
    """Head commit."""
    head_tree: str
    """Its tree."""
    base_ref: str
    """Base branch."""
    base_tip: str
    """Its fetched tip."""
    default_branch: str
    """The repository's default branch."""
    run_id: int
    """Run in which the gate ran."""
    run_attempt: int
    """Its attempt."""
    workflow: str
    """Path of its workflow file; empty for a working copy."""
    local: bool
    """Whether this is a working copy, which never counts in CI."""


class SeenFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One evidence file and what verify made of it."""

    container: str
    """Artifact, zip or folder that held it."""
    name: str
    """Its name there."""
    digest: Sha256
    """Digest of its bytes."""
    standing: str
    """``accepted``, ``stale``, ``note``, ``refused`` or ``blocked``."""
    code: str = ""
    """Why, for anything but accepted."""


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One decision, whole."""

    schema: str
    """``truegreen/decision/v1``."""
    word: Word
    """The decision."""
    exit_code: int
    """Exit code: 0 in observe whatever the word."""
    mode: str
    """Effective mode: the stricter of base's and the default branch's."""
    line: str
    """The one line: decision, cause, action; at most 140 characters."""
    code: str
    """Leading reason code; ``all-lanes-hold`` for admit."""
    only_lane: str | None
    """The lane, when only one was asked for: HOLDS, FAILS or UNKNOWN instead of a decision."""
    topology: str
    """What could be proved about who can edit the gate."""
    about: About
    """What was decided on."""
    causes: tuple[Cause, ...]
    """Every hold and block, heaviest first."""
    notes: tuple[Cause, ...]
    """What was disclosed without weight."""
    lanes: tuple[LaneRow, ...]
    """Each lane."""
    files: tuple[SeenFile, ...]
    """Every evidence file."""
    embedded: dict[str, Any]
    """Texts and digests that it was made from: policy, default_policy, tables, quarantine, baseline,
    removed, run_index, versions."""
    now: str
    """The clock, read once."""
