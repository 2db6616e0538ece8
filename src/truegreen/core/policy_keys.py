# SPDX-License-Identifier: Apache-2.0
"""The table of every key of ``truegreen.toml``: shape, default, meaning.

What it decides: which keys exist, which values each may have, what stands when a key is left out, and which keys
and values are known but not built. What it leaves: reading a file against the table, to ``policy_read``.

- The reader, the JSON Schema and the table in ``docs/policy.md`` are all made from this table.
- A key or value that the design names and this version does not build stands in ``LATER_KEYS`` or ``later``: it is
  refused as ``not-in-this-version``, never taken for a spelling mistake and never ignored.
- A branch is named exactly and a path starts at the root: what a policy guards can be read off it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from truegreen.core import limiter_keys, policy
from truegreen.core.path_shapes import BRANCH, PATH, PATTERN, WORKFLOW_PATH
from truegreen.core.record import LANE_NAME
from truegreen.core.replay_session import GUARDS
from truegreen.core.shapes import LINE, Above, ListOf, OneOf, Rule, Shape, Text, Whole

ANY_LANE = "*"
"""Stands in a path for the name of a lane."""
KeyPath = tuple[str, ...]


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key."""

    path: KeyPath
    """Where it stands, such as ``("lanes", "*", "role")``."""
    shape: Shape
    """What its value may be."""
    meaning: str
    """What it does, in a sentence for the documentation."""
    default: Any = None
    """Its value when it is left out, as ``tomllib`` would give it; null where nothing stands in."""
    is_required: bool = False
    """Whether leaving it out is an error."""
    default_words: str = ""
    """The default in words, where it is no plain value."""
    later: Mapping[str, str] = {}
    """Values that the design has and this version does not, each with what it is for."""


LANE_NAME_SHAPE = Text(
    meaning="the name of a lane",
    max_characters=64,
    rules=(
        Rule(
            pattern=LANE_NAME.pattern,
            asked='a lane\'s name of lower-case letters, digits, ".", "_" and "-" that starts with a letter or digit',
        ),
    ),
)
_NAME = Text(meaning="a name", max_characters=100, rules=(LINE,))
_EMAIL = Text(
    meaning="an e-mail address as git shows it",
    max_characters=254,
    rules=(
        LINE,
        Rule(pattern=r"[^\x00-\x20<>@]+@[^\x00-\x20<>@]+", asked="an address such as ana@example.com"),
    ),
)
_PUBLIC_KEY = Text(
    meaning="an ed25519 public key",
    max_characters=60,
    rules=(
        Rule(
            pattern=r"ed25519:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=",
            asked="ed25519: and the Base64 of 32 bytes, as `truegreen cassette seal` prints it",
        ),
    ),
)
_KIND = Text(
    meaning="the name of a record kind",
    max_characters=41,
    rules=(Rule(pattern="[a-z][a-z0-9-]*", asked="the name of a record kind, such as sample-ledger"),),
)

_OF_ROW = ("shape", "meaning", "default", "is_required", "default_words")

_TOP: tuple[Key, ...] = (
    Key(
        path=("schema",),
        shape=OneOf(values=(policy.SCHEMA,)),
        is_required=True,
        meaning="The version of this file's form.",
    ),
    Key(
        path=("mode",),
        shape=OneOf(values=policy.MODES),
        default="observe",
        meaning="Whether a hold or a block makes the check red. `observe` says the word and exits 0. The gate takes "
        "the stricter of the base branch's and the default branch's value.",
    ),
    Key(
        path=("harness",),
        shape=ListOf(item=PATTERN, meaning="a list of patterns"),
        default=[],
        meaning="Further files that decide what is run and read. Policy, decision tables, workflows, hooks and "
        "truegreen's own lock belong to the harness without being listed.",
    ),
    Key(
        path=("max_quarantined",),
        shape=Whole(least=0, most=1000),
        default=10,
        meaning="Most entries that `truegreen.quarantine.toml` may hold, expired ones included.",
    ),
    Key(
        path=("max_quarantine_days",),
        shape=Whole(least=1, most=366),
        default=30,
        meaning="Longest time from an entry's `since` to its `expires`, in days.",
    ),
)

