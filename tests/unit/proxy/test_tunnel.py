# SPDX-License-Identifier: Apache-2.0
"""Exchanges over real sockets: what passes, and how each end is named."""

import contextlib
import json
import os
import signal
import socket
import threading

import pytest
from wire_kit import (
    CHAT,
    LAST_CHUNK,
    STREAM_HEAD,
    answer,
    chunk,
    completion,
    event,
    piece,
    read_response,
    request,
)

from truegreen.core.exchange import Closer, End
from truegreen.core.wire import WireClass, classify
from truegreen.proxy.tunnel import Limits


@pytest.fixture
def pass_one(upstream, observe, client):
    """Send one request through an observer to a script; the bytes received and the exchange."""

    def run(script, *, raw=None, **options):
        observer = observe(upstream(script).url, **options)
        conn = client(observer.port)
        conn.sendall(request() if raw is None else raw)
        received = read_response(conn, until_close=True)
        assert 0 == observer.drain()
        (exchange,) = observer.exchanges()
        return received, exchange

    return run


def _sent(*parts):
    def script(call):
        for part in parts:
            call.send(part)

    return script


def _class(exchange):
    reading = classify(exchange)
    return reading.kind, reading.reason


def test_a_whole_answer_passes_byte_for_byte(pass_one):
    """The client gets exactly what the upstream sent, and the exchange says what it was."""
    sent = answer(headers=["X-Request-Id: r-9", "Connection: close", "oDD-CaSe:  kept "])
    received, exchange = pass_one(_sent(sent))
    assert sent == received
    assert (End.COMPLETE, 200, "r-9") == (exchange.end, exchange.status, exchange.request_id)
    assert ("asked-1", "served-1", "stop") == (
        exchange.model_asked,
        exchange.model_served,
        exchange.finish_reason,
    )
    assert (7, 2, 9, 4) == (
        exchange.usage.prompt_tokens,
        exchange.usage.completion_tokens,
        exchange.usage.total_tokens,
        exchange.usage.cached_tokens,
    )
    assert (WireClass.ANSWERED, "complete") == _class(exchange)


def test_a_request_passes_with_only_its_target_and_host_changed(upstream, observe, client):
    """Order and spelling of headers and every byte of the body reach the upstream."""
    server = upstream(_sent(answer()))
    observer = observe(server.url)
    conn = client(observer.port)
    conn.sendall(
        request(
            "/s/3-1/chat/completions?b=2&a=%41", headers=["Authorization: Bearer k", "X-oDD: A", "x-odd: b"]
        )
    )
    read_response(conn)
    assert [
        "POST /v1/chat/completions?b=2&a=%41 HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "Content-Type: application/json",
        "Authorization: Bearer k",
        "X-oDD: A",
        "x-odd: b",
        f"Content-Length: {len(server.calls[0].body)}",
    ] == server.calls[0].head.decode().split("\r\n")
    assert request().partition(b"\r\n\r\n")[2] == server.calls[0].body


def test_a_chunked_request_keeps_its_framing(upstream, observe, client):
    """Chunk sizes, extensions and trailers of the client reach the upstream as they were."""
    seen = []
    done = threading.Event()

    def script(call):
        data = call.body
        while not data.endswith(b"\r\n\r\n"):
            data += call.conn.recv(65536)
        seen.append(data)
        call.send(answer())
        done.set()

    observer = observe(upstream(script).url)
    conn = client(observer.port)
    body = b'3;x=1\r\n{"m\r\n0D\r\nodel": "m-7"}\r\n0\r\nX-T: 1\r\n\r\n'
    head = b"POST /s/1-1/v HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    for byte in head + body:
        conn.sendall(bytes([byte]))
    assert done.wait(10)
    observer.drain()
    assert [body] == seen
    (exchange,) = observer.exchanges()
    assert ("m-7", 16) == (exchange.model_asked, exchange.request_bytes)


def test_many_exchanges_pass_on_one_connection(upstream, observe, client):
    """A kept connection carries exchanges of different samples, each with its own token."""
    server = upstream(lambda call: call.send(answer()) or True)
    observer = observe(server.url)
    conn = client(observer.port)
    for number in range(1, 4):
        conn.sendall(request(f"/s/0-{number}/chat/completions"))
        assert answer() == read_response(conn)
    observer.drain()
    assert ["0-1", "0-2", "0-3"] == [exchange.token for exchange in observer.exchanges()]
    assert {Closer.NEITHER} == {exchange.closed_first for exchange in observer.exchanges()}


