# SPDX-License-Identifier: Apache-2.0
"""Shapes of part 4, through the product's own functions."""

from __future__ import annotations

import pytest

from truegreen.conformance.shapes import UNSUPPORTED, Answer, answer
from truegreen.wiring.conformance import shapes

NOW = "2026-08-13T15:35:13Z"


def found(given: dict) -> Answer:
    """The answer."""
    return answer(given, shapes())


def bucket(cost: int, **more) -> dict:
    """One request at a bucket of 10 that refills by 2 a second."""
    return {"bucket": {"capacity": 10, "refill_per_s": 2, **more}, "request": {"cost": cost}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (bucket(10), ("admit", 0, 0, None)),
        (bucket(11), ("block", None, 10, "cost-over-capacity")),
        (bucket(5, level=3), ("hold", 1, 3, "deadline")),
        (bucket(11, level=3), ("block", None, 3, "cost-over-capacity")),
        ({**bucket(5, level=3), "waited_s": 1}, ("admit", 0, 0, None)),
    ],
)
def test_one_request_leaves_waits_or_never_leaves(given, expected):
    """What is refused leaves the bucket as it was."""
    said = found(given)
    assert expected == (
        said.verdict,
        *(said.facts["wait_s"], said.facts["bucket_after"], said.facts.get("reason")),
    )


def at_once(requests: int, level: int = 0, capacity: int = 4) -> dict:
    """Requests three seconds after the level was known; one unit a second."""
    return {
        "bucket": {
            "capacity": capacity,
            "refill_per_s": 1,
            "level": level,
            "updated": "2026-08-13T15:35:10Z",
        },
        "now": NOW,
        "requests": requests,
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (at_once(3), ("admit", {"level_before": 3, "admitted": 3})),
        (
            at_once(6),
            ("hold", {"level_before": 3, "admitted": 3, "number_4_wait_s": 1, "reason": "deadline"}),
        ),
        (at_once(4, level=4), ("admit", {"level_before": 4, "admitted": 4})),
        (at_once(0), ("admit", {"level_before": 3, "admitted": 0})),
    ],
)
def test_requests_at_once_take_what_was_refilled(given, expected):
    """Up to the cap."""
    said = found(given)
    assert expected == (said.verdict, said.facts)


@pytest.mark.parametrize(
    ("capacity", "refill", "seconds", "verdict", "admitted"),
    [
        (12, 0.2, 60, "block", 23),
        (1, 0.2, 60, "admit", 12),
        (2, 0.2, 60, "block", 13),
        (15, 0.25, 60, "block", 29),
        (1, 0.1, 30, "admit", 3),
        (60, 100, 60, "block", 6059),
    ],
)
def test_a_bucket_keeps_a_contract_or_breaks_it(capacity, refill, seconds, verdict, admitted):
    """In the worst minute; what was admitted is counted step by step."""
    said = found(
        {
            "limit": {"requests_per_minute": 12},
            "bucket": {"capacity": capacity, "refill_per_s": refill, "start": "full"},
            "arrivals": f"greedy for {seconds} s",
        }
    )
    assert (verdict, admitted) == (said.verdict, said.facts[f"admitted_in_{seconds}s"])


@pytest.mark.parametrize(
    ("attempts", "retries", "endpoint", "expected"),
    [
        (4, 2, "always 429", ("block", 12)),
        (15, 2, "always 503", ("block", 45)),
        (4, 2, "always 400", ("block", 4)),
        (4, 0, "always 429", ("admit", 4)),
    ],
)
def test_two_layers_multiply_what_both_repeat(attempts, retries, endpoint, expected):
    """A client that retries is refused, whatever the endpoint does."""
    sdk = {"name": "x", "max_retries": retries}
    said = found({"harness_attempts": attempts, "sdk": sdk, "endpoint": endpoint})
    assert expected == (said.verdict, said.facts["calls_seen"])


@pytest.mark.parametrize(
    ("status", "value", "limit", "expected"),
    [
        (429, "1", None, ("retry", 1, "wait", "429-told")),
        (429, "301", None, ("hold", 301, "give_up", "wait-over-limit")),
        (429, "301", 400, ("retry", 301, "wait", "429-told")),
        (429, "2", 1.5, ("hold", 2, "give_up", "wait-over-limit")),
        (429, "soon", None, ("retry", None, "wait", "429-untold")),
        (404, "5", None, ("hold", None, "give_up", "never-retried")),
    ],
)
def test_a_told_wait_is_waited_or_given_up(status, value, limit, expected):
    """By the product's limit or the input's."""
    given = {"now": NOW, "status": status, "value": value} | ({} if limit is None else {"max_wait_s": limit})
    said = found(given)
    assert expected == (said.verdict, *(said.facts[name] for name in ("wait_s", "action", "reason")))