_CHECK: tuple[Key, ...] = (
    Key(
        path=("check", "name"),
        shape=_NAME,
        default="truegreen",
        meaning="The check's name, exactly as the forge shows it and as branch protection requires it.",
    ),
    Key(
        path=("check", "workflow"),
        shape=WORKFLOW_PATH,
        default=".github/workflows/truegreen.yml",
        meaning="The workflow file that publishes the check.",
    ),
    Key(
        path=("check", "branches"),
        shape=ListOf(item=BRANCH, meaning="a list of exact branch names", least=1),
        default=["main"],
        meaning="The branches that the check guards, each by its exact short name. A pull request into any other "
        "branch is blocked. Read from the default branch's policy.",
    ),
    Key(
        path=("check", "topology"),
        shape=OneOf(values=policy.TOPOLOGIES),
        default="editable",
        later={"owned": "branch safety (checks audit)", "locked": "branch safety (checks audit)"},
        meaning="Who could edit the gate; named in every decision. `editable`: a pull request can edit the workflow "
        "that gates it, so honest mistakes are caught and nothing more is promised.",
    ),
)

_CASSETTES: tuple[Key, ...] = (
    Key(
        path=("cassettes", "authors"),
        shape=ListOf(item=_EMAIL, meaning="a list of e-mail addresses"),
        default=[],
        meaning="Authors of commits whose recordings and contracts count without a seal, by the address in the commit. "
        "On a pull request from a fork the address proves nothing, and only seals count.",
    ),
    Key(
        path=("cassettes", "keys"),
        shape=ListOf(item=_PUBLIC_KEY, meaning="a list of public keys"),
        default=[],
        meaning="Public keys of recorders: a recording that one of them sealed counts, whoever committed it.",
    ),
)


def _lane(name: str, shape: Shape, default: Any, meaning: str, **more: Any) -> Key:
    return Key(path=("lanes", ANY_LANE, name), shape=shape, default=default, meaning=meaning, **more)


_LANE: tuple[Key, ...] = (
    _lane("kind", _KIND, "sample-ledger", "The kind of record that the lane writes."),
    _lane(
        "role",
        OneOf(values=policy.ROLES),
        "required",
        "`required`: must hold. `consulted`: may stop a merge and never lifts anything. `advisory`: notes only.",
    ),
    _lane(
        "tests",
        PATH,
        None,
        "The folder or file with the lane's tests and cases. Everything in it judges.",
        is_required=True,
    ),
    _lane(
        "rule",
        OneOf(values=policy.RULES),
        "smoke",
        "`smoke`: samples each case until it is certain enough that it passes at least 95 % of the time, or no more "
        "than half. `fixed`: `samples` samples a case.",
        later={"standard": "sampling for teams", "strict": "sampling for teams"},
    ),
    _lane("samples", Whole(least=1, most=policy.MOST_SAMPLES), 5, "Samples a case under `fixed`."),
    _lane(
        "cap",
        Whole(least=policy.LEAST_CAP, most=policy.MOST_SAMPLES),
        policy.DEFAULT_CAP,
        "Most samples a case under `smoke` before it is called inconclusive.",
    ),
    _lane(
        "irrelevant",
        ListOf(item=PATTERN, meaning="a list of patterns"),
        [],
        "Files that cannot change what the model reads. May not match what judges, prompts, policy or workflows.",
    ),
    _lane(
        "ruler",
        ListOf(item=PATTERN, meaning="a list of patterns"),
        [],
        "Further files that judge: a judge's prompt, a schema outside `tests`.",
    ),
    _lane(
        "runs",
        OneOf(values=policy.RUNS),
        "same-tree",
        "`same-tree`: evidence of every listed run that tested the same tree counts, with all its attempts. `this`: "
        "only the gate's own run; the decision says that other runs were not read.",
        later={"listed": "runs of other workflows as evidence"},
    ),
    _lane(
        "tree",
        OneOf(values=policy.TREES),
        "merge",
        "`merge`: the tree that merging head and base gives. `head`: the head as it is.",
    ),
    _lane(
        "base",
        OneOf(values=policy.BASES),
        "ancestor",
        "`ancestor`: evidence may be for an older state of the base branch, and the decision says so. `tip`: it "
        "holds until the evidence is for the newest.",
    ),
    _lane(
        "seal",
        OneOf(values=policy.SEALS),
        "unsigned",
        "Whether records must be signed. `unsigned` is named in the decision.",
        later={"ed25519": "signed records"},
    ),
    _lane(
        "formats",
        ListOf(item=OneOf(values=policy.FORMATS), meaning="a list of record formats", least=1),
        list(policy.FORMATS),
        "The record formats that count.",
        later=dict.fromkeys(policy.LATER_FORMATS, "records in other tools' forms"),
    ),
    _lane(
        "job",
        _NAME,
        None,
        "Display name of the job that writes the lane's records; `{part}` stands for the part.",
        default_words="the lane's name",
    ),
    _lane(
        "workflow",
        WORKFLOW_PATH,
        None,
        "The workflow file whose runs count for this lane.",
        default_words="`check.workflow`",
    ),
    _lane(
        "truncated",
        OneOf(values=policy.TRUNCATED),
        "invalid",
        "What an answer is that was cut at its length limit: `invalid` (no measurement) or `fail`.",
    ),
    _lane(
        "max_calls",
        Whole(least=1, most=1_000_000),
        None,
        "Most calls to the endpoint in one run; reaching it holds.",
        default_words="no limit",
    ),
    _lane(
        "max_minutes",
        Above(most=1440, unit="minutes"),
        None,
        "Most minutes of sampling in one run; reaching it holds.",
        default_words="no limit",
    ),
    _lane(
        "timeout_s", Above(most=3600, unit="seconds"), 60, "Time limit of one sample. Reaching it is a fail."
    ),
    _lane("concurrency", Whole(least=1, most=256), 8, "Samples in flight at once."),
    _lane(
        "model",
        Text(meaning="the name of a model", max_characters=200, rules=(LINE,)),
        None,
        "Model that YAML cases ask for.",
        default_words="the environment's",
    ),
    _lane(
        "allow_removed",
        Whole(least=0, most=10_000),
        0,
        "How many of base's cases may vanish without an entry in `truegreen.removed.toml`.",
    ),
    _lane(
        "owner",
        _NAME,
        None,
        "Who is asked when the lane is undecided.",
        default_words="nobody is named",
    ),
    _lane(
        "cassettes",
        PATH,
        "cassettes",
        "The folder with the lane's recordings and contracts, for lanes that replay.",
    ),
    _lane(
        "no_secrets",
        OneOf(values=policy.NO_SECRETS),
        None,
        "What stands in for samples on a pull request whose runs get no key: from a fork, or started by Dependabot. "
        "`replay`: a `contract-check` must hold, and the decision says that it was replayed, not sampled.",
        default_words="such a pull request holds",
        later={"approve": "samples by leave of a maintainer", "queue": "samples in the merge queue only"},
    ),
    _lane(
        "guard",
        OneOf(values=GUARDS[1:]),
        None,
        "The weakest guard against calls past the proxy that a replay may have had: `audit` (Python alone), `preload`, "
        "`landlock`, `namespace`. Less than that holds.",
        default_words="none is demanded",
    ),
)

