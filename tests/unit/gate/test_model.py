# SPDX-License-Identifier: Apache-2.0
"""Values of the gate's steps: what a finding weighs, and what a record calls itself."""

import pytest

from truegreen.core.outcome import Word
from truegreen.gate.model import Finding


@pytest.mark.parametrize(
    ("standing", "word"),
    [("blocked", Word.BLOCK), ("refused", Word.HOLD), ("stale", Word.HOLD), ("note", None)],
)
def test_a_finding_weighs_what_its_standing_says(standing, word):
    """Foreign blocks, what cannot be read and what is stale hold, a note weighs nothing."""
    assert word is Finding(code="any", standing=standing).word


def test_a_record_is_known_by_run_attempt_lane_and_part(actors, candidate):
    """Not by its file name."""
    assert (1001, 2, "model-tests", "all") == candidate(subject={"run_attempt": 2}).identity


def test_a_record_claims_what_it_was_made_from(actors, candidate):
    """Policy, ruler and subject with their components."""
    claims = candidate().claims
    ruler, subject = actors.digests_of(actors.tree_of(actors.stage.facts.head_sha))
    assert (actors.policy.digest, ruler.digest, subject.digest) == (
        claims.policy,
        claims.ruler,
        claims.subject,
    )
    assert (ruler.components, subject.components) == (claims.ruler_components, claims.subject_components)
