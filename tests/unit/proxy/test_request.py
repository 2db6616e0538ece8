# SPDX-License-Identifier: Apache-2.0
"""Heads are rewritten in three places only, and bodies in none."""

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_kit import request

from truegreen.proxy.request import NotForwardableError, RequestReader, sample_number

OWN = "127.0.0.1:8080"


def _read(raw):
    reader = RequestReader(own_authority=OWN)
    body = reader.feed(raw)
    return reader, body


def _rewritten(raw, *, sample=None):
    reader, body = _read(raw)
    return reader.head.rewritten(prefix="/v1", host="up.example", sample=sample) + body


@pytest.mark.parametrize(
    ("target", "token", "passed"),
    [
        ("/chat/completions", None, "/chat/completions"),
        ("/s/0-1/chat/completions", "0-1", "/chat/completions"),
        ("/s/a.B_c-9/x?q=/s/z", "a.B_c-9", "/x?q=/s/z"),
        ("/s/0-1", "0-1", "/"),
        ("/s/0-1?x", "0-1", "/?x"),
        ("/s/0-1/", "0-1", "/"),
        ("/s/0-1//x", "0-1", "//x"),
        ("/s/0-1/s/0-2/x", "0-1", "/s/0-2/x"),
        ("/S/0-1/x", None, "/S/0-1/x"),
        ("/sample/x", None, "/sample/x"),
        (f"http://{OWN}/s/0-1/x", "0-1", "/x"),
        (f"http://{OWN}", None, "/"),
        ("/%2e%2e/x", None, "/%2e%2e/x"),
    ],
)
def test_the_token_is_taken_out_of_the_path(target, token, passed):
    """Only a first segment ``s`` marks a sample; the rest goes on as it was written."""
    reader, _ = _read(request(target))
    assert (token, passed) == (reader.head.token, reader.head.target)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/s/", "bad-token"),
        ("/s//x", "bad-token"),
        ("/s/a%62/x", "bad-token"),
        (f"/s/{'a' * 81}/x", "bad-token"),
        ("http://127.0.0.1:9999/x", "foreign-target"),
        (f"http://user@{OWN}/x", "foreign-target"),
        ("x", "bad-target"),
        ("*", "bad-target"),
    ],
)
def test_targets_that_cannot_go_on(target, reason):
    """The observer is no proxy for other hosts, and takes no token that needs an escape."""
    with pytest.raises(NotForwardableError, match=f"^{reason}$"):
        _read(request(target))


def test_hop_by_hop_headers_stay_on_their_hop():
    """So do the headers that Connection names; everything else keeps its spelling and order."""
    raw = request(
        "/x",
        headers=[
            "Keep-Alive: 5",
            "B: 2",
            "Connection: X-Hop, keep-alive",
            "x-hop: 1",
            "TE: trailers",
            "a:  1",
            "Upgrade: h2c",
        ],
    )
    head = _rewritten(raw).partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert [
        "POST /v1/x HTTP/1.1",
        "Host: up.example",
        "Content-Type: application/json",
        "B: 2",
        "a: 1",
    ] == head[:5]
    assert 6 == len(head)


@pytest.mark.parametrize(
    ("raw", "closes"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\nconnection: x, CLOSE\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
    ],
)
def test_a_wish_to_close_is_passed_on(raw, closes):
    """In its own words, whatever the client's were."""
    reader, _ = _read(raw)
    assert closes is reader.head.closes
    assert closes is _rewritten(raw).endswith(b"Connection: close\r\n\r\n")


def test_the_sample_header_is_added_only_when_asked():
    """A header of that name which the client sent itself then gives way; else it stays."""
    raw = request("/s/4-17/x", headers=["X-Truegreen-Sample: 99"])
    assert b"X-Truegreen-Sample: 99" in _rewritten(raw)
    with_it = _rewritten(raw, sample=sample_number("4-17"))
    assert with_it.lower().count(b"x-truegreen-sample: 17\r\n") == 1
    assert b": 99" not in with_it


@pytest.mark.parametrize(("token", "number"), [("0-1", "1"), ("a-b-12", "12"), ("7", "7")])
def test_a_sample_number_follows_the_last_hyphen(token, number):
    """A token without hyphen is its own number."""
    assert number == sample_number(token)


@pytest.mark.parametrize(
    ("method", "path", "asks"),
    [
        ("POST", "/v1/chat/completions", True),
        ("POST", "/v1/completions?x", True),
        ("POST", "/v1/responses", True),
        ("POST", "/v1/messages", True),
        ("GET", "/v1/chat/completions", False),
        ("POST", "/v1/embeddings", False),
        ("GET", "/v1/models", False),
    ],
)
def test_which_requests_ask_a_model(method, path, asks):
    """Their answers must be readable; others need not."""
    assert asks is _read(request(path, method=method))[0].head.asks_a_model


@given(st.lists(st.integers(0, 400), max_size=8), st.booleans())
def test_bodies_pass_however_they_arrive(cuts, chunked):
    """The forwarded part is exactly the body's raw bytes, and what follows stays behind, wherever the cuts are."""
    body = b'{"model": "m-1", "x": "\xc3\xa9"}'
    if chunked:
        raw_body = (
            b"5;a=b\r\n"
            + body[:5]
            + b"\r\n"
            + b"%x\r\n" % (len(body) - 5)
            + body[5:]
            + b"\r\n0\r\nT: 1\r\n\r\n"
        )
        head = b"POST /s/1-1/v HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    else:
        raw_body = body
        head = b"POST /s/1-1/v HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
    raw = head + raw_body + b"GET /next"
    reader = RequestReader(own_authority=OWN)
    edges = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    passed = b"".join(reader.feed(raw[a:b]) for a, b in itertools.pairwise(edges))
    assert (raw_body, b"GET /next") == (passed, reader.rest)
    assert (True, len(body), "m-1") == (reader.ended, reader.size, reader.model_asked)
    assert f"sha256:{hashlib.sha256(body).hexdigest()}" == reader.sha256


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b'{"model": 3}', b"\xff", b"[" * 50_000])
def test_a_body_without_a_model_asks_for_none(body):
    """Whatever is no JSON object with a text ``model`` names no model."""
    assert None is _read(request(body=body))[0].model_asked


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_heads_that_two_readers_could_read_differently_are_refused(raw):
    """Such a head could smuggle a second request past whoever counts."""
    with pytest.raises(NotForwardableError):
        _read(raw)
