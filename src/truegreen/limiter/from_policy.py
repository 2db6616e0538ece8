# SPDX-License-Identifier: Apache-2.0
"""Limits as the policy's table ``[limiter]`` says them.

What it decides: which numbers of a policy are which limits, and whether this machine may count. What it leaves: reading
the table, to ``core``; counting, to the backends.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from truegreen.core.errors import UsageProblem
from truegreen.core.policy import LimiterPolicy
from truegreen.core.rates import rate_of
from truegreen.limiter.limits import SECOND, Limits, checked


def limits_of(policy: LimiterPolicy) -> Limits:
    """The limits of a policy. Raises: UsageProblem ``limit-out-of-range``."""
    calls, per_ns = rate_of(policy.rate) if policy.rate else (None, SECOND)
    return checked(
        Limits(
            calls=calls,
            per_ns=per_ns,
            burst=policy.burst,
            in_flight=policy.capacity,
            tokens=policy.tokens_per_minute,
            token_burst=policy.token_burst,
            starts_full=policy.start == "full",
            lease_ns=round(policy.lease_s * SECOND),
            wait_ns=round(policy.wait_s * SECOND),
        )
    )


def ask_host(policy: LimiterPolicy, here: str) -> None:
    """Pass if the count that the policy names may be kept or asked from this machine, which is called ``here``.

    A file is counted on the machine itself; a service or a server has its machine in its address.

    Raises: UsageProblem ``limiter-wrong-host``.
    """
    if policy.host is None:
        return
    counts = here if policy.backend.startswith("file:") else _machine(policy.backend)
    if policy.host.lower() != counts.lower():
        raise UsageProblem(
            "limiter-wrong-host",
            f"the count belongs to {policy.host} and {counts} would keep it: both together would allow the limit twice",
            hint="truegreen policy show",
        )


def _machine(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # half an IPv6 address: no machine has that name
        return ""
