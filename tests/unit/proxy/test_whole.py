# SPDX-License-Identifier: Apache-2.0
"""Requests read to their end, and bytes that are none."""

import asyncio

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_kit import request

from truegreen.proxy.refusal import SAYS, refused
from truegreen.proxy.whole import CONTINUE, RefusedRequestError, WholeReader

OWN = "127.0.0.1:1"


class Client:
    """Gives its pieces one after the other, then its end; keeps what it is told."""

    def __init__(self, *pieces):
        self.pieces = list(pieces)
        self.told = []

    async def read(self):
        """The next piece."""
        return self.pieces.pop(0) if self.pieces else b""


def _whole(*pieces, body_bytes=1000, limit_s=10.0):
    """The request, or the refusal, and the client."""
    client = Client(*pieces[1:])
    reader = WholeReader(read=client.read, write=client.told.append, own_authority=OWN, body_bytes=body_bytes)
    return asyncio.run(reader.next(pieces[0], limit_s=limit_s)), client


CHUNKED = b"POST /x?a=%20b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: t\r\n\r\n"
TRAILED = b"2;ext=1\r\nab\r\n1\r\nc\r\n0\r\nt: 1\r\n\r\n"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_and_trailers_go_on_as_they_came_and_are_read_without(size):
    """The upstream gets the framing that was sent; the key gets the body."""
    sent = CHUNKED + TRAILED
    whole, _ = _whole(*(sent[at : at + size] for at in range(0, len(sent), size)))
    onward = whole.onward(prefix="/v1", authority="up:1", sample=None)
    assert b"POST /v1/x?a=%20b HTTP/1.1\r\nHost: up:1\r\n" == onward[: onward.index(b"Transfer")]
    assert onward.endswith(TRAILED)
    asked = whole.asked(prefix="/v1")
    assert ("POST", "/v1/x", "a=%20b", b"abc", ()) == (
        asked.method,
        asked.path,
        asked.query,
        asked.body,
        asked.headers,
    )


def test_what_follows_a_request_is_not_lost():
    """Pipelined requests wait for their turn."""
    whole, _ = _whole(request() + b"GET /y HTTP/1.1\r\n")
    assert b"GET /y HTTP/1.1\r\n" == whole.rest


def test_a_client_that_waits_for_leave_to_send_gets_it_once_and_the_upstream_never_hears_of_it():
    """The body is here before the upstream is asked."""
    head, body = request(headers=("Expect: 100-continue",)).split(b"\r\n\r\n")
    whole, client = _whole(head + b"\r\n\r\n", body[:3], body[3:])
    assert [CONTINUE] == client.told
    assert b"expect" not in whole.onward(prefix="", authority="up", sample=None).lower()
    assert "expect" not in [name.lower() for name, _ in whole.asked(prefix="").headers]


def test_what_names_the_template_stays_here():
    """The recording knows it, the upstream never hears of it."""
    whole, _ = _whole(
        request(headers=("X-TrueGreen-Template: plan", "x-truegreen-template-version: 4", "x-a: 1"))
    )
    assert b"truegreen" not in whole.onward(prefix="", authority="up", sample=None).lower()
    assert {"x-truegreen-template", "x-truegreen-template-version", "x-a"} <= {
        name.lower() for name, _ in whole.asked(prefix="").headers
    }


def test_headers_of_the_connection_are_no_part_of_what_was_asked():
    """Host, framing and hop-by-hop headers go; the rest keeps spelling and order."""
    whole, _ = _whole(request(headers=("X-A: 1", "Connection: X-Hop", "X-Hop: 1", "TE: trailers", "x-a: 2")))
    assert (("Content-Type", "application/json"), ("X-A", "1"), ("x-a", "2")) == whole.asked(
        prefix=""
    ).headers


@pytest.mark.parametrize("sent", [b"POST / HTTP/1.1\r\nHost: a\r\nContent-Le", request()[:-1], b""])
def test_a_client_that_leaves_in_the_middle_asked_nothing(sent):
    """Half a request is none."""
    assert None is _whole(sent)[0]


BROKEN = [
    (b"CONNECT api.openai.com:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "connect"),
    (request(headers=("Upgrade: websocket", "Connection: Upgrade")), 400, "upgrade"),
    (request(headers=(f"Content-Length: {len(request().split(bytes(2))[0])}",)), 400, "bad-request"),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\ncontent-length : 3\r\n\r\nabc", 400, "bad-request"),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\nabc", 400, "two-lengths"),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc", 400, "two-lengths"),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "two-framings",
    ),
    (b"GET http://other.example/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "foreign-target"),
    (b"GET /s/a%20b/x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-token"),
    (b"GET / HTTP/1.1\r\n\r\n", 400, "bad-request"),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400, "bad-request"),
    (request(body=b"x" * 1001), 413, "request-too-large"),
    (CHUNKED + b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n", 413, "request-too-large"),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413, "request-too-large"),
]


@pytest.mark.parametrize(("sent", "status", "reason"), BROKEN)
def test_what_cannot_be_served_is_refused_with_its_reason(sent, status, reason):
    """Each has words of its own, and none reaches the upstream."""
    with pytest.raises(RefusedRequestError) as caught:
        _whole(sent)
    assert (status, reason) == (caught.value.status, caught.value.reason)
    said = refused(reason, status=status, head=caught.value.head)
    assert said.startswith(b"HTTP/1.1 %d " % status)
    assert (True, True) == (SAYS[reason].encode() in said, b"x-should-retry: false" in said)


def test_a_request_that_does_not_arrive_in_time_is_refused():
    """A slow client holds nothing for ever."""

    class Silent(Client):
        async def read(self):
            await asyncio.sleep(60)

    reader = WholeReader(read=Silent().read, write=list, own_authority=OWN, body_bytes=10)
    with pytest.raises(RefusedRequestError) as caught:
        asyncio.run(reader.next(request()[:30], limit_s=0))
    assert (408, "request-too-slow") == (caught.value.status, caught.value.reason)


HOSTILE = st.lists(
    st.sampled_from(
        [
            b"POST / HTTP/1.1\r\n",
            b"Host: a\r\n",
            b"Content-Length: 3\r\n",
            b"Content-Length: 99999999999999999999\r\n",
            b"Transfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: gzip, chunked\r\n",
            b"Expect: 100-continue\r\n",
            b"\r\n",
            b"\r\n\r\n",
            b"abc",
            b"3\r\nabc\r\n",
            b"0\r\n\r\n",
            b"\x00\xff",
            b" folded\r\n",
            b": no name\r\n",
        ]
    )
    | st.binary(max_size=20),
    min_size=1,
    max_size=12,
)


@given(HOSTILE, st.integers(min_value=1, max_value=9))
def test_hostile_bytes_are_a_request_or_a_refusal(pieces, size):
    """Nothing else comes out, and what is a request is the same request to another reader."""
    sent = b"".join(pieces)
    cut = [sent[at : at + size] for at in range(0, len(sent), size)] or [b""]
    try:
        whole, _ = _whole(*cut)
    except RefusedRequestError as err:
        refused(err.reason, status=err.status, head=err.head)
        return
    if whole is not None:
        other = h11.Connection(h11.SERVER)
        other.receive_data(whole.onward(prefix="", authority="a", sample=None))
        head = other.next_event()
        body = b""
        while isinstance(event := other.next_event(), h11.Data):
            body += event.data
        assert (whole.head.method.encode(), whole.reader.body) == (head.method, body)
        assert isinstance(event, h11.EndOfMessage)
