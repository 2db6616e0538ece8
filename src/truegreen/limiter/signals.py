# SPDX-License-Identifier: Apache-2.0
"""What the end of one attempt signals, before anybody asks whether it may be repeated.

What it decides: the signal of an attempt, and whether a 429 means a spent quota. What it leaves: the consequence, to
the retry table.

- A status that arrived counts, however the exchange ended afterwards: 429, at least 500, everything else that is
  not 2xx.
- Inside a 2xx the first that applies counts: an error object has the class of its type, an exchange without its end
  is cut, one that ran into the caller's time limit has timed out.
- An error of a type that nobody listed is ``unclassified``: it is not repeated on a guess.
- A quota is spent if its type says so, or if its message speaks of a day, a month or money. A message that speaks of
  a minute does not, whatever else it says.

Sources: platform.openai.com/docs/guides/error-codes, docs.anthropic.com/en/api/errors,
ai.google.dev/gemini-api/docs/troubleshooting, console.groq.com/docs/rate-limits.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, assert_never

from truegreen.core.admission import Ended
from truegreen.core.exchange import End

TOO_MANY_REQUESTS: Final = 429
FIRST_SERVER_ERROR: Final = 500
SUCCESS: Final = range(200, 300)


class Signal(Enum):
    """What an attempt's end says."""

    ANSWERED = "answered"
    """A whole answer without an error."""
    RATE_LIMITED = "rate-limited"
    """Turned away for its rate: 429, or an error of that type in a stream."""
    SERVER_ERROR = "server-error"
    """Status 500 and above, 529 too, or an error of that type in a stream."""
    REJECTED = "rejected"
    """Every other status that is not 2xx, an error of that type, or bytes that are no request."""
    TIMED_OUT = "timed-out"
    """The caller's time limit for one attempt passed after leave."""
    CUT = "cut"
    """The upstream closed without an end, or its bytes are not HTTP."""
    NOT_CONNECTED = "not-connected"
    """No connection came about."""
    CALLER_LEFT = "caller-left"
    """The caller hung up."""
    UNCLASSIFIED = "unclassified"
    """An error of a type that nobody listed, or an end that says nothing."""
    DIFFERS = "output-differs"
    """The answer is whole and is not the one that the test expects: never seen on a wire, said by a caller."""


_WORDS: Final[dict[Signal, str]] = {
    Signal.RATE_LIMITED: "rate_limit_error rate_limit_exceeded too_many_requests requests tokens",
    Signal.SERVER_ERROR: """
        overloaded_error overloaded engine_overloaded api_error server_error internal_error internal_server_error
        service_unavailable service_unavailable_error timeout_error bad_gateway vector_store_timeout""",
    Signal.REJECTED: """
        invalid_request_error authentication_error permission_error not_found_error request_too_large billing_error
        conflict_error unprocessable_entity_error invalid_prompt invalid_api_key model_not_found content_filter
        context_length_exceeded string_above_max_length unsupported_parameter""",
}
ERROR_TYPES: Final = {word: signal for signal, words in _WORDS.items() for word in words.split()}
"""Types and codes of error objects, by the vendors' words; compared in lower case."""

QUOTA_TYPES: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "quota_exceeded"}
    | {"access_terminated", "insufficient_balance", "insufficient_credits", "daily_limit_exceeded"}
)
"""Types and codes that mean: no wait of a job helps."""
_LONG_PERIOD: Final = re.compile(
    r"per[\s_-]?(?:day|month)|\b[TR]PD\b|\b(?:daily|monthly)\b"
    r"|insufficient[\s_-](?:quota|balance|credits?|funds)|\bcredit balance\b|\bspend(?:ing)? (?:limit|cap)",
    re.IGNORECASE,
)


def signal_of(ended: Ended) -> Signal:
    """The signal of one attempt."""
    status = ended.status
    if status is None:
        return _without_status(ended.end)
    if status == TOO_MANY_REQUESTS:
        return Signal.RATE_LIMITED
    if status >= FIRST_SERVER_ERROR:
        return Signal.SERVER_ERROR
    if status not in SUCCESS:
        return Signal.REJECTED
    if ended.error_type is not None:
        return ERROR_TYPES.get(ended.error_type.lower(), _quota_or_unclassified(ended))
    return _with_success(ended.end)


def is_quota_spent(ended: Ended) -> bool:
    """Whether a rate limit is one that no job can wait out."""
    if (ended.error_type or "").lower() in QUOTA_TYPES:
        return True
    return _LONG_PERIOD.search(ended.error_text or "") is not None


def _quota_or_unclassified(ended: Ended) -> Signal:
    return Signal.RATE_LIMITED if is_quota_spent(ended) else Signal.UNCLASSIFIED


def _without_status(end: End) -> Signal:
    match end:
        case End.TIMEOUT:
            return Signal.TIMED_OUT
        case End.REFUSED | End.UNREACHABLE:
            return Signal.NOT_CONNECTED
        case End.UPSTREAM_CLOSED | End.MALFORMED:
            return Signal.CUT
        case End.CLIENT_CLOSED:
            return Signal.CALLER_LEFT
        case End.NOT_FORWARDED:
            return Signal.REJECTED
        case End.COMPLETE:  # complete without a status contradicts itself
            return Signal.UNCLASSIFIED
        case never:
            assert_never(never)


def _with_success(end: End) -> Signal:
    match end:
        case End.COMPLETE:
            return Signal.ANSWERED
        case End.TIMEOUT:
            return Signal.TIMED_OUT
        case End.UPSTREAM_CLOSED | End.MALFORMED | End.UNREACHABLE:
            return Signal.CUT
        case End.CLIENT_CLOSED:
            return Signal.CALLER_LEFT
        case End.REFUSED | End.NOT_FORWARDED:  # a status from where no request went contradicts itself
            return Signal.UNCLASSIFIED
        case never:
            assert_never(never)
