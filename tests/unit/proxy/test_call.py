# SPDX-License-Identifier: Apache-2.0
"""Attempts: when bytes go on, when an attempt is repeated, and that leave always comes back."""

import asyncio
import hashlib
import json
import socket
import threading
import time

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

from simulators.admission import MemoryAdmission
from simulators.recordings import MemoryRecordings
from truegreen.core.admission import Again
from truegreen.core.errors import ReachProblem
from truegreen.core.exchange import End
from truegreen.proxy.modes import Mode, Options
from truegreen.proxy.tunnel import Limits

WAIT_S = 10.0
AGAIN = Again(wait_s=0, reason="server-error")


def _until(holds):
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _ask(client, proxy, sent=None, **options):
    conn = client(proxy.port)
    conn.sendall(sent or request())
    return read_response(conn, **options)


@pytest.mark.parametrize("mode", [Mode.LIVE, Mode.RECORD])
def test_the_first_piece_waits_for_nothing(upstream, serve, client, mode):
    """The upstream sends its second piece only after the client has the first."""
    admission = MemoryAdmission()

    got_first = threading.Event()

    def script(call):
        call.send(STREAM_HEAD + chunk(piece("a")))
        got_first.wait(WAIT_S)
        call.send(chunk(piece(finish="stop") + event("[DONE]")) + LAST_CHUNK)

    source = upstream(script)
    recordings = MemoryRecordings() if mode is Mode.RECORD else None
    proxy = serve(mode, source.url, recordings=recordings, admission=admission)
    conn = client(proxy.port)
    conn.sendall(request())
    first = b""
    while piece("a") not in first:
        first += conn.recv(65536)
    assert b"[DONE]" not in first
    got_first.set()
    while not first.endswith(LAST_CHUNK):
        first += conn.recv(65536)
    proxy.close()
    assert [End.COMPLETE] == [ended.end for ended in admission.ended]
    if recordings is not None:
        assert [piece("a"), piece(finish="stop") + event("[DONE]")] == [
            one.data for one in recordings.kept[0][1].chunks
        ]


def test_after_the_first_byte_nothing_is_repeated(upstream, serve, client):
    """A stream that is cut stays cut, although the limiter would allow another attempt."""
    source = upstream(lambda call: call.send(STREAM_HEAD + chunk(piece("a"))))
    admission = MemoryAdmission(AGAIN)
    proxy = serve(Mode.LIVE, source.url, admission=admission)
    assert STREAM_HEAD + chunk(piece("a")) == _ask(client, proxy, until_close=True)
    proxy.close()
    assert (1, [End.UPSTREAM_CLOSED], 0) == (
        len(source.calls),
        [ended.end for ended in admission.ended],
        proxy.tally().retries,
    )


def test_an_error_in_a_stream_has_its_class(upstream, serve, client):
    """200 and an error event: the limiter hears of it, the client gets every byte."""
    sent = (
        STREAM_HEAD + chunk(b'event: error\ndata: {"error": {"type": "overloaded_error"}}\n\n') + LAST_CHUNK
    )
    admission = MemoryAdmission()
    proxy = serve(Mode.LIVE, upstream(lambda call: call.send(sent)).url, admission=admission)
    assert sent == _ask(client, proxy)
    proxy.close()
    assert [(200, "overloaded_error")] == [(one.status, one.error_type) for one in admission.ended]


@pytest.mark.parametrize("status", ["500 Oops", "529 Overloaded", "503 Busy"])
def test_a_cut_or_failed_attempt_before_the_first_byte_may_be_repeated(upstream, serve, client, status):
    """The client sees only the attempt that stands."""
    answers = [answer(b"{}", status=status), answer()[:20], answer()]
    source = upstream(lambda call: call.send(answers[len(source.calls) - 1]) and None)
    proxy = serve(Mode.LIVE, source.url, admission=MemoryAdmission(AGAIN, AGAIN))
    assert answer() == _ask(client, proxy)
    proxy.close()
    assert (3, 2) == (proxy.tally().upstream_calls, proxy.tally().retries)


