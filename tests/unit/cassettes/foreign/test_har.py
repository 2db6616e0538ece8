# SPDX-License-Identifier: Apache-2.0
"""HTTP archives as Polly.js and browsers write them."""

import base64
import gzip
import json

import pytest

from truegreen.cassettes.foreign.har import entries
from truegreen.cassettes.foreign.taken import Left, Taken
from truegreen.core.errors import EvidenceProblem

CODED = gzip.compress(b'{"x": 1}', mtime=0)


def _entry(content, *, answered=(), **request):
    return {
        "startedDateTime": "2026-01-02T03:04:05.678+01:00",
        "request": {
            "method": "POST", "url": "https://h/v1/x?k=v",
            "headers": [{"name": "content-type", "value": "application/json"}, {"name": ":method", "value": "POST"}],
            "postData": {"mimeType": "application/json", "text": '{"a":1}'},
            **request,
        },
        "response": {"status": 200, "headers": [{"name": n, "value": v} for n, v in answered], "content": content},
    }  # fmt: skip


def _one(content, **more):
    (found,) = entries(json.dumps({"log": {"entries": [_entry(content, **more)]}}).encode(), "r.har")
    return found


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ({"text": "ok", "size": 2}, b"ok"),
        ({"size": 0}, b""),
        ({"text": base64.b64encode(CODED).decode(), "encoding": "base64"}, CODED),
        (
            {
                "text": json.dumps(
                    [base64.b64encode(CODED[:9]).decode(), base64.b64encode(CODED[9:]).decode()]
                ),
                "encoding": "base64",
            },
            CODED,
        ),
        ({"text": json.dumps([CODED.hex()]), "_isBinary": True}, CODED),
        ({"text": CODED.hex(), "_isBinary": True}, CODED),
        ({"text": "[1]"}, b"[1]"),
    ],
)
def test_each_spelling_of_a_body_is_read(content, body):
    """Text, Base64, a list of pieces, hexadecimal."""
    assert body == _one(content).answered.body


def test_request_date_and_headers_are_read():
    """The date in UTC; pseudo headers are none."""
    found = _one({"text": "ok"})
    assert ("2026-01-02T02:04:05Z", b'{"a":1}', "k=v", (("content-type", "application/json"),)) == (
        found.recorded_at, found.asked.body, found.asked.query, found.asked.headers,
    )  # fmt: skip


def test_a_body_that_a_browser_unpacked_loses_its_coding():
    """Archives of browsers hold the decoded text under the coded header."""
    found = _one({"text": '{"x": 1}'}, answered=(("content-encoding", "gzip"), ("x", "y")))
    assert (("x", "y"),) == found.answered.headers
    assert "unpacked" in found.losses[-1]


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ({"size": 5}, {}),
        ({"text": 5}, {}),
        ({"text": "%%%", "encoding": "base64"}, {}),
        ({"text": "ok"}, {"postData": {"params": [{"name": "a"}]}}),
        ({"text": "ok"}, {"postData": {"text": 3}}),
        ({"text": "ok"}, {"headers": [{"name": "x"}]}),
        ({"text": "ok"}, {"url": 3}),
    ],
)
def test_what_is_not_in_the_file_is_left(content, more):
    """With its place."""
    found = _one(content, **more)
    assert (Left, "r.har, entry 1") == (type(found), found.where)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"log": []}', b'{"log": {"entries": 3}}', b"\xff"])
def test_what_is_no_archive_is_refused(data):
    """Whole."""
    with pytest.raises(EvidenceProblem) as caught:
        list(entries(data, "r.har"))
    assert "foreign-unreadable" == caught.value.code


@pytest.mark.parametrize("date", [None, "yesterday", "2026-01-02T03:04:05", 5])
def test_a_date_without_zone_is_none(date):
    """It could be any day's."""
    entry = _entry({"text": "ok"}) | {"startedDateTime": date}
    (found,) = entries(json.dumps({"log": {"entries": [entry]}}).encode(), "r.har")
    assert (Taken, None) == (type(found), found.recorded_at)


@pytest.mark.parametrize("entry", [3, None, {}, {"request": 3, "response": {}}, {"request": {}}])
def test_an_entry_that_is_none_is_left(entry):
    """With its place."""
    (found,) = entries(json.dumps({"log": {"entries": [entry]}}).encode(), "r.har")
    assert isinstance(found, Left)


def test_pieces_of_another_kind_are_one_text():
    """JSON that is no list of texts is Base64 or nothing."""
    for text in ("123", "[1]", '{"a": 1}'):
        found = _one({"text": text, "encoding": "base64"})
        assert isinstance(found, Left) or found.answered.body
