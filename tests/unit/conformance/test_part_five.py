# SPDX-License-Identifier: Apache-2.0
"""Shapes of part 5: neighbours of its cases, through the product."""

import base64
import gzip

import pytest

from truegreen.conformance.shapes import UNSUPPORTED, answer
from truegreen.wiring.conformance import shapes

SHAPES = shapes()
POST = {"method": "POST", "path": "/chat", "body": '{"prompt":"a"}', "response": "x"}


def found(given):
    """Verdict and facts."""
    said = answer(given, SHAPES)
    return said.verdict, said.facts


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"path": "/other"}, "path-mismatch"),
        ({"method": "PUT"}, "method-mismatch"),
        ({"headers": {"anthropic-beta": "x"}}, "headers-mismatch"),
        ({"query": "a=1"}, "query-mismatch"),
        ({"body": '{"prompt":"b"}'}, "body-mismatch"),
        ({"body": {"prompt": ["a"]}}, "body-mismatch"),
    ],
)
def test_what_differs_is_named(request_, reason):
    """Whatever was matched on."""
    asked = {**{name: POST[name] for name in ("method", "path", "body")}, **request_}
    verdict, facts = found({"recorded": POST, "request": asked, "match_on": ["method"]})
    assert ("block", False, reason) == (verdict, facts["replayed"], facts["reason"])


def test_a_recording_without_its_body_stands_for_nothing():
    """It is no wildcard; a request that has none by nature is answered."""
    bare = {"method": "POST", "path": "/chat"}
    assert ("block", "cassette-without-body") == (
        found({"recorded": bare, "request": bare})[0],
        found({"recorded": bare, "request": bare})[1]["reason"],
    )
    get = {"method": "GET", "url": "http://x.example/a?b=1"}
    assert (
        "admit"
        == found(
            {"recorded": {**get, "response": {}}, "request": {"method": "GET", "path": "/a", "query": "b=1"}}
        )[0]
    )


def test_a_match_is_by_value_and_the_key_is_told_beside_it():
    """One number in two spellings; a name twice has no value."""
    verdict, facts = found({"recorded_body": '{"n":0}', "requests": ['{"n":0}', '{"n":0.0}', '{"n":-0}']})
    assert ("admit", [True] * 3, [True, False, False]) == (verdict, facts["match"], facts["same_key"])
    verdict, facts = found({"recorded_body": '{"n":2}', "requests": ['{"n":1,"n":2}']})
    assert ("block", "duplicate-key") == (verdict, facts["reason"])


@pytest.mark.parametrize(
    ("headers", "body", "verdict"),
    [
        (
            {"content-encoding": "gzip"},
            {"body_base64": base64.b64encode(gzip.compress(b"{}")).decode()},
            "admit",
        ),
        (
            {"content-encoding": "gzip"},
            {"body_base64": base64.b64encode(gzip.compress(b"{}")[:-1]).decode()},
            "hold",
        ),
        ({"Content-Encoding": ["br"]}, {"body": "{}"}, "hold"),
        ({"Content-Encoding": ["identity"]}, {"body": "{}"}, "admit"),
        ({}, {"body": "", "status": 204}, "admit"),
    ],
)
def test_a_body_and_its_coding_agree_or_not(headers, body, verdict):
    """In every form in which a body can be given."""
    assert verdict == found({"response": {"headers": headers, **body}})[0]


@pytest.mark.parametrize(
    ("mode", "calls", "verdict", "reason"),
    [
        ("none", ["GET /1 (recorded)", "GET /2 (not recorded)"], "block", "cassette-missing"),
        ("once", ["GET /1 (recorded)"], "block", "mode-not-replay-only"),
        ("replay", ["GET /1 (recorded)", "GET /1"], "block", "cassette-exhausted"),
        ("replay", ["GET /1 (recorded)"], "admit", None),
    ],
)
def test_a_mode_is_judged_and_what_it_would_play(mode, calls, verdict, reason):
    """Nothing is ever added."""
    said, facts = found({"record_mode": mode, "cassette_entries": 1, "requests": calls})
    assert (verdict, reason, 0, 0, 1) == (
        said,
        facts.get("reason"),
        facts["live_calls"],
        facts["files_written"],
        facts["cassette_entries_after"],
    )


@pytest.mark.parametrize(
    ("text", "verdict", "reason"),
    [
        ("a: !!python/name:os.system x", "block", "yaml-tag"),
        ("a: !ruby/object:A {}", "block", "yaml-tag"),
        ("a: [", "hold", "bad-yaml"),
        ("a: b\na: c", "hold", "yaml-two-readings"),
        ("a: b", "admit", None),
    ],
)
def test_a_foreign_file_is_plain_data_or_refused(text, verdict, reason):
    """And runs nothing."""
    said, facts = found({"cassette_yaml": text})
    assert (verdict, reason, False, verdict == "admit") == (
        said,
        facts.get("reason"),
        facts["code_run"],
        facts["loaded"],
    )


def test_a_filter_for_requests_is_no_filter_for_answers():
    """A name that it lacks leaks on the side of the request."""
    exchange = {
        "request_headers": {"X-Api-Key": "k-12345678", "A": "b"},
        "response_headers": {"SET-COOKIE": ["a=12345678"]},
    }
    verdict, facts = found({"filter_headers": ["authorization", "set-cookie"], "exchange": exchange})
    assert ("block", ["request.headers.X-Api-Key", "response.headers.SET-COOKIE"]) == (verdict, facts["leak"])
    assert {"request.X-Api-Key": False, "response.SET-COOKIE": False} == facts["stored"]


@pytest.mark.parametrize(
    ("entries", "played", "outcome", "verdict", "unplayed"),
    [
        (2, 0, "passed", "hold", [0, 1]),
        (2, 2, "failed", "block", []),
        (1, 2, "passed", "block", []),
        (0, 0, "passed", "admit", []),
        (3, 3, "passed", "admit", []),
    ],
)
def test_what_was_not_played_is_listed(entries, played, outcome, verdict, unplayed):
    """By its place in the order of recording."""
    said, facts = found({"cassette_entries": entries, "played": played, "test_outcome": outcome})
    assert (verdict, unplayed) == (said, facts["unplayed"])


@pytest.mark.parametrize(
    "given",
    [
        {"recorded": 1, "request": {}},
        {"recorded": {"colour": 1}, "request": {}},
        {"recorded_body": 1, "requests": []},
        {"response": 1},
        {"response": {"headers": {}, "body": 1}},
        {"cassettes_in_commit": [1], "request": {}},
        {"record_mode": "none", "cassette_entries": 2, "requests": ["GET /1 (recorded)"]},
        {"record_mode": "none", "cassette_entries": 0, "requests": ["get it"]},
        {"record_mode": "none", "cassette_entries": 0, "requests": 1},
        {"cassette_yaml": 1},
        {"filter_headers": [], "exchange": {"more": {}}},
        {"cassette_entries": -1, "played": 0, "test_outcome": "passed"},
        {"cassette_entries": True, "played": 0, "test_outcome": "passed"},
    ],
)
def test_what_has_another_shape_is_not_guessed(given):
    """Unsupported agrees with nothing."""
    assert UNSUPPORTED == found(given)[0]
