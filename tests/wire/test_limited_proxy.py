# SPDX-License-Identifier: Apache-2.0
"""The proxy with the real limiter and the real retry table, before an endpoint that counts.

What the article asks to be asserted: never more in flight than the capacity, calls within the attempt budget, and
whoever cannot get leave in time exits without calling.
"""

import json
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest

from truegreen.core.call_log import entries_of
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, Latency, Rule, Scenario
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.opening import async_limiter_at
from truegreen.proxy.modes import Mode
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.model_proxy import OpenedProxy, Wish

WAIT_S = 20.0


@pytest.fixture
def world(tmp_path):
    """Start an endpoint and a live proxy before it, with limits that a file of this test keeps."""
    started = []

    def start(rule, **limits):
        endpoint = FakeEndpoint(Scenario(seed="w", rules=(rule,))).start()
        started.append(endpoint.stop)
        ledger = async_limiter_at(f"file:{tmp_path}", checked(Limits(**limits)))
        started.append(ledger.close)
        wish = Wish(mode=Mode.LIVE, upstream=endpoint.url, ledger=ledger, log=tmp_path / "ci.log")
        opened = OpenedProxy(wish, environment={}, clock=SystemClock())
        opened.proxy.start()
        started.append(opened.close)
        return endpoint, opened.proxy

    yield start
    for stop in reversed(started):
        stop()


def _body(text, **more):
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **more}).encode()


def _ask(proxy, text):
    sent = urllib.request.Request(
        f"{proxy.base_url()}/chat/completions", data=_body(text), headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(sent, timeout=WAIT_S) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as err:
        with err:
            return err.code, json.load(err)


def _ask_all(proxy, count):
    """Every answer of so many clients at once."""
    answers = [None] * count

    def ask(place):
        answers[place] = _ask(proxy, f"question {place}")

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    return answers


def _until(holds):
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_never_more_in_flight_than_the_capacity(world):
    """Twelve clients, two places: every one is answered, and the endpoint saw two at once and no more."""
    endpoint, proxy = world(Rule(id="r", answer="yes", latency=Latency(ms=10)), in_flight=2)
    assert [200] * 12 == [status for status, _ in _ask_all(proxy, 12)]
    counts = endpoint.oracle()
    assert (2, 12) == (counts.in_flight_peak, counts.calls)
    assert 0 < proxy.tally().waited_s


def test_calls_stay_within_the_attempt_budget_and_each_attempt_asks_anew(world, tmp_path):
    """An endpoint that is down for good: two attempts a call, one line each, and no SDK is told to go on."""
    endpoint, proxy = world(
        Rule(id="r", answer="yes", faults=(Fault(kind="status", status=503, share=1),)), in_flight=4
    )
    assert [503] * 3 == [status for status, _ in _ask_all(proxy, 3)]
    entries = list(entries_of((tmp_path / "ci.log").read_text()))
    assert (6, 6, 3) == (endpoint.oracle().calls, len(entries), proxy.tally().retries)
    assert {1: 3, 2: 3} == {number: sum(one.attempt == number for one in entries) for number in (1, 2)}


def test_whoever_cannot_get_leave_in_time_does_not_call(world):
    """One place is taken by a stream that hangs; the other client is told, and the endpoint hears of one call."""
    hang = Fault(kind="hang", at="midway", share=1)
    endpoint, proxy = world(Rule(id="r", answer="yes" * 9, faults=(hang,)), in_flight=1, wait_ns=SECOND // 20)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT_S) as conn:
        body = _body("first", stream=True)
        head = f"POST /chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
        conn.sendall(head.encode() + body)
        assert conn.recv(12) == b"HTTP/1.1 200"
        status, said = _ask(proxy, "second")
        assert (424, "leave-refused") == (status, said["error"]["code"])
    assert (1, 1) == (endpoint.oracle().calls, proxy.tally().refused_leave)


def test_a_client_that_leaves_a_stream_frees_its_place_at_the_real_limiter(world):
    """The next one is served although the first stream never ended."""
    hang = Fault(kind="hang", at="midway", first=1, per="endpoint")
    _, proxy = world(Rule(id="r", answer="yes" * 9, faults=(hang,)), in_flight=1)
    conn = socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT_S)
    body = _body("first", stream=True)
    head = f"POST /chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    conn.sendall(head.encode() + body)
    assert conn.recv(12) == b"HTTP/1.1 200"
    conn.close()
    assert 200 == _ask(proxy, "second")[0]
    _until(lambda: len(proxy.exchanges()) == 2)
