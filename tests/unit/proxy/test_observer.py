# SPDX-License-Identifier: Apache-2.0
"""The observer as the sampler uses it: life, addresses, counting, attribution."""

import os
import socket
import sys
import threading
import time
import urllib.request

import pytest
from wire_kit import answer, read_response, request

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.exchange import End
from truegreen.proxy.observer import Observer

WAIT_S = 10.0


@pytest.fixture
def echo(upstream):
    """An upstream that answers every request on a connection."""
    return upstream(lambda call: call.send(answer()) or True)


def _ask(client, observer, path="/chat/completions"):
    conn = client(observer.port)
    conn.sendall(request(path))
    return read_response(conn)


def test_it_listens_on_loopback_only(echo, observe):
    """Nobody outside this machine can send through it."""
    observer = observe(echo.url)
    assert f"http://127.0.0.1:{observer.port}" == observer.base_url()
    assert f"http://127.0.0.1:{observer.port}/s/12-3" == observer.base_url("12-3")
    assert f"127.0.0.1:{echo.port}" == observer.host
    assert [("127.0.0.1", observer.port)] == [s.getsockname() for s in observer._listener._server.sockets]


@pytest.mark.parametrize("token", ["", "a b", "a/b", "é", "x" * 81, "a\n", "%41"])
def test_tokens_that_would_need_an_escape_are_refused(echo, observe, token):
    """A token stands in a path as it is."""
    with pytest.raises(UsageProblem) as caught:
        observe(echo.url).base_url(token)
    assert "bad-token" == caught.value.code


def test_exchanges_are_kept_by_id_and_token(echo, observe, client):
    """Every call is counted, and each sample finds its own."""
    observer = observe(echo.url)
    for token in ("0-1", "0-2", "0-1"):
        assert answer() == _ask(client, observer, f"/s/{token}/chat/completions")
    _ask(client, observer)
    assert 0 == observer.drain()
    assert [1, 2, 3, 4] == [exchange.id for exchange in observer.exchanges()]
    assert ["0-1", "0-2", "0-1", None] == [exchange.token for exchange in observer.exchanges()]
    assert [1, 3] == [exchange.id for exchange in observer.exchanges_of("0-1")]
    assert (4, 0) == (observer.count, observer.in_flight)


def test_finished_exchanges_are_told_as_they_finish(echo, observe, client):
    """The caller's function gets each, before ``drain`` returns."""
    told = []
    observer = observe(echo.url, on_exchange=told.append)
    _ask(client, observer)
    observer.drain()
    assert list(observer.exchanges()) == told


def test_an_error_inside_is_not_lost(echo, client):
    """A function that raises takes no exchange along and turns up where the caller looks."""

    def broken(_exchange):
        raise ZeroDivisionError("of the test")

    observer = Observer(echo.url, on_exchange=broken).start()
    assert answer() == _ask(client, observer)
    while observer.in_flight:
        pass
    with pytest.raises(ReachProblem) as caught:
        observer.close()
    assert ("observer-failed", True) == (caught.value.code, "ZeroDivisionError" in caught.value.message)
    assert 1 == len(observer.exchanges())


def test_drain_waits_for_what_is_in_flight_and_no_longer_than_told(upstream, observe, client):
    """It says how many are left, and nothing once they are done."""
    go = threading.Event()
    arrived = threading.Event()

    def script(call):
        arrived.set()
        go.wait(10)
        call.send(answer())

    observer = observe(upstream(script).url)
    conn = client(observer.port)
    conn.sendall(request())
    arrived.wait(10)
    assert 1 == observer.drain(limit_s=0.01)
    assert (1, 1, ()) == (observer.count, observer.in_flight, observer.exchanges())
    go.set()
    assert 0 == observer.drain(limit_s=10)
    assert 1 == len(observer.exchanges())


def test_close_ends_what_is_in_flight_and_keeps_it(upstream, client):
    """Nothing hangs, and the exchange says that the observer stopped."""
    arrived = threading.Event()

    def script(call):
        arrived.set()
        call.conn.recv(1)

    observer = Observer(upstream(script).url).start()
    conn = client(observer.port)
    conn.sendall(request())
    arrived.wait(10)
    observer.close()
    observer.close()
    assert b"" == read_response(conn, until_close=True)
    (exchange,) = observer.exchanges()
    assert (End.TIMEOUT, "observer-stopped") == (exchange.end, exchange.end_detail)


