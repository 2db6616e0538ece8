# SPDX-License-Identifier: Apache-2.0
"""One connection: order, pipelining, hostile clients, and what is the proxy's own."""

import json
import re
import socket
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_kit import CHAT, LAST_CHUNK, STREAM_HEAD, answer, chunk, event, piece, read_response, request

from simulators.recordings import MemoryRecordings
from truegreen.core.errors import EvidenceProblem
from truegreen.core.exchange import End
from truegreen.core.recording import Answered, Asked, Chunk
from truegreen.proxy.model_proxy import ModelProxy
from truegreen.proxy.modes import Mode, Options, Pace

DEAD = "http://127.0.0.1:9/v1"
WAIT_S = 10.0


def _recorded(*pieces, path="/v1/chat/completions", headers=(("Content-Type", "application/json"),)):
    recordings = MemoryRecordings()
    chunks = tuple(Chunk(after_s=0.0, data=data) for data in pieces)
    asked = Asked(method="POST", path=path, body=json.dumps(CHAT).encode())
    for _ in range(9):
        recordings.keep(asked, Answered(status=200, headers=headers, chunks=chunks))
    return recordings


def test_requests_of_one_connection_are_answered_in_order(serve, client):
    """Also where a client sends the next before the first is answered."""
    proxy = serve(Mode.REPLAY, DEAD, recordings=_recorded(b"{}"))
    conn = client(proxy.port)
    conn.sendall(request() + request("/other") + request(headers=("Connection: close",)))
    got = read_response(conn, until_close=True)
    assert [b"200", b"424", b"200"] == re.findall(rb"HTTP/1.1 ([0-9]+)", got)


def test_a_refused_request_ends_the_connection_and_counts_as_rejected(serve, client):
    """CONNECT is refused in words; the upstream is never asked."""
    proxy = serve(Mode.REPLAY, DEAD, recordings=MemoryRecordings())
    conn = client(proxy.port)
    conn.sendall(b"CONNECT api.openai.com:443 HTTP/1.1\r\nHost: api.openai.com:443\r\n\r\n")
    got = read_response(conn, until_close=True)
    assert (True, True) == (got.startswith(b"HTTP/1.1 400 "), b"set the client's base URL" in got)
    proxy.close()
    assert (1, 0) == (proxy.tally().rejected, proxy.tally().requests)


def test_an_absolute_target_of_the_proxy_itself_is_served(serve, client):
    """Clients that think it is a proxy send it so."""
    proxy = serve(Mode.REPLAY, DEAD, recordings=_recorded(b"{}"))
    conn = client(proxy.port)
    conn.sendall(request(f"http://127.0.0.1:{proxy.port}/chat/completions"))
    assert read_response(conn).startswith(b"HTTP/1.1 200 ")