STREAM = "text/event-stream"


@pytest.mark.parametrize(
    ("status", "kind", "body", "expected"),
    [
        (200, STREAM, "data: [DONE]\n\n", ("admit", None, True)),
        (200, STREAM, "", ("retry", "connection_error", False)),
        (
            200,
            STREAM,
            'event: error\ndata: {"error": {"type": "overloaded_error"}}\n\n',
            ("retry", "server_error", False),
        ),
        (200, STREAM, 'data: {"error": {"type": "what"}}\n\n', ("hold", "unclassified", False)),
        (429, "application/json", "{}", ("retry", "rate_limited", True)),
        (
            429,
            "application/json",
            '{"error": {"type": "insufficient_quota"}}',
            ("hold", "rate_limited", True),
        ),
        (200, "application/json", "{}", ("admit", None, True)),
    ],
)
def test_an_answer_is_whole_repeated_or_neither(status, kind, body, expected):
    """Its end mark counts only where it is a stream."""
    said = found({"status": status, "content_type": kind, "body": body})
    assert expected == (said.verdict, said.facts.get("class"), said.facts["end_marker"])


CONTRACT = {
    "limit": {"requests_per_minute": 12},
    "bucket": {"capacity": 1, "refill_per_s": 0.2},
    "arrivals": "greedy for 60 s",
}
LAYERS = {"harness_attempts": 4, "sdk": {"max_retries": 0}, "endpoint": "always 429"}


@pytest.mark.parametrize(
    "given",
    [
        bucket("5"),
        bucket(True),
        bucket(5, colour="red"),
        bucket(5, level="full"),
        bucket(5, level=11),
        bucket(5, refill_per_s=0),
        bucket(5, refill_per_s=-1),
        bucket(5, capacity=0),
        bucket(5, capacity=2.5),
        {"bucket": 5, "request": {"cost": 5}},
        {"bucket": {"capacity": 10, "refill_per_s": 2}, "request": {"cost": 5, "cost_tokens": 5}},
        {**at_once(3), "now": "today"},
        {**at_once(3), "now": 5},
        {**at_once(3), "requests": -1},
        {**at_once(3), "bucket": {}},
        {**CONTRACT, "arrivals": "now and then"},
        {**CONTRACT, "limit": {"requests_per_hour": 12}},
        {**CONTRACT, "limit": {"requests_per_minute": "12"}},
        {**CONTRACT, "bucket": {"capacity": 1, "refill_per_s": 0.2, "start": "half"}},
        {**CONTRACT, "bucket": {"capacity": 1, "refill_per_s": "fast"}},
        {**CONTRACT, "bucket": {"capacity": 1, "refill_per_s": 0.2, "colour": "red"}},
        {**LAYERS, "endpoint": "moody"},
        {**LAYERS, "harness_attempts": "4"},
        {**LAYERS, "sdk": {"max_retries": None}},
        {**LAYERS, "sdk": {"max_retries": -1}},
        {**LAYERS, "sdk": {"max_retries": 0, "proxy": "x"}},
        {"now": NOW, "status": 429, "values": []},
        {"now": NOW, "status": 429, "values": "120"},
        {"now": NOW, "status": 429, "values": [120]},
        {"now": NOW, "status": "429", "values": ["120"]},
        {"now": NOW, "status": 429, "values": ["120"], "max_wait_s": "long"},
        {"now": "today", "status": 429, "values": ["120"]},
        {"now": NOW, "status": 429, "values": ["120"], "value": "120"},
        {"exchanges": []},
        {"exchanges": [429]},
        {"exchanges": [{"status": "429"}]},
        {"exchanges": [{"status": 429, "headers": {"Retry-After": 1}}]},
        {"exchanges": [{"status": 429, "body": "x"}]},
        {"exchanges": [{"status": 429, "headers": {"Retry-After": "Thu, 13 Aug 2026 15:37:13 GMT"}}]},
        {"status": "200", "content_type": STREAM, "body": ""},
        {"status": 200, "content_type": None, "body": ""},
        {"status": 200, "content_type": STREAM, "body": 5},
    ],
)
def test_what_is_not_understood_is_unsupported(given):
    """An unknown key, word or type is never guessed at."""
    assert UNSUPPORTED == found(given).verdict
