# SPDX-License-Identifier: Apache-2.0
"""The body of a ``sample-ledger`` record: every sample that was planned, in its bucket.

What it decides: the wire shape. What it leaves: tallies and states, to ``states`` (the gate recomputes them
from the samples and refuses a ledger that claims otherwise); writing, to the engine.

- Numbers of one case run 1, 2, 3 … through the whole sequence: a later attempt with the same key goes on
  where the earlier one stopped, and its chain holds the earlier attempts' samples.
- Every planned sample is here; one that was planned and never ended is ``invalid`` with reason ``missing``.
- What is claimed of a state is for people; the gate computes its own.
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

import msgspec

from truegreen.core.digest import Sha256

SCHEMA = "truegreen/sample-ledger/v1"
BUCKETS = ("pass", "fail", "invalid", "transport", "claimed-transport")
ENDED = ("measured", "interrupted", "cap-calls", "cap-minutes", "no-redraws-left")
STANDINGS = ("samples", "left-none", "other-key")


class Sample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One run of one case."""

    n: int
    """Its number in the case's sequence, counted from 1, given before it started."""
    bucket: str
    """One of ``BUCKETS``."""
    reason: str = ""
    """Kebab-case reason code for anything but a plain pass."""
    detail: str = ""
    """Expected and got, in at most 500 characters; redacted."""
    duration_ms: int = 0
    """Wall clock of the sample, milliseconds."""
    calls: int = 0
    """Exchanges with the endpoint that the observer attributes to this sample."""
    request_ids: tuple[str, ...] = ()
    """The endpoint's own ids of those exchanges."""
    cached_tokens: int = 0
    """Prompt tokens that the provider's prefix cache served; more than 0 makes the sample warm."""
    marks: tuple[str, ...] = ()
    """Marks of a response cache that the observer saw; any of them disqualifies the sample."""
    output_sha256: Sha256 | None = None
    """Digest of the judged output, if there was one."""
    replaces: int = 0
    """How many transport losses were redrawn under this number before this outcome."""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case and its samples in this attempt."""

    id: str
    """Case id by the id rule (path from the root ``::`` remainder)."""
    blast_radius: str
    """``low``, ``normal`` or ``high``."""
    owner: str | None
    """Who answers for it."""
    feature: str | None
    """Feature that it belongs to."""
    golden: bool
    """Whether people read it; never gated."""
    samples: tuple[Sample, ...]
    """This attempt's samples by number."""
    lost: tuple[Sample, ...]
    """Transport losses that were redrawn, each with the number that it was lost under."""
    state: str
    """The producer's claim: a state of ``states``, or ``not-sampled``."""
    why: str
    """The claimed state's cause code."""


class CaseSamples(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Samples of one case in an earlier attempt."""

    id: str
    """Case id."""
    samples: tuple[Sample, ...]
    """Its samples there."""
    lost: tuple[Sample, ...]
    """Its redrawn transport losses there."""


class Link(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One earlier started attempt, named by the newest ledger."""

    run_id: int
    """Its run."""
    run_attempt: int
    """Its attempt."""
    head_sha: str
    """The head that it was about."""
    standing: str
    """``samples``: its samples are part of this sequence; ``left-none``: it left no ledger;
    ``other-key``: it judged something else (another base, ruler or subject)."""
    digest: Sha256 | None
    """Digest of its record's bytes; null for ``left-none``."""
    cases: tuple[CaseSamples, ...]
    """Its own samples, for ``samples`` only."""


class Components(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A digest and what it is made of, so that a change says what moved."""

    digest: Sha256
    """Digest over the components' names and digests."""
    components: dict[str, str]
    """Component name to its ``h1:`` or ``sha256:`` digest."""


class RuleUsed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stopping rule that the producer applied."""

    name: str
    """``smoke`` or ``fixed``."""
    samples: int
    """n under ``fixed``; 0 otherwise."""
    cap: int
    """Most samples a case under a sequential rule; 0 otherwise."""
    j: int | None
    """Which fresh sequence of the pull request this is; null when no run index was at hand."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who answered."""

    host: str
    """Host (and port) of the endpoint, never its credentials."""
    models_asked: tuple[str, ...]
    """Models that requests named, sorted."""
    models_served: tuple[str, ...]
    """Models that answers named, sorted."""
    fingerprints: tuple[str, ...]
    """``system_fingerprint`` values seen, sorted."""


class Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the observer counted, independent of the tests' own account."""

    calls: int
    """Exchanges in all."""
    attributed: int
    """Exchanges that belong to a known sample; equals the sum over all samples."""
    unattributed: int
    """Exchanges of this run that no sample claims (set-up, clients made at import)."""
    transport: int
    """Exchanges that the upstream lost, by the observer's classes."""
    prompt_tokens: int
    """Prompt tokens reported by the endpoint."""
    completion_tokens: int
    """Completion tokens reported by the endpoint."""


class LedgerBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole body."""

    policy_digest: Sha256
    """Digest of the policy file that the producer applied."""
    ruler: Components
    """What judged."""
    subject: Components
    """What was judged."""
    rule: RuleUsed
    """The stopping rule."""
    engine: str
    """``fork``, ``async``, ``xdist`` or ``serial``; several joined by ``+``."""
    interpreter: str
    """Implementation and version, such as ``CPython 3.11.7``."""
    endpoint: Endpoint
    """Who answered."""
    wire: Wire
    """What the observer counted."""
    started_at: str
    """UTC RFC 3339."""
    wall_ms: int
    """Wall clock of the whole sampling, milliseconds."""
    ended: str
    """One of ``ENDED``."""
    planned: tuple[str, ...]
    """Every case id that was collected for the lane, sorted: the universe of this ledger."""
    cases: tuple[Case, ...]
    """A row for each planned id, by id."""
    chain: tuple[Link, ...]
    """Every earlier started attempt, oldest first."""
    undeclared_inputs: tuple[str, ...]
    """Files that were read though they belong neither to ruler nor to subject."""