def test_health_says_the_mode_and_is_no_request(serve, client):
    """A supervisor and the canary read it; it is neither counted nor forwarded."""
    proxy = serve(Mode.REPLAY, DEAD, recordings=MemoryRecordings())
    conn = client(proxy.port)
    conn.sendall(b"GET /_truegreen/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    body = read_response(conn, until_close=True).partition(b"\r\n\r\n")[2]
    assert {"mode": "replay", "upstream": "127.0.0.1:9"} == json.loads(body)
    proxy.close()
    assert 0 == proxy.tally().requests


def test_head_is_answered_without_a_body(serve, client):
    """Health and misses alike."""
    proxy = serve(Mode.REPLAY, DEAD, recordings=MemoryRecordings())
    conn = client(proxy.port)
    conn.sendall(b"HEAD /_truegreen/health HTTP/1.1\r\nHost: a\r\n\r\nHEAD /x HTTP/1.0\r\n\r\n")
    got = read_response(conn, until_close=True)
    assert ([b"HTTP/1.1 200 OK", b"HTTP/1.1 424 Failed Dependency"], True) == (
        [row for row in got.split(b"\r\n") if row.startswith(b"HTTP/")],
        got.endswith(b"\r\n\r\n"),
    )


def test_an_sdks_own_repetition_is_counted(serve, client):
    """A second retry layer is seen by the header that the SDKs send."""
    proxy = serve(Mode.REPLAY, DEAD, recordings=_recorded(b"{}"))
    conn = client(proxy.port)
    for count in ("0", "1", "2"):
        conn.sendall(request(headers=(f"x-stainless-retry-count: {count}",)))
        read_response(conn)
    proxy.close()
    assert (3, (("sdk", 2),)) == (proxy.tally().requests, proxy.tally().layers)


EMOJI = 'data: {"choices": [{"index": 0, "delta": {"content": "h\u00e9 \U0001f600"}, "finish_reason": "stop"}]}\n\n'.encode()


@pytest.mark.parametrize("pace", list(Pace))
def test_a_recorded_stream_is_whole_at_every_pace(serve, client, pace):
    """Whatever the pieces, the reader beside finds the end mark and the same bytes arrive."""
    recordings = _recorded(EMOJI, event("[DONE]"), headers=(("Content-Type", "text/event-stream"),))
    proxy = serve(Mode.REPLAY, DEAD, recordings=recordings, options=Options(pace=pace))
    conn = client(proxy.port)
    conn.sendall(request(headers=("Connection: close",)))
    got = read_response(conn, until_close=True).partition(b"\r\n\r\n")[2]
    body = b""
    while got:
        size, _, got = got.partition(b"\r\n")
        body, got = body + got[: int(size, 16)], got[int(size, 16) + 2 :]
    assert EMOJI + event("[DONE]") == body
    proxy.close()
    assert [(End.COMPLETE, "stop")] == [(one.end, one.finish_reason) for one in proxy.exchanges()]


def test_a_recording_that_cannot_be_read_is_told_and_red(serve, client):
    """A damaged file is neither a miss nor an answer."""

    class Damaged(MemoryRecordings):
        def play(self, asked):
            if b"canary" in asked.body:
                return super().play(asked)
            raise EvidenceProblem("cassette-damaged", "the file ends in the middle")

    proxy = serve(Mode.REPLAY, DEAD, recordings=Damaged())
    conn = client(proxy.port)
    conn.sendall(request())
    assert b"cassette-damaged" in read_response(conn)
    proxy.close()
    assert (["cassette-damaged"], True) == (
        [one.code for one in proxy.tally().troubles],
        proxy.tally().is_red,
    )


def test_a_client_that_leaves_a_replay_ends_it(serve, client):
    """At the recorded pace a pause is not waited for nobody."""
    recordings = MemoryRecordings()
    slow = Answered(status=200, chunks=(Chunk(after_s=0.0, data=b"a"), Chunk(after_s=3600.0, data=b"b")))
    recordings.keep(Asked(method="POST", path="/v1/chat/completions", body=json.dumps(CHAT).encode()), slow)
    proxy = serve(Mode.REPLAY, DEAD, recordings=recordings, options=Options(pace=Pace.RECORDED))
    conn = client(proxy.port)
    conn.sendall(request())
    conn.recv(1)
    conn.close()
    deadline = time.monotonic() + WAIT_S
    while not proxy.exchanges():
        assert time.monotonic() < deadline
    assert [End.CLIENT_CLOSED] == [one.end for one in proxy.exchanges()]


def test_an_idle_client_is_let_go(serve, client):
    """A connection without requests ends after its time."""
    proxy = serve(Mode.REPLAY, DEAD, recordings=MemoryRecordings(), options=Options(idle_s=0.05))
    assert b"" == client(proxy.port).recv(1)


def test_a_client_that_sends_without_end_while_it_is_answered_is_not_read_on(serve, client, upstream):
    """Pipelining fills no memory."""
    source = upstream(lambda call: source.released.wait(WAIT_S) and call.send(answer()))
    proxy = serve(Mode.LIVE, source.url)
    conn = client(proxy.port)
    conn.sendall(request())
    conn.settimeout(0.2)
    sent = 0
    with suppress(TimeoutError):
        while sent < 64 << 20:
            sent += conn.send(b"x" * 65536)
    assert sent < 64 << 20
    source.released.set()
    conn.settimeout(WAIT_S)
    assert conn.recv(12) == b"HTTP/1.1 200"


@pytest.fixture(scope="module")
def hostile_target():
    """One replaying proxy that every hostile client meets."""
    proxy = ModelProxy(Mode.REPLAY, DEAD, recordings=MemoryRecordings(), options=Options(request_s=5)).start()
    yield proxy
    proxy.close()


FRAGMENTS = st.sampled_from(
    [
        b"POST /chat/completions HTTP/1.1\r\n",
        b"GET /_truegreen/health HTTP/1.1\r\n",
        b"Host: a\r\n",
        b"Content-Length: 2\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Upgrade: h2c\r\n",
        b"\r\n",
        b"{}",
        b"2\r\n{}\r\n0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FRAGMENTS | st.binary(max_size=16), min_size=1, max_size=10))
def test_hostile_clients_break_nothing(hostile_target, pieces):
    """Whatever they send, the proxy answers in HTTP or closes, and serves the next client."""
    with (
        socket.create_connection(("127.0.0.1", hostile_target.port), timeout=WAIT_S) as conn,
        suppress(OSError),
    ):
        conn.sendall(b"".join(pieces))
        conn.shutdown(socket.SHUT_WR)
        got = b""
        while data := conn.recv(65536):
            got += data
        assert got[:9] in (b"", b"HTTP/1.1 ")
    with socket.create_connection(("127.0.0.1", hostile_target.port), timeout=WAIT_S) as conn:
        conn.sendall(request("/_truegreen/health", method="GET", body=b""))
        assert b'"replay"' in read_response(conn)
    assert (None, 0) == (hostile_target._listener.failure, hostile_target.tally().upstream_calls)


def test_a_stream_is_replayed_as_it_was_recorded(upstream, record_one, serve, client):
    """The bytes of the recorded pieces, chunk by chunk."""
    sent = STREAM_HEAD + chunk(piece("a")) + chunk(piece(finish="stop") + event("[DONE]")) + LAST_CHUNK
    recordings, _ = record_one(upstream(lambda call: call.send(sent)))
    proxy = serve(Mode.REPLAY, DEAD, recordings=recordings.rewound())
    conn = client(proxy.port)
    conn.sendall(request())
    assert piece("a") + piece(finish="stop") + event("[DONE]") == b"".join(
        row for row in _dechunked(read_response(conn).partition(b"\r\n\r\n")[2])
    )


def _dechunked(data):
    while data:
        size, _, data = data.partition(b"\r\n")
        yield data[: int(size, 16)]
        data = data[int(size, 16) + 2 :]
