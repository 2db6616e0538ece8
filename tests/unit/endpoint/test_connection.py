# SPDX-License-Identifier: Apache-2.0
"""Clients of every kind, on real sockets."""

import json
import os

import pytest

from truegreen.endpoint.connection import Limits
from truegreen.endpoint.scenario import Fault


def test_requests_follow_each_other_on_one_connection(serve, client):
    """One after the other, and sent all at once."""
    conn = client(serve())
    for number in range(3):
        conn.ask(sample=number)
        assert 200 == conn.read()[0]
    conn.ask(sample=4)
    conn.ask(sample=5)
    assert [200, 200] == [conn.read()[0], conn.read()[0]]


def test_bytes_that_trickle_are_a_request_in_the_end(serve, client):
    """A slow client within its time is served."""
    endpoint = serve()
    conn = client(endpoint)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "é"}]}).encode()
    for byte in b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    ):
        conn.send(bytes([byte]))
    assert 200 == conn.read()[0]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x00\xa5\x01\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /" + b"x" * 70_000, 431),
        (b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ],
)
def test_what_is_no_request_ends_the_connection(serve, client, raw, status):
    """With an error in OpenAI's form, and the endpoint goes on for others."""
    endpoint = serve()
    conn = client(endpoint)
    conn.send(raw)
    answered = conn.rest()
    assert answered.startswith(f"HTTP/1.1 {status} ".encode())
    assert "invalid_request_error" == json.loads(answered.partition(b"\r\n\r\n")[2])["error"]["type"]
    other = client(endpoint)
    other.ask()
    assert 200 == other.read()[0]
    assert 1 == endpoint.oracle().other_requests


def test_a_chunked_body_above_the_limit_is_refused(serve, client):
    """A length that nobody announced is counted as it comes."""
    conn = client(serve(limits=Limits(body_bytes=1000)))
    conn.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    conn.send(b"400\r\n" + b"x" * 0x400 + b"\r\n")
    assert conn.rest().startswith(b"HTTP/1.1 413 ")


def test_a_request_that_does_not_arrive_in_time_is_sent_away(serve, client):
    """408, as servers do that do not wait for ever."""
    conn = client(serve(limits=Limits(request_s=0.1)))
    conn.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123")
    assert conn.rest().startswith(b"HTTP/1.1 408 ")


def test_a_client_that_waits_for_leave_gets_it(serve, client):
    """Expect: 100-continue."""
    conn = client(serve())
    conn.send(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    )
    assert b"HTTP/1.1 100 Continue\r\n\r\n" == conn.sock.recv(100)
    conn.send(b"{}")
    assert 400 == conn.read()[0]


def test_a_hang_ends_with_its_client(serve, client):
    """Nothing is in flight once everybody has left."""
    endpoint = serve(faults=(Fault(kind="hang", share=1),))
    conns = [client(endpoint) for _ in range(5)]
    for number, conn in enumerate(conns):
        conn.ask(sample=number)
    while endpoint.oracle().in_flight < 5:
        pass
    for conn in conns:
        conn.sock.close()
    while endpoint.oracle().in_flight:
        pass
    assert (5, 5) == (endpoint.oracle().calls, endpoint.oracle().in_flight_peak)


def test_a_hang_holds_a_chatty_client_too(serve, client):
    """What it sends meanwhile is kept, not answered, and not kept without bound."""
    endpoint = serve(faults=(Fault(kind="hang", share=1),))
    conn = client(endpoint)
    conn.ask()
    while not endpoint.oracle().calls:
        pass
    conn.ask(prompt="y" * 50_000)
    conn.send(b"z" * 50_000)
    assert b"" == conn.rest()
    assert 1 == endpoint.oracle().calls


@pytest.mark.parametrize(
    ("fault", "received"),
    [
        (Fault(kind="cut", share=1), lambda data: data == b""),
        (Fault(kind="cut", share=1, at="after-head"), lambda data: data.endswith(b"\r\n\r\n")),
        (Fault(kind="cut", share=1, at="midway"), lambda data: b'"choices"' in data or b"chatcmpl" in data),
        (Fault(kind="malformed", share=1, how="not-http"), lambda data: not data.startswith(b"HTTP")),
    ],
)
def test_a_cut_closes_the_connection(serve, client, fault, received):
    """After exactly what it sends."""
    conn = client(serve(faults=(fault,)))
    conn.ask()
    assert received(conn.rest())


def test_a_wish_to_close_is_granted(serve, client):
    """After the answer."""
    conn = client(serve())
    conn.send(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert conn.rest().endswith(b'"data": []}')


def test_a_forked_copy_of_the_sockets_keeps_nobody_waiting(serve, client):
    """A child that was forked in between holds copies; a cut is seen all the same."""
    endpoint = serve(faults=(Fault(kind="cut", share=1, at="after-head"),))
    conn = client(endpoint)
    conn.send(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    assert 200 == conn.read()[0]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    try:
        conn.ask()
        assert conn.rest().startswith(b"HTTP/1.1 200 ")
    finally:
        os.close(writer)
        os.waitpid(child, 0)
