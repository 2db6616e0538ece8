# SPDX-License-Identifier: Apache-2.0
"""What the end of an attempt signals."""

import pytest

from truegreen.core.admission import Ended
from truegreen.core.exchange import End
from truegreen.limiter.signals import ERROR_TYPES, QUOTA_TYPES, Signal, is_quota_spent, signal_of


def ended(status, end=End.COMPLETE, **more):
    """An attempt."""
    return Ended(status=status, end=end, **more)


@pytest.mark.parametrize("end", list(End))
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *((status, Signal.RATE_LIMITED) for status in (429,)),
        *((status, Signal.SERVER_ERROR) for status in (500, 502, 503, 504, 529, 599, 600)),
        *(
            (status, Signal.REJECTED)
            for status in (100, 302, 400, 401, 402, 404, 408, 409, 413, 422, 425, 499)
        ),
    ],
)
def test_a_status_that_arrived_counts_whatever_came_after(status, end, expected):
    """529 is a server error like any other; 408 and 409 are rejections like any other."""
    assert expected is signal_of(ended(status, end, error_type="overloaded_error"))


@pytest.mark.parametrize(
    ("status", "end", "expected"),
    [
        (200, End.COMPLETE, Signal.ANSWERED),
        (204, End.COMPLETE, Signal.ANSWERED),
        (200, End.UPSTREAM_CLOSED, Signal.CUT),
        (200, End.MALFORMED, Signal.CUT),
        (200, End.UNREACHABLE, Signal.CUT),
        (200, End.TIMEOUT, Signal.TIMED_OUT),
        (200, End.CLIENT_CLOSED, Signal.CALLER_LEFT),
        (200, End.REFUSED, Signal.UNCLASSIFIED),
        (200, End.NOT_FORWARDED, Signal.UNCLASSIFIED),
        (None, End.TIMEOUT, Signal.TIMED_OUT),
        (None, End.REFUSED, Signal.NOT_CONNECTED),
        (None, End.UNREACHABLE, Signal.NOT_CONNECTED),
        (None, End.UPSTREAM_CLOSED, Signal.CUT),
        (None, End.MALFORMED, Signal.CUT),
        (None, End.CLIENT_CLOSED, Signal.CALLER_LEFT),
        (None, End.NOT_FORWARDED, Signal.REJECTED),
        (None, End.COMPLETE, Signal.UNCLASSIFIED),
    ],
)
def test_without_a_failing_status_the_end_counts(status, end, expected):
    """An answer without its end is no answer."""
    assert expected is signal_of(ended(status, end))


@pytest.mark.parametrize(
    ("error", "text", "expected"),
    [
        ("overloaded_error", None, Signal.SERVER_ERROR),
        ("Server_Error", None, Signal.SERVER_ERROR),
        ("rate_limit_error", None, Signal.RATE_LIMITED),
        ("insufficient_quota", None, Signal.RATE_LIMITED),
        ("invalid_request_error", None, Signal.REJECTED),
        ("tokens", "Limit reached on tokens per day (TPD)", Signal.RATE_LIMITED),
        ("brand_new_error", None, Signal.UNCLASSIFIED),
        ("", "", Signal.UNCLASSIFIED),
    ],
)
@pytest.mark.parametrize("end", [End.COMPLETE, End.UPSTREAM_CLOSED])
def test_an_error_inside_a_success_has_the_class_of_its_type(error, text, expected, end):
    """Whether the stream ended properly after it or not."""
    assert expected is signal_of(ended(200, end, error_type=error, error_text=text))


@pytest.mark.parametrize(
    ("error", "text", "expected"),
    [
        ("insufficient_quota", None, True),
        ("INSUFFICIENT_QUOTA", None, True),
        ("billing_hard_limit_reached", None, True),
        ("rate_limit_exceeded", "Limit 500000, used 499000 tokens per day (TPD).", True),
        (None, "Quota GenerateRequestsPerDayPerProjectPerModel-FreeTier", True),
        (None, "requests_per_day", True),
        (None, "your monthly budget", True),
        (None, "RPD exceeded", True),
        ("rate_limit_error", "Your credit balance is too low", True),
        ("rate_limit_exceeded", "Limit 30000 tokens per min (TPM)", False),
        (None, "Quota GenerateRequestsPerMinutePerProject. You exceeded your current quota.", False),
        (None, "try again on another day", False),
        ("tokens", None, False),
        (None, None, False),
    ],
)
def test_a_spent_quota_is_told_from_a_rush(error, text, expected):
    """A day, a month or money; a minute passes."""
    assert expected is is_quota_spent(ended(429, error_type=error, error_text=text))


def test_the_lists_are_lower_case_and_apart():
    """A word has one meaning."""
    assert [] == [word for word in [*ERROR_TYPES, *QUOTA_TYPES] if word != word.lower()]
    assert set() == ERROR_TYPES.keys() & QUOTA_TYPES
