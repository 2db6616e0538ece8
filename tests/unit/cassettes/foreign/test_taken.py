# SPDX-License-Identifier: Apache-2.0
"""Exchanges out of parts that another tool wrote."""

import gzip

import pytest

from truegreen.cassettes.foreign.taken import NotTakenError, exchange, header_pairs


def _made(**changes):
    said = {
        "where": "w", "method": "post", "url": "https://api.example.com/v1/x?a=1", "request_headers": (),
        "request_body": b"{}", "status": 200, "headers": (), "body": b"ok",
    }  # fmt: skip
    return exchange(**(said | changes))


@pytest.mark.parametrize(
    ("url", "host", "path", "query"),
    [
        ("https://api.example.com/v1/x?a=1&b=%2F", "api.example.com", "/v1/x", "a=1&b=%2F"),
        ("https://api.example.com:443", "api.example.com", "/", ""),
        ("http://127.0.0.1:8080/x#f", "127.0.0.1:8080", "/x", ""),
        ("http://user:pass@example.com/x", "example.com", "/x", ""),
    ],
)
def test_an_address_is_host_path_and_query(url, host, path, query):
    """A port only where it is not the scheme's; no user, no fragment."""
    made = _made(url=url)
    assert (host, path, query, "POST") == (made.host, made.asked.path, made.asked.query, made.asked.method)


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "ftp://x/y"}, {"url": "/v1"}, {"url": None}, {"url": "http://x:99999/"}, {"url": "http://[x/"},
        {"method": None}, {"method": "GET /"}, {"method": ""}, {"status": "200"}, {"status": 99}, {"status": True},
    ],
)  # fmt: skip
def test_what_is_no_exchange_is_not_taken(changes):
    """Nothing is guessed in its stead."""
    with pytest.raises(NotTakenError):
        _made(**changes)


def test_a_body_that_was_unpacked_loses_its_coding():
    """A header that says gzip over plain text would make every replay fail; really coded bytes stay."""
    headers = (("Content-Encoding", "gzip"), ("Content-Length", "40"), ("x", "y"))
    plain = _made(headers=headers, body=b'{"a":1}')
    assert ((("x", "y"),), True) == (plain.answered.headers, "unpacked" in plain.losses[0])
    coded = _made(headers=headers, body=gzip.compress(b'{"a":1}'))
    assert (headers, ()) == (coded.answered.headers, coded.losses)
    assert headers == _made(headers=headers, body=b"").answered.headers


@pytest.mark.parametrize("headers", [[], "x", {"a": {}}, {"a": [None]}, {3: "x"}])
def test_headers_of_another_shape_are_not_taken(headers):
    """A header without text is none."""
    with pytest.raises(NotTakenError):
        list(header_pairs(headers))


def test_headers_that_stand_twice_stand_twice():
    """Lists and texts alike."""
    assert [("a", "1"), ("a", "2"), ("b", "3")] == list(header_pairs({"a": ["1", "2"], "b": 3}))
    assert [] == list(header_pairs(None))
