# SPDX-License-Identifier: Apache-2.0
"""Retry layers that stand on one another."""

import httpx2
import pytest

from truegreen.core.call_log import CallEntry
from truegreen.core.errors import UsageProblem
from truegreen.limiter.layers import UNNAMED, Stacked, calls_on_the_wire, check_max_retries, layer_of, stacked

S = 1_000_000


def entry(call, ended_s, *, ok=False, body="b", attempt=1, took_s=0.0, run="r", layer=""):  # noqa: PLR0913 - one value each
    """An attempt."""
    return CallEntry(
        ended_us=round(ended_s * S),
        took_s=took_s,
        run=run,
        call=call,
        attempt=attempt,
        is_ok=ok,
        request=body and f"sha256:{body}",
        layer=layer,
    )


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, ""),
        ({"x-stainless-retry-count": "0", "user-agent": "OpenAI/Python 3.57.0"}, ""),
        ({"x-stainless-retry-count": "1", "user-agent": "OpenAI/Python 3.57.0"}, "openai-sdk"),
        ({"X-Stainless-Retry-Count": " 2 ", "User-Agent": "AsyncOpenAI/Python 3.57.0"}, "openai-sdk"),
        ({"x-stainless-retry-count": "1", "user-agent": "AsyncAnthropic/Python 2.14.0"}, "anthropic-sdk"),
        ({"x-stainless-retry-count": "1", "user-agent": "Anthropic/Python 2.14.0"}, "anthropic-sdk"),
        ({"x-stainless-retry-count": "7"}, "a-generated-sdk"),
        ({"x-stainless-retry-count": "-1"}, ""),
        ({"x-stainless-retry-count": "many"}, ""),
        ({"x-stainless-retry-count": ""}, ""),
    ],
)
def test_an_sdk_that_retries_is_named(headers, expected):
    """By its own header, in any letter case."""
    assert expected == layer_of(httpx2.Headers(headers))


def test_a_loop_around_the_client_is_seen_by_the_body_that_comes_again():
    """Four calls with one body that all fail: three of them are retries that nobody announced."""
    found = stacked([entry(str(n), n) for n in range(4)])
    assert (Stacked(layer=UNNAMED, attempts=3, calls=1),) == found


@pytest.mark.parametrize(
    "entries",
    [
        [entry("a", 0, ok=True), entry("b", 1)],
        [entry("a", 0), entry("b", 1, ok=True), entry("c", 2)][1:],
        [entry("a", 0), entry("a", 1, attempt=2), entry("a", 2, attempt=3)],
        [entry("a", 0), entry("b", 1, body="c")],
        [entry("a", 0), entry("b", 1, run="s")],
        [entry("a", 0), entry("b", 500)],
        [entry("a", 0, body=""), entry("b", 1, body="")],
        [entry("a", 10, took_s=10), entry("b", 11, took_s=11)],
        [],
    ],
)
def test_samples_other_bodies_and_our_own_repetitions_are_no_layer(entries):
    """An answer asked for again, our attempts, another run, long after, at the same time."""
    assert () == stacked(entries)


def test_layers_are_told_apart_and_the_largest_comes_first():
    """An SDK and a loop in one log."""
    entries = [
        entry("a", 0, body="x", layer="openai-sdk"),
        *[entry(str(n), n, body="y") for n in range(4)],
        entry("z", 9, body="x", layer="openai-sdk"),
    ]
    assert [(UNNAMED, 3, 1), ("openai-sdk", 2, 1)] == [
        (s.layer, s.attempts, s.calls) for s in stacked(entries)
    ]


@pytest.mark.parametrize(
    ("harness", "retries", "calls"), [(4, 2, 12), (12, 2, 36), (15, 2, 45), (3, 0, 3), (1, 2, 3)]
)
def test_layers_multiply(harness, retries, calls):
    """B1 to B4: 12, 36 and 45 requests out of what looks like 4, 12 and 15."""
    assert calls == calls_on_the_wire(harness, retries)


@pytest.mark.parametrize("value", [1, 2, -1, True, False, None, "0", 0.0])
def test_a_client_that_retries_is_refused(value):
    """Everything but the number 0."""
    with pytest.raises(UsageProblem) as caught:
        check_max_retries(value, client="openai.OpenAI")
    assert "sdk-retries-enabled" == caught.value.code


def test_a_client_that_does_not_retry_is_fine():
    """Nothing is raised."""
    check_max_retries(0)
