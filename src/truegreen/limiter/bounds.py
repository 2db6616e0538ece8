# SPDX-License-Identifier: Apache-2.0
"""Asks that are none: the refusal that every ledger gives, and that a client gives before an ask travels.

What it decides: which numbers and texts an ask may have. What it leaves: every other refusal, to the ledger.

- Every number has an upper bound too: a state holds 64 bits, and a wait or a cost beyond a bound is a mistake.
"""

from __future__ import annotations

from truegreen.limiter.limits import LONGEST, MOST_CALLS, MOST_CHARACTERS, MOST_TOKENS
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
        message=f"an ask has a cost from 1 to {MOST_CALLS}, up to {MOST_TOKENS} tokens, a wait from 0 and texts of at most {MOST_CHARACTERS} characters; this has cost {request.cost}, {request.prompt_tokens} and {request.output_tokens} tokens",
    )