def test_attempts_of_one_call_have_its_name_and_its_time(upstream, serve, client):
    """The limiter counts a total deadline from the first asking, and knows calls apart by id and body."""
    answers = [answer(b"{}", status="500 Oops"), answer(), answer()]
    source = upstream(lambda call: call.send(answers[len(source.calls) - 1]) or True)
    admission = MemoryAdmission(AGAIN)
    proxy = serve(Mode.LIVE, source.url, admission=admission)
    conn = client(proxy.port)
    for _ in range(2):
        conn.sendall(request(headers=("x-stainless-retry-count: 1",)))
        read_response(conn)
    first, second, third = admission.asks
    assert (first.call, first.request) == (second.call, second.request)
    assert (True, True) == (first.call != third.call, first.spent_s < second.spent_s)
    assert f"sha256:{hashlib.sha256(json.dumps(CHAT).encode()).hexdigest()}" == first.request
    assert "sdk" == third.layer


def test_the_error_that_stands_says_so_to_retry_layers(upstream, serve, client):
    """Body, status and headers are the upstream's; the hint is the proxy's and only narrows."""
    sent = answer(b'{"error": 1}', status="429 Too Many", headers=("X-Kept: 1", "x-should-retry: true"))
    proxy = serve(Mode.LIVE, upstream(lambda call: call.send(sent)).url, admission=MemoryAdmission())
    got = _ask(client, proxy)
    assert got.startswith(b"HTTP/1.1 429 Too Many\r\nContent-Type: application/json\r\nX-Kept: 1\r\n")
    assert [b"x-should-retry: false"] == [row for row in got.split(b"\r\n") if b"should-retry" in row]
    assert got.endswith(b'\r\nContent-Length: 12\r\n\r\n{"error": 1}')


def test_an_error_in_chunks_is_one_answer(upstream, serve, client):
    """What is held goes on with a length."""
    sent = (
        b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"ab") + chunk(b"c") + LAST_CHUNK
    )
    proxy = serve(Mode.LIVE, upstream(lambda call: call.send(sent)).url, admission=MemoryAdmission())
    got = _ask(client, proxy)
    assert (True, False) == (got.endswith(b"Content-Length: 3\r\n\r\nabc"), b"chunked" in got)


def test_without_limits_errors_pass_byte_for_byte(upstream, serve, client):
    """Nothing is held, nothing is added."""
    sent = answer(b"{}", status="500 Oops")
    proxy = serve(Mode.LIVE, upstream(lambda call: call.send(sent)).url)
    assert sent == _ask(client, proxy)


def test_leave_that_is_refused_is_told_and_nothing_is_sent(upstream, serve, client):
    """Not calling, not retrying."""
    source = upstream(lambda call: call.send(answer()))
    refuses = ReachProblem("leave-refused", "a wait of 9 s cannot meet a deadline of 1 s")
    proxy = serve(Mode.LIVE, source.url, admission=MemoryAdmission(refuses=refuses))
    got = _ask(client, proxy)
    assert (True, True) == (got.startswith(b"HTTP/1.1 424 "), b"x-should-retry: false" in got)
    proxy.close()
    assert ([], 1, 0) == (source.calls, proxy.tally().refused_leave, proxy.tally().upstream_calls)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_limiter_that_is_away_at_the_end_alters_no_answer(upstream, serve, client, leaves):
    """Nothing is repeated, the client keeps what it got, and the session says what went wrong."""

    class Away(MemoryAdmission):
        async def leave(self, leave, ended, earlier):
            raise ReachProblem("limiter-unreachable", "the limiter is away")

    def script(call):
        call.send(STREAM_HEAD if leaves else answer())
        return source.released.wait(WAIT_S) if leaves else True

    source = upstream(script)
    proxy = serve(Mode.LIVE, source.url, admission=Away())
    conn = client(proxy.port)
    conn.sendall(request())
    assert answer() == read_response(conn) if not leaves else conn.recv(1)
    conn.close()
    _until(lambda: proxy.tally().troubles)
    proxy.close()
    assert (["limiter-unreachable"], 0) == (
        [one.code for one in proxy.tally().troubles],
        proxy.tally().retries,
    )


