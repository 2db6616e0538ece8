# SPDX-License-Identifier: Apache-2.0
"""Limits as a command line writes them, and as a policy that it names has them."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.limiter.limits import SECOND
from truegreen.wiring.limiter_limits import limits_of

POLICY = """
schema = "truegreen/policy/v1"

[lanes.model-tests]
tests = "tests/llm"

[limiter]
owner = "@ana"
capacity = 6
rate = "12/min"
"""


@pytest.fixture
def policy(tmp_path):
    """A policy file with limits."""
    path = tmp_path / "truegreen.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "calls", "seconds"), [("10/s", 10, 1), ("12/min", 12, 60), ("5000/h", 5000, 3600)]
)
def test_options_become_limits(text, calls, seconds):
    """Seconds in nanoseconds; what is left out is no limit, or its default."""
    limits = limits_of(None, {"rate": text, "capacity": 6, "lease_s": 0.5, "burst": None})
    found = (limits.calls, limits.per_ns, limits.burst, limits.in_flight, limits.tokens, limits.lease_ns)
    assert (calls, seconds * SECOND, 1, 6, None, SECOND // 2) == found


@pytest.mark.parametrize(
    "text",
    ["", "10", "10/", "/s", "0/s", "-1/s", "1.5/s", "10/m", "10 /s", "10/s ", "1e3/s", "\u0661/s", "10/s/s"],
)
def test_anything_else_is_no_rate(text):
    """Exit 2, with three that are."""
    with pytest.raises(UsageProblem, match="10/s, 12/min or 5000/h") as caught:
        limits_of(None, {"rate": text})
    assert "bad-rate" == caught.value.code


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"capacity": 0},
        {"capacity": -1},
        {"rate": "10/s", "burst": 0},
        {"tokens_per_minute": 0},
        {"capacity": 1, "lease_s": float("nan")},
        {"capacity": 1, "wait_s": float("inf")},
        {"capacity": 1, "lease_s": 0.0},
        {"capacity": 1, "wait_s": -1.0},
    ],
)
def test_numbers_that_are_no_limits_are_refused(given):
    """Zero, negative, no number, and no limit at all."""
    with pytest.raises(UsageProblem) as caught:
        limits_of(None, given)
    assert "limit-out-of-range" == caught.value.code


def test_a_policy_says_all_limits(policy):
    """From its table; an option beside it is refused, whatever it says."""
    limits = limits_of(policy, {"rate": None, "capacity": None})
    assert (12, 60 * SECOND, 6) == (limits.calls, limits.per_ns, limits.in_flight)
    with pytest.raises(UsageProblem, match="capacity and a policy") as caught:
        limits_of(policy, {"rate": None, "capacity": 6})
    assert "bad-command-line" == caught.value.code


def test_a_policy_without_limits_is_refused(policy):
    """Nothing would be limited."""
    policy.write_text(POLICY.partition("[limiter]")[0], encoding="utf-8")
    with pytest.raises(UsageProblem) as caught:
        limits_of(policy, {})
    assert "no-limits" == caught.value.code
