# SPDX-License-Identifier: Apache-2.0
"""The table of record kinds: one explicit row each, and the names of those that later versions bring.

To add a kind: write its body and its rules in a slice, add a row here, its schema, its docs paragraph and its
hostile records. Nothing registers itself by being imported.
"""

from __future__ import annotations

from collections.abc import Mapping

from truegreen.core.policy import KindFacts
from truegreen.gate import ledger_record, replay_record
from truegreen.gate.ledger_cases import judge as judge_ledger
from truegreen.gate.model import Kind
from truegreen.gate.replay_lane import judge as judge_replay
from truegreen.sampling.merge import merge_table

SAMPLE_LEDGER = Kind(
    name="sample-ledger",
    writer="sample",
    model_backed=False,  # the answers are a model's, the counting is ours
    attempt="pool",
    parts=("all",),
    decode=ledger_record.decode,
    claims=ledger_record.claims,
    check=ledger_record.check,
    judge=judge_ledger,
    links=ledger_record.links,
    own_samples=ledger_record.own_samples,
    table=merge_table().content,
)

CONTRACT_CHECK = Kind(
    name="contract-check",
    writer="cassette check",
    model_backed=False,  # recorded answers are compared with contracts and code, nobody is asked
    attempt="exact",
    parts=("all",),
    decode=replay_record.decode,
    claims=replay_record.claims,
    check=replay_record.check,
    judge=judge_replay,
    links=replay_record.links,
    own_samples=replay_record.own_samples,
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (CONTRACT_CHECK, SAMPLE_LEDGER)}
"""Every kind that this version reads."""

_MODEL_BACKED = frozenset({"label-votes", "retry-verdict", "review-verdict", "draft-receipt"})
_LATER = (
    "apply-receipt",
    "budget-page",
    "cold-replay",
    "draft-receipt",
    "exit-record",
    "frozen-set",
    "label-votes",
    "merge-receipt",
    "rerun-ledger",
    "retry-verdict",
    "review-lock",
    "review-verdict",
    "shard-manifest",
    "shard-plan",
)
LATER: Mapping[str, KindFacts] = {
    name: KindFacts(model_backed=name in _MODEL_BACKED, built=False) for name in _LATER
}
"""Kinds that a policy may not name yet: ``not-in-this-version``."""
