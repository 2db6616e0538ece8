# SPDX-License-Identifier: Apache-2.0
"""Checks of what a record was made from: base commit, tested tree, policy, ruler, subject, time.

- Everything here is recomputed from the clone: a record that says otherwise is stale when its inputs moved on
  (base, tree, policy) and forged when the same inputs give another digest.
- A base behind the tip is disclosed by ``complete``; only ``base = "tip"`` refuses it.
- A record from the future is held, not believed.
"""

from __future__ import annotations

from datetime import timedelta

from truegreen.core.errors import ReachProblem
from truegreen.core.instants import instant
from truegreen.core.lane_digests import moved
from truegreen.gate.ground import Ground, Unreachable, unreachable
from truegreen.gate.model import Candidate, Finding
from truegreen.gate.verify_binding import SKEW_S


def base_on_branch(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record's base is on the base branch; in a queue it is the group's own base."""
    subject = candidate.envelope.subject
    if subject.event == "merge_group":
        if subject.base_sha == ground.facts.group_base:
            return None
        return Finding(
            code="base-not-ancestor",
            standing="stale",
            facts={"base_sha": subject.base_sha, "tip": str(ground.facts.group_base)},
        )
    try:
        if subject.base_sha == ground.tip or ground.git.is_ancestor(subject.base_sha, ground.tip):
            return None
    except ReachProblem as err:
        told = unreachable(err)
        return Finding(code=told.code, standing="stale", facts=told.facts)
    return Finding(
        code="base-not-ancestor", standing="stale", facts={"base_sha": subject.base_sha, "tip": ground.tip}
    )


def base_is_tip(candidate: Candidate, ground: Ground) -> Finding | None:
    """Under ``base = "tip"`` the record was made against the newest base."""
    base = candidate.envelope.subject.base_sha
    asked = ground.facts.group_base or ground.tip
    if candidate.lane.base != "tip" or base == asked:
        return None
    return Finding(code="base-moved", standing="stale", facts={"base_sha": base, "tip": asked})


def tree_recomputed(candidate: Candidate, ground: Ground) -> Finding | None:
    """Head's tree and the tested tree are the ones that git makes of the record's head and base."""
    subject = candidate.envelope.subject
    try:
        head_tree = ground.tree_of_head(subject.head_sha)
        tree = ground.tested_tree(candidate.lane, subject.head_sha, subject.base_sha)
    except Unreachable as err:
        return Finding(code=err.code, standing="stale", facts=err.facts)
    for said, recomputed in ((subject.head_tree, head_tree), (subject.tested_tree, tree)):
        facts: dict[str, str | int] = {"tested": said, "recomputed": recomputed}
        if said != recomputed and ground.facts.local:
            return Finding(code="files-changed", standing="stale", facts=facts)
        if said != recomputed:
            return Finding(code="tree-mismatch", standing="stale", facts=facts)
    return None


def tree_of_the_group(candidate: Candidate, ground: Ground) -> Finding | None:
    """In a queue only evidence for the very tree of the group counts, whoever sampled it."""
    subject = candidate.envelope.subject
    if ground.facts.event != "merge_group" or subject.tested_tree == ground.head_tree:
        return None
    return Finding(
        code="tree-mismatch",
        standing="stale",
        facts={"tested": subject.tested_tree, "recomputed": ground.head_tree},
    )


def own_policy(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record was made under the base's policy."""
    claimed = candidate.claims.policy
    if claimed == ground.policy.digest:
        return None
    return Finding(
        code="stale-policy", standing="stale", facts={"digest": claimed, "asked": ground.policy.digest}
    )


def ruler_recomputed(candidate: Candidate, ground: Ground) -> Finding | None:
    """The ruler digest and its components are the ones that the tested tree gives."""
    subject = candidate.envelope.subject
    try:
        digests = ground.digests(candidate.lane, subject.tested_tree)
    except Unreachable as err:
        return Finding(code=err.code, standing="stale", facts=err.facts)
    claims = candidate.claims
    names = moved(claims.ruler_components, digests.ruler.components)
    if claims.ruler == digests.ruler.digest and not names:
        return None
    return Finding(code="ruler-mismatch", standing="blocked", facts={"moved": ", ".join(names)})


def subject_recomputed(candidate: Candidate, ground: Ground) -> Finding | None:
    """The subject digest and its components are the ones that the tested tree gives."""
    try:
        digests = ground.digests(candidate.lane, candidate.envelope.subject.tested_tree)
    except Unreachable as err:
        return Finding(code=err.code, standing="stale", facts=err.facts)
    claims = candidate.claims
    names = moved(claims.subject_components, digests.subject.components)
    if claims.subject == digests.subject.digest and not names:
        return None
    return Finding(code="subject-mismatch", standing="blocked", facts={"moved": ", ".join(names)})


def not_from_the_future(candidate: Candidate, ground: Ground) -> Finding | None:
    """The record was not written after now."""
    if instant(candidate.envelope.issued_at) <= instant(ground.now) + timedelta(seconds=SKEW_S):
        return None
    return Finding(
        code="from-the-future",
        standing="stale",
        facts={"issued_at": candidate.envelope.issued_at, "now": ground.now},
    )


INPUT_CHECKS = (
    base_on_branch,
    base_is_tip,
    tree_recomputed,
    tree_of_the_group,
    own_policy,
    ruler_recomputed,
    subject_recomputed,
    not_from_the_future,
)
"""In order: cheap and stale first, digests last."""