def test_a_client_that_leaves_frees_its_place(upstream, serve, client):
    """The lease comes back although the upstream still talks."""
    source = upstream(lambda call: call.send(STREAM_HEAD + chunk(piece("a"))) or source.released.wait(WAIT_S))
    admission = MemoryAdmission()
    proxy = serve(Mode.LIVE, source.url, admission=admission)
    conn = client(proxy.port)
    conn.sendall(request())
    conn.recv(1)
    assert 1 == admission.inside
    conn.close()
    _until(lambda: admission.inside == 0)
    assert [End.CLIENT_CLOSED] == [ended.end for ended in admission.ended]


def test_a_client_that_leaves_the_queue_is_cancelled_there(upstream, serve, client):
    """Whoever waits for leave and goes away gives its turn back, and nothing is sent for it."""
    source = upstream(lambda call: call.send(answer()))
    admission = MemoryAdmission()
    admission.gate = lambda: asyncio.sleep(3600)
    proxy = serve(Mode.LIVE, source.url, admission=admission)
    conn = client(proxy.port)
    conn.sendall(request())
    _until(lambda: admission.asks)
    conn.close()
    _until(lambda: admission.cancelled == 1)
    proxy.close()
    assert ([], 0) == (source.calls, admission.inside)


def test_the_end_of_the_proxy_hands_leave_back(upstream, serve, client):
    """A stopped run leaves no place taken."""
    source = upstream(lambda call: call.send(STREAM_HEAD) or source.released.wait(WAIT_S))
    admission = MemoryAdmission()
    proxy = serve(Mode.LIVE, source.url, admission=admission)
    client(proxy.port).sendall(request())
    _until(lambda: admission.inside == 1)
    proxy.close()
    assert 0 == admission.inside


def test_a_client_may_leave_at_the_end_mark(upstream, serve, client):
    """SDKs stop reading at [DONE]; what was whole by then is kept."""
    whole = STREAM_HEAD + chunk(piece("a", finish="stop") + event("[DONE]"))
    source = upstream(lambda call: call.send(whole) or source.released.wait(WAIT_S))
    recordings = MemoryRecordings()
    proxy = serve(Mode.RECORD, source.url, recordings=recordings)
    conn = client(proxy.port)
    conn.sendall(request())
    got = b""
    while b"[DONE]" not in got:
        got += conn.recv(65536)
    conn.close()
    _until(proxy.exchanges)
    proxy.close()
    assert (1, ()) == (proxy.tally().kept, proxy.tally().not_kept)


def test_a_client_that_leaves_before_keeps_nothing(upstream, serve, client):
    """Half an answer is none."""
    source = upstream(lambda call: call.send(STREAM_HEAD + chunk(piece("a"))) or source.released.wait(WAIT_S))
    proxy = serve(Mode.RECORD, source.url, recordings=MemoryRecordings())
    conn = client(proxy.port)
    conn.sendall(request())
    conn.recv(1)
    conn.close()
    _until(proxy.exchanges)
    proxy.close()
    assert (0, (("cut", 1),)) == (proxy.tally().kept, proxy.tally().not_kept)


def test_a_hanging_upstream_meets_the_limit_and_is_told_as_such(upstream, serve, client):
    """504 with its own code, and the limiter hears TIMEOUT."""
    source = upstream(lambda call: source.released.wait(WAIT_S))
    admission = MemoryAdmission()
    options = Options(limits=Limits(connect_s=WAIT_S, exchange_s=0.05))
    proxy = serve(Mode.LIVE, source.url, admission=admission, options=options)
    got = _ask(client, proxy)
    assert (True, True) == (got.startswith(b"HTTP/1.1 504 "), b"upstream-timeout" in got)
    proxy.close()
    assert [End.TIMEOUT] == [ended.end for ended in admission.ended]