def test_pipelined_requests_are_answered_in_turn(upstream, observe, client):
    """A client that does not wait for answers still gets each, in order."""
    server = upstream(lambda call: call.send(answer(call.line.encode())) or True)
    observer = observe(server.url)
    conn = client(observer.port)
    conn.sendall(request("/s/0-1/a") + request("/s/0-2/b") + request("/s/0-3/c"))
    wanted = b"".join(answer(f"POST /v1/{name} HTTP/1.1".encode()) for name in "abc")
    received = b""
    while len(received) < len(wanted):
        received += conn.recv(65536)
    assert wanted == received


def test_the_first_piece_of_a_stream_does_not_wait_for_the_second(upstream, observe, client):
    """The upstream sends its second event only after the client has the first."""
    first_arrived = threading.Event()

    def script(call):
        call.send(STREAM_HEAD + chunk(piece("a")))
        if first_arrived.wait(10):
            call.send(chunk(piece(finish="stop")) + chunk(event("[DONE]")) + LAST_CHUNK)

    observer = observe(upstream(script).url)
    conn = client(observer.port)
    conn.sendall(request())
    received = b""
    while chunk(piece("a")) not in received:
        received += conn.recv(65536)
    first_arrived.set()
    received += read_response(conn)
    assert received.endswith(LAST_CHUNK)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (End.COMPLETE, True, True) == (exchange.end, exchange.is_stream, exchange.end_mark)


