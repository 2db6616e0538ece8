# SPDX-License-Identifier: Apache-2.0
"""Asks that are none, told before they travel: the same refusal that a ledger gives.

What it decides: which numbers and texts may be sent. What it leaves: every other refusal, to the ledger.
"""

from __future__ import annotations

from truegreen.limiter.ledger import MOST_CHARACTERS
from truegreen.limiter.limits import LONGEST, MOST_CALLS, MOST_TOKENS
from truegreen.limiter.state import Refused, Request


def out_of_bounds(request: Request) -> Refused | None:
    """Why a request is no ask, or None."""
    within = (
        1 <= request.cost <= MOST_CALLS
        and 0 <= request.prompt_tokens <= MOST_TOKENS
        and 0 <= request.output_tokens <= MOST_TOKENS
        and 0 <= (request.wait_ns or 0) <= LONGEST
        and request.id
        and max(map(len, (request.id, request.holder, request.wake))) <= MOST_CHARACTERS
    )
    if within:
        return None
    return Refused(
        reason="bad-ask",
        message=f"an ask has a cost from 1, tokens and a wait from 0, and texts of at most {MOST_CHARACTERS} characters; this has cost {request.cost}",
    )