@pytest.mark.parametrize("with_limits", [True, False])
def test_bytes_that_are_not_http_are_told_or_passed(upstream, serve, client, with_limits):
    """With limits a class of failure; without, what a client alone would have met."""
    source = upstream(lambda call: call.send(b"SSH-2.0-x\r\n"))
    proxy = serve(Mode.LIVE, source.url, admission=MemoryAdmission() if with_limits else None)
    got = _ask(client, proxy, until_close=True)
    assert (b"upstream-malformed" in got) if with_limits else got == b"SSH-2.0-x\r\n"


def test_what_the_answer_used_settles_the_reservation(upstream, serve, client):
    """Asked: the estimate and the largest cap; told afterwards: the endpoint's own count."""
    body = json.dumps({"model": "m", "max_tokens": 1, "max_completion_tokens": 50, "messages": []}).encode()
    admission = MemoryAdmission()
    proxy = serve(Mode.LIVE, upstream(lambda call: call.send(answer())).url, admission=admission)
    _ask(client, proxy, request(body=body))
    proxy.close()
    assert [(-(-len(body) // 4), 50)] == [(ask.prompt_tokens, ask.output_tokens) for ask in admission.asks]
    assert [9] == [ended.used_tokens for ended in admission.ended]


def test_usage_without_a_total_is_added_up(upstream, serve, client):
    """Anthropic names both parts and no total."""
    body = json.dumps({"type": "message", "usage": {"input_tokens": 3, "output_tokens": 4}}).encode()
    admission = MemoryAdmission()
    proxy = serve(Mode.LIVE, upstream(lambda call: call.send(answer(body))).url, admission=admission)
    _ask(client, proxy, request("/v1/messages"))
    proxy.close()
    assert [7] == [ended.used_tokens for ended in admission.ended]


def test_one_connection_serves_many_requests_and_survives_an_upstream_that_closes(upstream, serve, client):
    """An idle upstream that went away is replaced; the client's connection stays."""
    source = upstream(lambda call: call.send(answer()))  # closes after each
    proxy = serve(Mode.LIVE, source.url)
    conn = client(proxy.port)
    for number in range(3):
        conn.sendall(request())
        assert answer() == read_response(conn)
        _until(lambda: len(proxy.exchanges()) == number + 1)  # noqa: B023 - called before the next number
        time.sleep(0.01)
    assert 3 == len(source.calls)


def test_large_bodies_pass_and_their_answers_are_bounded_in_memory(upstream, serve, client):
    """A body of several MiB arrives whole; a held error above the limit passes on instead of growing."""
    big = b"x" * (9 << 20)
    sent = answer(big, status="500 Oops")
    source = upstream(lambda call: call.send(sent))
    proxy = serve(Mode.LIVE, source.url, admission=MemoryAdmission(AGAIN))
    got = _ask(client, proxy, request(body=big, headers=("Connection: close",)), until_close=True)
    assert (sent, big) == (got, source.calls[0].body)


def test_compressed_answers_are_recorded_as_they_came(upstream, record_one):
    """Gzip bytes are neither opened nor relabelled; a body that only claims gzip is kept the same way."""
    import gzip

    for body in (gzip.compress(json.dumps(completion()).encode()), b'{"a":1}'):
        sent = answer(body, headers=("Content-Encoding: gzip",))
        recordings, _ = record_one(upstream(lambda call, sent=sent: call.send(sent)))
        kept = recordings.kept[0][1]
        assert (body, True) == (kept.body, ("Content-Encoding", "gzip") in kept.headers)


def test_a_reset_of_the_client_is_no_error_inside(upstream, serve):
    """The proxy closes green after clients that vanish."""
    source = upstream(lambda call: call.send(STREAM_HEAD) or source.released.wait(WAIT_S))
    proxy = serve(Mode.LIVE, source.url)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT_S) as conn:
        conn.sendall(request())
        conn.recv(1)
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    _until(proxy.exchanges)
    proxy.close()
    assert [End.CLIENT_CLOSED] == [one.end for one in proxy.exchanges()]