@pytest.mark.parametrize(
    ("parts", "end", "detail", "reading"),
    [
        pytest.param(
            [STREAM_HEAD, chunk(piece('["bug"')), chunk(piece("]")), LAST_CHUNK],
            End.UPSTREAM_CLOSED,
            "no-end-mark",
            (WireClass.TRANSPORT, "closed-without-end"),
            id="stream with proper framing and no end mark",
        ),
        pytest.param(
            [STREAM_HEAD, chunk(piece("a")), b"5\r\nda"],
            End.UPSTREAM_CLOSED,
            "closed",
            (WireClass.TRANSPORT, "closed-without-end"),
            id="stream cut inside a chunk",
        ),
        pytest.param(
            [STREAM_HEAD, chunk(piece("a")), chunk(piece(finish="stop"))],
            End.COMPLETE,
            "",
            (WireClass.ANSWERED, "complete"),
            id="stream cut after its finish reason",
        ),
        pytest.param(
            [STREAM_HEAD, chunk(piece("a")), chunk(b"data: [DONE]\n")],
            End.COMPLETE,
            "",
            (WireClass.ANSWERED, "complete"),
            id="stream cut after DONE",
        ),
        pytest.param(
            [STREAM_HEAD, chunk(piece("a")), chunk(b"data: [DON")],
            End.UPSTREAM_CLOSED,
            "closed",
            (WireClass.TRANSPORT, "closed-without-end"),
            id="stream cut inside DONE",
        ),
        pytest.param(
            [STREAM_HEAD, chunk(piece("a", finish="stop") + piece("b", index=1)), LAST_CHUNK],
            End.UPSTREAM_CLOSED,
            "no-end-mark",
            (WireClass.TRANSPORT, "closed-without-end"),
            id="one of two choices unfinished",
        ),
        pytest.param(
            [STREAM_HEAD, chunk(piece(finish="length")), chunk(event("[DONE]")), LAST_CHUNK],
            End.COMPLETE,
            "",
            (WireClass.LENGTH, "length-stop"),
            id="stream stopped at the token limit",
        ),
        pytest.param(
            [STREAM_HEAD, chunk(event({"error": {"type": "server_error"}})), LAST_CHUNK],
            End.UPSTREAM_CLOSED,
            "no-end-mark",
            (WireClass.UNCLEAR, "error-in-stream"),
            id="error inside the stream",
        ),
        pytest.param(
            [answer(headers=["Connection: close"])[:-1]],
            End.UPSTREAM_CLOSED,
            "closed",
            (WireClass.TRANSPORT, "closed-without-end"),
            id="one byte less than Content-Length says",
        ),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"],
            End.UPSTREAM_CLOSED,
            "closed",
            (WireClass.TRANSPORT, "closed-without-end"),
            id="nothing after the head",
        ),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nContent-Ty"],
            End.UPSTREAM_CLOSED,
            "closed",
            (WireClass.TRANSPORT, "closed-before-status"),
            id="inside the head",
        ),
        pytest.param(
            [],
            End.UPSTREAM_CLOSED,
            "closed",
            (WireClass.TRANSPORT, "closed-before-status"),
            id="before the head",
        ),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", b'{"choices": []}'],
            End.COMPLETE,
            "",
            (WireClass.ANSWERED, "complete"),
            id="delimited by the close",
        ),
        pytest.param(
            [b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n", b'{"choices": ['],
            End.COMPLETE,
            "",
            (WireClass.UNCLEAR, "not-json"),
            id="delimited by the close and cut: no proof",
        ),
        pytest.param(
            [STREAM_HEAD, chunk(piece("a")), b"zz\r\nabc\r\n"],
            End.MALFORMED,
            "not-http",
            (WireClass.UNCLEAR, "not-http"),
            id="malformed chunk size",
        ),
        pytest.param(
            [b"SSH-2.0-OpenSSH_9\r\n"],
            End.MALFORMED,
            "not-http",
            (WireClass.UNCLEAR, "not-http"),
            id="not HTTP at all",
        ),
        pytest.param(
            [answer(b'{"choices": []}')[:-1] + b"}garbage"],
            End.COMPLETE,
            "",
            (WireClass.ANSWERED, "complete"),
            id="more bytes than Content-Length says",
        ),
        pytest.param(
            [answer(b"[", headers=["Connection: close"])],
            End.COMPLETE,
            "",
            (WireClass.UNCLEAR, "not-json"),
            id="whole body that is no JSON",
        ),
        pytest.param(
            [answer(b"<html>", content_type="text/html", headers=["Connection: close"])],
            End.COMPLETE,
            "",
            (WireClass.UNCLEAR, "not-json"),
            id="a page instead of an answer",
        ),
        pytest.param(
            [
                answer(
                    b"slow down",
                    status="429 Too Many Requests",
                    headers=["Retry-After: 7", "Connection: close"],
                )
            ],
            End.COMPLETE,
            "",
            (WireClass.TRANSPORT, "status-429"),
            id="429",
        ),
        pytest.param(
            [answer(b"", status="503 Service Unavailable")[:-4]],
            End.UPSTREAM_CLOSED,
            "closed",
            (WireClass.TRANSPORT, "closed-before-status"),
            id="503 whose head has no end",
        ),
        pytest.param(
            [answer(b"no", status="500 Internal Server Error", headers=["Connection: close"])[:-1]],
            End.UPSTREAM_CLOSED,
            "closed",
            (WireClass.TRANSPORT, "status-500"),
            id="500 with a cut body",
        ),
        pytest.param(
            [answer(b"{}", status="400 Bad Request", headers=["Connection: close"])],
            End.COMPLETE,
            "",
            (WireClass.REJECTED, "status-400"),
            id="400",
        ),
        pytest.param(
            [answer(b"{}", status="408 Request Timeout", headers=["Connection: close"])],
            End.COMPLETE,
            "",
            (WireClass.REJECTED, "status-408"),
            id="408",
        ),
    ],
)
def test_every_end_of_an_upstream_has_its_name(pass_one, parts, end, detail, reading):
    """Whatever the upstream does, the client gets those bytes and the exchange says what they were."""
    received, exchange = pass_one(_sent(*parts))
    assert b"".join(parts) == received
    assert (end, detail) == (exchange.end, exchange.end_detail)
    assert reading == _class(exchange)


def test_an_upstream_that_closes_is_the_first_to_close(pass_one):
    """Who closed first is told apart from who closed after it."""
    _, exchange = pass_one(_sent(STREAM_HEAD))
    assert Closer.UPSTREAM is exchange.closed_first


def test_a_reset_is_a_close_without_end(upstream, observe, client):
    """A reset after the head is transport, with the detail that it was one."""

    def script(call):
        call.send(STREAM_HEAD + chunk(piece("a")))
        go.wait(10)
        call.reset()

    go = threading.Event()
    observer = observe(upstream(script).url)
    conn = client(observer.port)
    conn.sendall(request())
    conn.recv(10)
    go.set()
    read_response(conn, until_close=True)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (End.UPSTREAM_CLOSED, "reset", Closer.UPSTREAM) == (
        exchange.end,
        exchange.end_detail,
        exchange.closed_first,
    )
    assert (WireClass.TRANSPORT, "closed-without-end") == _class(exchange)


