# SPDX-License-Identifier: Apache-2.0
"""Recordings as nock's recorder writes them."""

import gzip
import json

import pytest

from truegreen.cassettes.foreign.nock import entries
from truegreen.cassettes.foreign.taken import Left
from truegreen.core.errors import EvidenceProblem

CODED = gzip.compress(b'{"x": 1}', mtime=0)
GZIP = ["Content-Type", "application/json", "Content-Encoding", "gzip"]


def _one(**changes):
    said = {
        "scope": "https://api.example.com:443", "method": "POST", "path": "/v1/x?a=b", "body": {"model": "m"}, "status": 200,
        "response": {"ok": True}, "rawHeaders": ["Content-Type", "application/json"],
    }  # fmt: skip
    (found,) = entries(json.dumps([said | changes]).encode(), "n.json")
    return found


def test_an_exchange_is_read():
    """Parsed bodies are JSON again, and that is told."""
    found = _one()
    assert ("api.example.com", "/v1/x", "a=b", {"model": "m"}, {"ok": True}) == (
        found.host, found.asked.path, found.asked.query, json.loads(found.asked.body), json.loads(found.answered.body),
    )  # fmt: skip
    assert (("content-type", "application/json"),) == found.asked.headers
    assert {"request headers are not in the file", "JSON is written anew: its spelling is lost"} <= set(
        found.losses
    )
    assert "request headers are not in the file" not in _one(reqheaders={"x": ["y"]}).losses


@pytest.mark.parametrize(
    ("changes", "body"),
    [
        ({"response": [CODED[:9].hex(), CODED[9:].hex()], "rawHeaders": GZIP}, CODED),
        ({"response": CODED.hex(), "responseIsBinary": True}, CODED),
        ({"response": "text"}, b"text"),
        ({"response": ""}, b""),
        ({"response": ["a", "b"]}, b'["a", "b"]'),
        ({"response": [1]}, b"[1]"),
        ({"rawHeaders": {"content-type": "x"}, "response": "é"}, "é".encode()),
    ],
)
def test_each_spelling_of_an_answer_is_read(changes, body):
    """Hexadecimal only where it was coded or binary."""
    assert body == _one(**changes).answered.body


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": 3}, {"path": "v1"}, {"path": None}, {"status": None}, {"rawHeaders": ["a"]}, {"rawHeaders": "x"},
        {"rawHeaders": GZIP, "response": ["zz"]}, {"scope": "https://h:x"},
    ],
)  # fmt: skip
def test_what_is_none_is_left(changes):
    """With its place."""
    found = _one(**changes)
    assert (Left, "n.json, scope 1") == (type(found), found.where)


@pytest.mark.parametrize("data", [b"", b"{}", b"nock('x')", b"\xff"])
def test_what_is_no_list_is_refused(data):
    """Scopes that are JavaScript are no data."""
    with pytest.raises(EvidenceProblem) as caught:
        list(entries(data, "n.json"))
    assert "foreign-unreadable" == caught.value.code


def test_an_entry_that_is_no_object_is_left():
    """And hides no other."""
    assert [Left, Left] == [type(one) for one in entries(b"[3, null]", "n.json")]


@pytest.mark.parametrize(("body", "expected"), [(None, b""), ("", b""), ("a=1", b"a=1"), ([1], b"[1]")])
def test_each_spelling_of_a_request_is_read(body, expected):
    """Text as it is, parsed JSON as JSON, nothing as nothing."""
    assert expected == _one(body=body, response="x").asked.body


def test_a_content_type_that_is_there_stays():
    """And no loss of headers is claimed."""
    found = _one(reqheaders={"Content-Type": ["application/json; charset=utf-8"]}, body="x", response="y")
    assert (("Content-Type", "application/json; charset=utf-8"),) == found.asked.headers
    assert 2 == len(found.losses)


def test_headers_may_be_missing():
    """Then there are none."""
    assert () == _one(rawHeaders=None, response=None).answered.headers
