# SPDX-License-Identifier: Apache-2.0
"""Rows of other runners: claims become buckets, and never a free redraw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.sampling.foreign import KEYS, RowCount, counted, sample_of_row, slots
from truegreen.sampling.ledger import BUCKETS, Sample


@pytest.mark.parametrize(
    ("row", "bucket"),
    [
        ({"status": "ok", "verdict": "pass"}, "pass"),
        ({"status": "ok", "verdict": "FAIL"}, "fail"),
        ({"passed": True}, "pass"),
        ({"passed": False}, "fail"),
        ({"reward": 1}, "pass"),
        ({"reward": 0.99}, "fail"),
        ({"status": "passed"}, "pass"),
        ({"status": "failed"}, "fail"),
        ({"status": "error", "http": 500}, "claimed-transport"),
        ({"status": "error", "http": 429}, "claimed-transport"),
        ({"status": "error", "http": 404}, "invalid"),
        ({"status": "error", "http": 408}, "invalid"),
        ({"status": "ok", "http": 200, "verdict": "pass"}, "pass"),
        ({"status": "error"}, "invalid"),
        ({"status": "timeout"}, "fail"),
        ({"status": "skipped"}, "invalid"),
        ({"status": "cancelled"}, "invalid"),
        ({"reward": 0, "error_category": "infra_error"}, "claimed-transport"),
        ({"reward": 0, "error_category": "rate_limit"}, "claimed-transport"),
        ({"reward": 1, "error_category": "sandbox_crash"}, "claimed-transport"),
        ({"reward": 0, "error_category": "judge_error"}, "claimed-transport"),
        ({"reward": 0, "error_category": "solve_timeout"}, "fail"),
        ({"reward": 0, "error_category": "model_refusal"}, "fail"),
        ({"reward": 0, "error_category": "answer_parse_error"}, "fail"),
        ({"reward": 1, "error_category": "solve_timeout"}, "fail"),
        ({"reward": 0, "error_category": "mystery"}, "invalid"),
        ({"verdict": "pass", "finish_reason": "length"}, "invalid"),
        ({"verdict": "pass", "finish_reason": "content_filter"}, "fail"),
        ({"verdict": "pass", "stop_reason": "end_turn"}, "pass"),
        ({"verdict": "pass", "finish_reason": "who knows"}, "invalid"),
        ({"verdict": "pass", "reward": 0}, "invalid"),
        ({"passed": None, "reward": 1}, "pass"),
        ({"verdict": "maybe"}, "invalid"),
        ({"status": "ok"}, "invalid"),
        ({}, "invalid"),
    ],
)
def test_a_row_comes_to_its_bucket(row, bucket):
    """Outages are claims, what the model brought about is a failure, contradictions and riddles are invalid."""
    sample = sample_of_row(row, 3)
    assert (3, bucket) == (sample.n, sample.bucket)
    assert bool(sample.reason) is (bucket != "pass")


def test_the_reward_that_passes_is_the_callers():
    """A threshold is part of what judges."""
    assert "pass" == sample_of_row({"reward": 0.7}, 1, full_reward=0.5).bucket


@given(
    st.dictionaries(
        st.sampled_from(sorted(KEYS)), st.none() | st.booleans() | st.integers() | st.text(max_size=8)
    )
)
def test_any_row_is_a_sample_and_never_transport(row):
    """No runner's words buy a redraw."""
    bucket = sample_of_row(row, 1).bucket
    assert bucket in BUCKETS
    assert bucket != "transport"


def test_missing_rows_stay_in_the_count():
    """Numbers 1 to n, each once; later ones are left, a number that comes twice is a contradiction."""
    found = slots([Sample(n=3, bucket="pass"), Sample(n=1, bucket="fail"), Sample(n=9, bucket="pass")], 4)
    expected = [("fail", ""), ("invalid", "missing"), ("pass", ""), ("invalid", "missing")]
    assert expected == [(sample.bucket, sample.reason) for sample in found]
    with pytest.raises(EvidenceProblem) as caught:
        slots([Sample(n=1, bucket="pass"), Sample(n=1, bucket="pass")], 2)
    assert caught.value.contradictory


def test_counts_add_up_to_n():
    """One of each bucket and a gap: five numbers that leave nothing out."""
    rows = [
        Sample(n=1, bucket="pass"),
        Sample(n=2, bucket="fail"),
        Sample(n=3, bucket="claimed-transport"),
        Sample(n=4, bucket="invalid", reason="skipped"),
    ]
    assert RowCount(passed=1, failed=1, outage=1, invalid=1, missing=2) == counted(rows, 6)