def test_a_refused_connection_closes_the_clients(observe, client):
    """A client in front of a dead endpoint gets no answer, as it would without the observer."""
    with socket.socket() as dead:
        dead.bind(
            ("127.0.0.1", 0)
        )  # taken and not listening: refused, and nobody else gets the port meanwhile
        observer = observe(f"http://127.0.0.1:{dead.getsockname()[1]}")
        conn = client(observer.port)
        conn.sendall(request())
        assert b"" == read_response(conn, until_close=True)
        observer.drain()
    (exchange,) = observer.exchanges()
    assert (End.REFUSED, None) == (exchange.end, exchange.status)
    assert (WireClass.TRANSPORT, "connection-refused") == _class(exchange)


def test_a_client_that_hangs_up_is_not_transport(upstream, observe, client):
    """The upstream hangs, the client leaves: the exchange is the client's, and the upstream is let go."""
    gone = threading.Event()

    def script(call):
        call.send(STREAM_HEAD + chunk(piece("a")))
        if not call.conn.recv(1):
            gone.set()

    observer = observe(upstream(script).url)
    conn = client(observer.port)
    conn.sendall(request())
    conn.recv(10)
    conn.close()
    assert gone.wait(10)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (End.CLIENT_CLOSED, Closer.CLIENT) == (exchange.end, exchange.closed_first)
    assert (WireClass.CLIENT_CLOSED, "client-closed-first") == _class(exchange)


def test_a_client_that_leaves_after_the_end_mark_has_its_answer(upstream, observe, client):
    """SDKs close a stream at [DONE] without waiting for the last chunk."""

    def script(call):
        call.send(STREAM_HEAD + chunk(piece(finish="stop")) + chunk(event("[DONE]")))
        call.conn.recv(1)

    observer = observe(upstream(script).url)
    conn = client(observer.port)
    conn.sendall(request())
    received = b""
    while b"[DONE]" not in received:
        received += conn.recv(65536)
    conn.close()
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (End.COMPLETE, Closer.CLIENT) == (exchange.end, exchange.closed_first)