def test_an_observer_starts_once(echo):
    """A second start would begin a second count."""
    with Observer(echo.url) as observer, pytest.raises(UsageProblem) as caught:
        observer.start()
    assert "observer-started" == caught.value.code


def test_an_observer_that_never_started_closes_quietly(echo):
    """So that a caller may always close."""
    Observer(echo.url).close()


def test_it_leaves_neither_threads_nor_sockets(echo, client):
    """After the close everything is as before."""
    with Observer(echo.url) as observer:
        _ask(client, observer)
        port = observer.port
    assert "truegreen-observer" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_the_sample_number_is_forwarded_only_when_asked(echo, observe, client):
    """Headers are otherwise the client's own."""
    for forward in (False, True):
        _ask(client, observe(echo.url, forward_sample=forward), "/s/7-12/chat/completions")
    _ask(client, observe(echo.url, forward_sample=True))
    assert [None, "12", None] == [call.header("x-truegreen-sample") for call in echo.calls]


def test_many_streams_pass_at_once(upstream, observe, client):
    """64 calls are in flight together before the first is answered."""
    barrier = threading.Barrier(64, timeout=20)

    def script(call):
        barrier.wait()
        call.send(answer())

    observer = observe(upstream(script).url)
    conns = [client(observer.port) for _ in range(64)]
    for number, conn in enumerate(conns):
        conn.sendall(request(f"/s/0-{number}/chat/completions"))
    assert [answer()] * 64 == [read_response(conn) for conn in conns]
    assert 0 == observer.drain()
    assert {f"0-{number}" for number in range(64)} == {exchange.token for exchange in observer.exchanges()}


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_forked_samples_module_level_client_is_attributed(echo, observe):
    """A child that uses an address without token is named by its process, if it is watched."""
    observer = observe(echo.url)
    for is_watched in (True, False):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(writer)
                os.read(reader, 1)
                urllib.request.urlopen(f"{observer.base_url()}/models", timeout=10).read()
            finally:
                os._exit(0)
        os.close(reader)
        if is_watched:
            observer.watch(child)
        os.close(writer)
        os.waitpid(child, 0)
        observer.unwatch(child)
        observer.drain()
        assert (child if is_watched else None) == observer.exchanges()[-1].peer_pid


def test_a_token_needs_no_process(echo, observe, client):
    """What the address says is certain; nobody looks for a process then."""
    observer = observe(echo.url)
    observer.watch(os.getpid())
    _ask(client, observer, "/s/0-1/x")
    _ask(client, observer, "/x")
    observer.drain()
    assert [("0-1", None), (None, os.getpid())] == [(e.token, e.peer_pid) for e in observer.exchanges()]


def test_settling_waits_for_what_was_asked_about_and_for_nothing_else(upstream, observe, client):
    """A sample's exchange that still passes is waited for; another one's is not."""
    release = threading.Event()

    def slow(call):
        if b"/slow" in call.head.split(b"\r\n")[0]:
            release.wait(WAIT_S)
        call.send(answer())

    observer = observe(upstream(slow).url)
    hanging = client(observer.port)
    hanging.sendall(request("/s/1-1/slow"))
    _ask(client, observer, "/s/0-1/x")
    observer_count = 2
    while observer.count < observer_count:
        time.sleep(0.001)
    assert ["0-1"] == [e.token for e in observer.settle({"0-1"}, (), limit_s=WAIT_S)]
    assert () == observer.settle({"1-1"}, (), limit_s=0.01)
    release.set()
    read_response(hanging)
    assert ["1-1"] == [e.token for e in observer.settle({"1-1"}, (), limit_s=WAIT_S)]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_settling_by_process_takes_requests_without_token(echo, observe, client):
    """What another process asked, or what has a token, is not taken."""
    observer = observe(echo.url)
    observer.watch(os.getpid())
    _ask(client, observer, "/s/0-1/x")
    _ask(client, observer, "/x")
    assert [None] == [e.token for e in observer.settle((), {os.getpid()}, limit_s=WAIT_S)]
    assert () == observer.settle((), {1}, limit_s=WAIT_S)
