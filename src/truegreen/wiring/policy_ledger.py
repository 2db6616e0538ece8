# SPDX-License-Identifier: Apache-2.0
"""The limits that hold where a command runs: those of the policy of its repository, if it has any.

What it decides: which policy that is. What it leaves: limits, to ``limiter``; a proxy without any, to ``open_ledger``.

- The policy is the working copy's, of the repository that holds the folder, or of the folder itself. A policy that cannot
  be read is an error, never "no limits".
"""

from __future__ import annotations

import socket
from pathlib import Path

from truegreen.core.policy import POLICY_FILE
from truegreen.core.policy_read import read_policy
from truegreen.core.ports import AsyncLedgerPort
from truegreen.limiter.async_client import AsyncLimiter
from truegreen.limiter.divided import Divided, opened_or_absent
from truegreen.limiter.from_policy import ask_host, limits_of
from truegreen.limiter.opening import async_limiter_at
from truegreen.wiring.checkout import checkout_of
from truegreen.wiring.limiter_leave import Say, holder, limiter_token
from truegreen.wiring.policy import file_bytes, known_kinds


def ledger_at(folder: Path, say: Say) -> AsyncLedgerPort | None:
    """The limits that hold in a folder; None if no policy there has any.

    Raises: UsageProblem of the policy's reader, ``limiter-wrong-host`` and those of the backends; ReachProblem.
    """
    path = (checkout_of(folder) or folder) / POLICY_FILE
    if not path.exists():
        return None
    policy = read_policy(file_bytes(path), kinds=known_kinds(), name=path.name).limiter
    if policy is None:
        return None
    ask_host(policy, socket.gethostname())
    limits, token = limits_of(policy), limiter_token()
    if policy.on_unreachable == "divide":
        whole = opened_or_absent(policy.backend, limits, token)
        return AsyncLimiter(Divided(whole, limits, policy.shares, say), holder=holder())
    return async_limiter_at(policy.backend, limits, token=token, holder=holder())