def test_a_status_counts_whoever_closes_after_it(upstream, observe, client):
    """An SDK that throws away the body of a 503 does not turn the upstream's failure into its own."""

    def script(call):
        call.send(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\nbusy")
        call.conn.recv(1)

    observer = observe(upstream(script).url)
    conn = client(observer.port)
    conn.sendall(request())
    conn.recv(10)
    conn.close()
    observer.drain()
    (exchange,) = observer.exchanges()
    assert End.CLIENT_CLOSED is exchange.end
    assert (WireClass.TRANSPORT, "status-503") == _class(exchange)


def test_a_half_sent_request_never_becomes_transport(upstream, observe, client):
    """A client that starves the upstream until it closes has not met a failure of the upstream."""
    server = upstream(lambda call: call.conn.recv(65536) and None, reads=False)
    observer = observe(server.url)
    conn = client(observer.port)
    conn.sendall(request()[:-3])
    assert b"" == read_response(conn, until_close=True)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (End.UPSTREAM_CLOSED, False) == (exchange.end, exchange.request_ended)
    assert (WireClass.UNCLEAR, "closed-on-unfinished-request") == _class(exchange)


@pytest.mark.parametrize("first_byte", [False, True])
def test_a_hanging_upstream_meets_the_time_limit(upstream, observe, client, first_byte):
    """The observer ends what nobody else ends, and says that it did."""
    server = upstream(lambda call: call.send(STREAM_HEAD if first_byte else b"") or server.released.wait(10))
    observer = observe(server.url, limits=Limits(connect_s=10, exchange_s=0.2))
    conn = client(observer.port)
    conn.sendall(request())
    read_response(conn, until_close=True)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (End.TIMEOUT, Closer.OBSERVER) == (exchange.end, exchange.closed_first)
    assert (WireClass.TIMEOUT, "no-end" if first_byte else "no-first-byte") == _class(exchange)


def test_the_close_of_an_idle_upstream_reaches_the_client(upstream, observe, client):
    """A pool must see that its connection is gone, so that it does not send into it."""
    observer = observe(upstream(_sent(answer())).url)
    conn = client(observer.port)
    conn.sendall(request())
    assert answer() == read_response(conn, until_close=True)


def test_an_interim_answer_passes(pass_one):
    """A 1xx goes on and is not taken for the answer."""
    sent = [b"HTTP/1.1 100 Continue\r\n\r\n", answer(headers=["Connection: close"])]
    received, exchange = pass_one(_sent(*sent))
    assert b"".join(sent) == received
    assert 200 == exchange.status


def test_an_early_rejection_reaches_a_client_that_still_sends(upstream, observe, client):
    """413 before the body's end arrives whole, and the connection ends with it."""
    sent = answer(b"too large", status="413 Content Too Large", headers=["Connection: close"])
    early = threading.Event()

    def script(call):
        call.conn.recv(65536)
        call.send(sent)
        early.set()

    server = upstream(script, reads=False)
    observer = observe(server.url)
    conn = client(observer.port)
    conn.sendall(b"POST /v HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc")
    assert early.wait(10)
    assert sent == read_response(conn, until_close=True)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (413, False) == (exchange.status, exchange.request_ended)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "bad-request", id="TLS hello"),
        pytest.param(b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "connect", id="CONNECT"),
        pytest.param(
            b"GET http://other.example/ HTTP/1.1\r\nHost: a\r\n\r\n", "foreign-target", id="foreign"
        ),
        pytest.param(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target", id="asterisk"),
        pytest.param(b"GET /s/%20/x HTTP/1.1\r\nHost: a\r\n\r\n", "bad-token", id="token"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", "bad-request", id="no Host"),
        pytest.param(b"GET /" + b"a" * 70000, "bad-request", id="endless head"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "two-framings",
            id="two framings",
        ),
    ],
)
def test_what_is_no_request_is_not_forwarded(upstream, observe, client, raw, reason):
    """The upstream never hears of it, the client gets 400, and it is counted apart."""
    server = upstream(_sent(answer()))
    observer = observe(server.url)
    conn = client(observer.port)
    conn.sendall(raw)
    assert read_response(conn, until_close=True).startswith(b"HTTP/1.1 400 ")
    assert (reason,) == observer.rejected()
    assert (0, []) == (observer.count, server.calls)


def test_a_body_that_breaks_its_framing_is_named(upstream, observe, client):
    """The upstream got a head and half a body: the exchange is kept as one that could not be forwarded."""
    server = upstream(lambda call: call.conn.recv(1))
    observer = observe(server.url)
    conn = client(observer.port)
    conn.sendall(b"POST /v HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    conn.sendall(b"nonsense\r\n")
    read_response(conn, until_close=True)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert End.NOT_FORWARDED is exchange.end
    assert (WireClass.REJECTED, "bad-request") == _class(exchange)


def test_a_forked_copy_of_the_sockets_keeps_nobody_waiting(upstream, observe, client):
    """A child forked in the middle of a stream holds copies of every socket; the client sees the end all the same."""
    forked = threading.Event()

    def script(call):
        call.send(STREAM_HEAD + chunk(piece("a")))
        forked.wait(10)
        call.conn.shutdown(socket.SHUT_RDWR)  # the child holds a copy of this one too

    observer = observe(upstream(script).url)
    conn = client(observer.port)
    conn.sendall(request())
    conn.recv(10)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(writer)
            os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    try:
        forked.set()
        received = read_response(conn, until_close=True)
        assert b"data:" in received
    finally:
        os.close(writer)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert End.UPSTREAM_CLOSED is exchange.end


def test_what_is_kept_of_an_exchange_holds_no_text(pass_one):
    """Neither the prompt, nor the answer, nor a key in the query is in what is kept."""
    raw = request("/s/1-1/chat/completions?key=SECRET", headers=["Authorization: Bearer SECRET"])
    body = answer(json.dumps(completion("PRIVATE ANSWER")).encode(), headers=["Connection: close"])
    _, exchange = pass_one(_sent(body), raw=raw)
    shown = repr(exchange)
    assert [] == [w for w in ("SECRET", "PRIVATE", CHAT["messages"][0]["content"]) if w in shown]
