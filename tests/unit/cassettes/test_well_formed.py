# SPDX-License-Identifier: Apache-2.0
"""Documents that some request has, and those that none has."""

import pytest

from factories.cassettes import REQUESTS, RULES
from truegreen.cassettes.plain import plain, value_of
from truegreen.cassettes.request import document, read_request
from truegreen.cassettes.well_formed import base64_bytes, check_document, check_volatile
from truegreen.core.canonical import Spelled
from truegreen.core.errors import EvidenceProblem

PART = {"headers": {"a": ["b"]}, "sha256": "sha256:" + "0" * 64, "bytes": Spelled("1"), "base64": "AA=="}


def stored(name):
    """The document that a file holds of a request."""
    return value_of(plain(document(read_request(REQUESTS[name], RULES).request, with_content=True)))


def refused(given):
    """The code of its refusal."""
    with pytest.raises(EvidenceProblem) as caught:
        check_document(given, "x.json")
    assert "x.json" in caught.value.message
    return caught.value.code


@pytest.mark.parametrize("name", REQUESTS)
def test_what_a_request_has_is_allowed(name):
    """Of every kind."""
    check_document(stored(name), "x.json")


@pytest.mark.parametrize(
    "change",
    [
        {"method": None},
        {"path": Spelled("1")},
        {"query": {"a": "b"}},
        {"query": {"a": [Spelled("1")]}},
        {"headers": {"a": [None]}},
        {"headers": []},
        {"body_form": {"kind": "other"}},
        {"body_form": {"kind": "json", "more": 1}},
        {"body_form": {"kind": "json", "codings": "gzip"}},
        {"body_form": None},
        {"body_form": {"kind": "none"}, "body": {}},
        {"body_form": {"kind": "form"}, "body": {"a": 1}},
        {"body_form": {"kind": "bytes"}, "body": {"sha256": "x", "bytes": Spelled("1")}},
        {"body_form": {"kind": "bytes"}, "body": {"sha256": "x", "bytes": Spelled("1"), "base64": "A"}},
        {"body_form": {"kind": "bytes"}, "body": {"sha256": "x", "bytes": Spelled("1"), "base64": "é"}},
        {"body_form": {"kind": "multipart"}, "body": {}},
        {"body_form": {"kind": "multipart"}, "body": [{"headers": {}, "text": None}]},
        {"body_form": {"kind": "multipart"}, "body": [{"headers": {}}]},
    ],
)
def test_what_no_request_has_is_refused(change):
    """Before anything works with it."""
    assert "cassette-shape" == refused({**stored("JSON"), **change})


@pytest.mark.parametrize("change", [{}, {"sha256": "sha256:" + "1" * 64}, {"bytes": Spelled("2")}])
def test_content_that_is_not_of_its_digest_is_an_edit(change):
    """In a part; a body of bytes is checked alike."""
    given = {**stored("JSON"), "body_form": {"kind": "multipart"}, "body": [{**PART, **change}]}
    assert "cassette-edited" == refused(given)


@pytest.mark.parametrize("paths", [("",), ("body.a", "body..b"), ("body[x]",)])
def test_a_declared_path_that_is_none_is_refused(paths):
    """It would leave out something else than it shows."""
    with pytest.raises(EvidenceProblem) as caught:
        check_volatile(paths, "x.json")
    assert "cassette-shape" == caught.value.code
    check_volatile(("body.a[*]", "query.x"), "x.json")


@pytest.mark.parametrize("lines", [("A",), ("====",), ("é",), ("AA", "A ")])
def test_a_chunk_is_strict_base64(lines):
    """In lines."""
    assert b"\x00\x00\x00" == base64_bytes(("AA", "AA"))
    with pytest.raises(EvidenceProblem) as caught:
        base64_bytes(lines)
    assert "cassette-shape" == caught.value.code
