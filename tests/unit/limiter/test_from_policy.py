# SPDX-License-Identifier: Apache-2.0
"""Limits as a policy says them."""

import pytest
from msgspec.structs import replace

from truegreen.core.errors import UsageProblem
from truegreen.core.policy import LimiterPolicy
from truegreen.limiter.from_policy import ask_host, limits_of
from truegreen.limiter.limits import MINUTE, SECOND, Limits

POLICY = LimiterPolicy(
    owner="@ana",
    host=None,
    backend="file:/var/ci/limiter",
    capacity=6,
    rate="12/min",
    burst=2,
    start="empty",
    contract=None,
    tokens_per_minute=1000,
    token_burst=None,
    lease_s=0.5,
    wait_s=90,
    on_unreachable="closed",
    shares=1,
)


def test_every_key_is_a_limit():
    """Units and names as the ledger has them."""
    assert Limits(
        calls=12,
        per_ns=MINUTE,
        burst=2,
        in_flight=6,
        tokens=1000,
        token_burst=1000,
        starts_full=False,
        lease_ns=SECOND // 2,
        wait_ns=90 * SECOND,
    ) == limits_of(POLICY)
    few = replace(POLICY, rate=None, tokens_per_minute=None, start="full")
    assert (None, None, True) == ((found := limits_of(few)).calls, found.tokens, found.starts_full)


@pytest.mark.parametrize("lease", [0.01, 1e-12])
def test_a_lease_that_is_shorter_than_a_sign_of_life_is_refused(lease):
    """A tenth of a second is the least."""
    with pytest.raises(UsageProblem, match="a lease in nanoseconds"):
        limits_of(replace(POLICY, lease_s=lease))


@pytest.mark.parametrize(
    ("host", "backend", "here", "passes"),
    [
        (None, "file:/x", "anything", True),
        ("ci-1", "file:/x", "CI-1", True),
        ("ci-1", "file:/x", "ci-2", False),
        ("ci-1", "https://ci-1:8471", "ci-2", True),
        ("ci-1", "https://ci-2:8471", "ci-1", False),
        ("ci-1", "redis://ci-1/0", "x", True),
    ],
)
def test_a_count_is_kept_on_its_own_machine_alone(host, backend, here, passes):
    """When it moves, the policy says so first."""
    policy = replace(POLICY, host=host, backend=backend)
    if passes:
        ask_host(policy, here)
    else:
        with pytest.raises(UsageProblem) as found:
            ask_host(policy, here)
        assert "limiter-wrong-host" == found.value.code
