# SPDX-License-Identifier: Apache-2.0
"""Reading one case sample by sample: when it ends, and how much it still wants."""

from __future__ import annotations

import pytest

from truegreen.sampling.ledger import Sample
from truegreen.sampling.sequential import Ruling, fixed, smoke
from truegreen.sampling.walk import Cause, Walk, as_it_counts, redraw_allowance

BUCKET = {"P": "pass", "F": "fail", "I": "invalid", "T": "transport", "C": "claimed-transport"}


def walked(text: str, rule=None, *, cases: int = 12) -> Walk:
    """A walk over ``"PPF"``; small letters are warm samples."""
    walk = Walk(rule or smoke(), cases=cases)
    for number, letter in enumerate(text, start=1):
        walk.take(Sample(n=number, bucket=BUCKET[letter.upper()], cached_tokens=9 if letter.islower() else 0))
    return walk


@pytest.mark.parametrize(
    ("text", "needed"), [("", 6), ("P", 5), ("PF", 8), ("PFI", 12), ("PPPPP", 1), ("FF", 13), ("Ippp", 6)]
)
def test_a_walk_knows_how_many_passes_it_still_needs(text, needed):
    """One fewer after a pass, some four more after a failure or a sample without a verdict."""
    assert needed == walked(text).still_needed()


def test_where_pass_is_out_of_reach_failures_are_counted():
    """With five samples at most nobody can be certified, but three failures still can be."""
    assert 3 == walked("", smoke(cap=5)).still_needed()
    assert 1 == walked("FF", smoke(cap=5)).still_needed()


def test_a_walk_ends_when_no_verdict_is_in_reach():
    """No call is bought that cannot matter: with neither bound in reach, the cap is the cause before it is met."""
    assert Cause.CAP is walked("P", smoke(cap=3)).cause
    assert walked("F", smoke(cap=3)).is_open


def test_a_fixed_rule_wants_all_of_its_samples():
    """Neither a failure nor a pass shortens n."""
    assert [3, 2, 1] == [walked(text, fixed(3)).still_needed() for text in ("", "F", "FP")]
    assert Ruling.FAIL is walked("FPP", fixed(3)).ruling


@pytest.mark.parametrize(
    ("text", "cause"), [("IIII", Cause.INVALID), ("CCCC", Cause.CLAIMED), ("ICIC", Cause.INVALID)]
)
def test_a_broken_set_up_ends_the_reading_early(text, cause):
    """More samples without a verdict than losses may be redrawn: no further call is bought."""
    assert walked(text[:3]).is_open
    assert cause is walked(text).cause


@pytest.mark.parametrize(
    ("rule", "expected"), [(smoke(), 3), (smoke(cap=60), 6), (fixed(5), 2), (smoke(cap=9), 2)]
)
def test_a_tenth_of_the_cap_may_be_redrawn_and_two_at_least(rule, expected):
    """The allowance of redraws."""
    assert expected == redraw_allowance(rule)


def test_a_lost_sample_keeps_its_ids_out_of_the_comparison():
    """Only answers that were judged can be copies of one another."""
    seen: set[str] = set()
    lost = Sample(n=1, bucket="transport", request_ids=("r1",))
    assert lost is as_it_counts(lost, seen)
    assert "pass" == as_it_counts(Sample(n=2, bucket="pass", request_ids=("r1",)), seen).bucket
    assert "repeated-request-id" == as_it_counts(Sample(n=3, bucket="fail", request_ids=("r1",)), seen).reason
    assert "response-cache" == as_it_counts(Sample(n=4, bucket="pass", marks=("age",)), seen).reason
