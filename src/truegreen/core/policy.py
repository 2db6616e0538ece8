# SPDX-License-Identifier: Apache-2.0
"""The effective policy: every key of ``truegreen.toml`` with its value and where that came from.

What it decides: names, meanings and closed sets of values. What it leaves: reading and errors with lines, to
``policy_read``; which revision's file counts, to the gate.

- A key whose behaviour is not built is refused, never ignored.
- Model-backed kinds are never required; the sample ledger may be, because counting is ours.
- What a key changes in judging is part of the ruler digest (``Lane.ruler_view``).
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

from typing import Any

import msgspec

from truegreen.core.digest import Sha256

POLICY_FILE = "truegreen.toml"
BASELINE_FILE = "truegreen.baseline.json"
QUARANTINE_FILE = "truegreen.quarantine.toml"
REMOVED_FILE = "truegreen.removed.toml"
ANNOUNCEMENTS = (BASELINE_FILE, QUARANTINE_FILE, REMOVED_FILE)
"""Committed announcements: a class of their own, outside harness, ruler and subject."""

SCHEMA = "truegreen/policy/v1"
MODES = ("observe", "enforce")
ROLES = ("required", "consulted", "advisory")
RULES = ("smoke", "fixed")
RUNS = ("this", "same-tree")
TREES = ("merge", "head")
BASES = ("ancestor", "tip")
FORMATS = ("truegreen/v1",)
LATER_FORMATS = (
    "admission.json",
    "apply-receipt.json",
    "decision.json",
    "fixture-manifest.txt",
    "junit",
    "merge-policy.json",
    "merge-receipt.json",
    "model-ledger.json",
    "nodes.txt",
    "receipt.json",
    "retry-ledger.jsonl",
    "retry-verdict/v1",
    "review.lock.json",
    "run.jsonl",
    "shard.json",
    "verdict.json",
)
"""Forms of other tools that later versions read."""
TOPOLOGIES = ("editable",)
SEALS = ("unsigned",)
STARTS = ("full", "empty")
ON_UNREACHABLE = ("closed", "divide")
TRUNCATED = ("invalid", "fail")
NO_SECRETS = ("replay",)
"""What stands in for samples where a run has no key."""
CONTRACT_CHECK = "contract-check"
"""The kind that a replay writes."""

DEFAULT_CAP = 33
"""Most samples a case under ``smoke`` unless the lane says otherwise (docs/adr/0003)."""
LEAST_CAP = 6
"""The fewest under which a case that always passes is certain in the first sequence: 1.9^6 > 1 / (0.8 * 0.05) > 1.9^5."""
MOST_SAMPLES = 500
"""Largest cap or fixed number of samples a case."""


class KindFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy must know of a record kind."""

    model_backed: bool
    """Whether its outcome is a model's judgement, so that it may never be required."""
    built: bool
    """Whether this version has it."""


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One lane with every key filled."""

    name: str
    """Its name: lower-case letters, digits, ``.``, ``_``, ``-``."""
    kind: str
    """Record kind, such as ``sample-ledger``."""
    role: str
    """``required``, ``consulted`` or ``advisory``."""
    tests: str
    """Path of the folder or file with the lane's tests, from the root."""
    rule: str
    """``smoke`` (sequential .95/.50) or ``fixed``."""
    samples: int
    """Samples a case under ``fixed``."""
    cap: int
    """Most samples a case under ``smoke`` before it is called inconclusive."""
    irrelevant: tuple[str, ...]
    """Patterns of files that cannot change what the model reads."""
    ruler: tuple[str, ...]
    """Patterns of further files that judge."""
    runs: str
    """``this``: only this run's attempts; ``same-tree``: every run of the index that tested the same."""
    tree: str
    """``merge``: the merge with the base; ``head``: the head as it is."""
    base: str
    """``ancestor``: any base on the branch, said in the decision; ``tip``: the newest or hold."""
    seal: str
    """``unsigned``."""
    formats: tuple[str, ...]
    """Record formats that count."""
    job: str
    """Display name of the job that writes the lane's records; ``{part}`` stands for the part."""
    workflow: str
    """Path of the workflow file whose runs count for this lane."""
    retries: int
    """How many attempts lost to the runner an exact or carry-over lane may have."""
    truncated: str
    """What an answer cut at its length limit is: ``invalid`` or ``fail``."""
    max_calls: int | None
    """Most calls to the endpoint in one run; reaching it holds."""
    max_minutes: float | None
    """Most minutes of sampling in one run; reaching it holds."""
    timeout_s: float
    """Time limit of one sample, seconds."""
    concurrency: int
    """Samples in flight at once."""
    model: str | None
    """Model asked for YAML cases; null leaves it to the environment."""
    allow_removed: int
    """How many of base's case ids may vanish without a committed entry."""
    owner: str | None
    """Who is asked when the lane is undecided."""

    cassettes: str = "cassettes"
    """Folder of the lane's recordings and contracts, from the root."""
    no_secrets: str | None = None
    """``replay``: on an event whose runs have no key, the lane is held by a ``contract-check``; null: it holds."""
    guard: str | None = None
    """The weakest guard against calls past the proxy that a replay may have had; null demands none."""

    @property
    def replays(self) -> bool:
        """Whether a ``contract-check`` can speak for the lane at all."""
        return self.kind == CONTRACT_CHECK or self.no_secrets is not None

    def ruler_view(self) -> dict[str, Any]:
        """The lane's effective table as far as it judges: what goes into the ruler digest."""
        judging = ("kind", "tests", "rule", "samples", "cap", "ruler", "truncated", "model")
        return {name: msgspec.to_builtins(getattr(self, name)) for name in judging}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The check that the forge shows."""

    name: str
    """Exactly what the forge shows."""
    workflow: str
    """Path of the workflow file that publishes it."""
    branches: tuple[str, ...]
    """Branches that it guards."""
    topology: str
    """``editable``: the pull request can edit the workflow that gates it."""


class CassetteTrust(msgspec.Struct, frozen=True, kw_only=True):
    """Whose recordings count without having been on the base branch."""

    authors: tuple[str, ...] = ()
    """E-mail addresses of commit authors."""
    keys: tuple[str, ...] = ()
    """Public keys of recorders."""


class LimiterPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that all callers of an endpoint share, and where they are counted."""

    owner: str
    """Who may change them, and is asked when they bind."""
    host: str | None
    """The machine that the count belongs to; another one refuses to count."""
    backend: str
    """Address of the count, such as ``file:/var/tmp/truegreen-limiter``."""
    capacity: int | None
    """Most calls in flight."""
    rate: str | None
    """Most calls, such as ``12/min``."""
    burst: int
    """Calls that may leave at once after a quiet time."""
    start: str
    """``full`` or ``empty``: how a count that nobody has used yet begins."""
    contract: str | None
    """What the endpoint allows in any window, such as ``12/min``; the bucket is held against it."""
    tokens_per_minute: int | None
    """Most tokens a minute."""
    token_burst: int | None
    """Tokens that may be spent at once after a quiet time; null for a minute's."""
    lease_s: float
    """How long a place in flight is kept without a sign of life, seconds."""
    wait_s: float
    """Longest wait for leave of a call that names none, seconds."""
    on_unreachable: str
    """``closed``: no leave while the count cannot be reached; ``divide``: each caller takes its share."""
    shares: int
    """Into how many shares the limits are divided then: as many as there are callers at once."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """One policy file, read whole."""

    mode: str
    """``observe`` or ``enforce``."""
    check: Check
    """The check."""
    lanes: tuple[Lane, ...]
    """Lanes in file order; never empty and at least one of them required."""
    limiter: LimiterPolicy | None
    """Limits shared by all who call the endpoint; null without a table ``[limiter]``."""
    harness: tuple[str, ...]
    """Patterns of further files that decide what is run and read."""
    cassettes: CassetteTrust = msgspec.field(default_factory=CassetteTrust)
    """Whose recordings count."""
    max_quarantined: int
    """Most entries of the quarantine."""
    max_quarantine_days: int
    """Longest time from an entry's start to its expiry, in days."""
    digest: Sha256
    """Digest of the file's bytes."""
    text: str
    """The file, for the decision to embed."""
    sources: dict[str, str]
    """Dotted key to where its value came from: ``truegreen.toml:12``, ``default``."""

    def lane(self, name: str) -> Lane | None:
        """The lane of that name."""
        return next((lane for lane in self.lanes if lane.name == name), None)

    @property
    def workflows(self) -> frozenset[str]:
        """Every workflow path whose runs may bring evidence."""
        return frozenset({self.check.workflow, *(lane.workflow for lane in self.lanes)})