_LIMITER: tuple[Key, ...] = tuple(
    Key(path=("limiter", row.name), **{name: getattr(row, name) for name in _OF_ROW})
    for row in limiter_keys.ROWS
)

KEYS: Final[Mapping[KeyPath, Key]] = {
    key.path: key for key in (*_TOP, *_CHECK, *_CASSETTES, *_LIMITER, *_LANE)
}
"""Every key that is built, by path, in the order of the documentation."""

TABLES: Final[frozenset[KeyPath]] = frozenset(
    {("check",), ("cassettes",), ("limiter",), ("lanes",), ("lanes", ANY_LANE)}
)
"""Paths that are tables."""

LATER_KEYS: Final[Mapping[KeyPath, str]] = {
    ("extends",): "a policy of the organisation",
    ("bank",): "evidence kept for unchanged keys",
    ("budget",): "token budgets",
    ("override",): "an override on record",
    ("prices",): "spend in dollars",
    ("redact",): "what evidence exposes of answers",
    ("lanes", ANY_LANE, "max_usd"): "spend in dollars",
    ("lanes", ANY_LANE, "keys"): "signed records",
    ("lanes", ANY_LANE, "fresh_for"): "evidence kept for unchanged keys",
    ("lanes", ANY_LANE, "base_setup"): "sampling the base beside the head",
    ("lanes", ANY_LANE, "judge"): "cases that a model judges",
    ("lanes", ANY_LANE, "incubate"): "new cases that do not gate yet",
    ("lanes", ANY_LANE, "retries"): "kinds of which only one attempt counts",
    ("lanes", ANY_LANE, "ruler_from"): "base's ruler on head's code",
    ("lanes", ANY_LANE, "empty_plan"): "shards",
}
"""Keys that the design names and this version does not build, each with what it is for."""

REPLAY_KEYS = ("cassettes", "guard")
"""Keys of lanes that replay: elsewhere they would be read and do nothing."""
SAMPLE_KEYS = (
    "rule",
    "samples",
    "cap",
    "truncated",
    "max_calls",
    "max_minutes",
    "timeout_s",
    "concurrency",
    "model",
    "allow_removed",
    "no_secrets",
)
"""Keys of lanes that are sampled: elsewhere they would be read and do nothing."""
