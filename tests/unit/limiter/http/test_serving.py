# SPDX-License-Identifier: Apache-2.0
"""Stopping in order, and bounds on connections, over real sockets."""

import contextlib
import http.client
import socket
import threading
import time

from simulators.limiter_service import Running, new_id, running
from truegreen.limiter.http import serving, wire
from truegreen.limiter.limits import Limits, checked


def _until(true, limit_s=10):
    ends = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_stopping_refuses_those_who_ask_and_those_who_wait_and_lets_calls_end():
    """One call under way, one ask that waits: the waiting one is told, the call is handed back, then it closes."""
    service = Running(checked(Limits(in_flight=1)))
    service.start()
    lease, told = new_id(), []
    service.post(wire.ACQUIRE, {"id": lease})
    waiting = threading.Thread(target=lambda: told.append(service.post(wire.ACQUIRE, {"id": new_id()})))
    waiting.start()
    _until(lambda: service.numbers()["waiting"] == 1)
    service.stop()
    waiting.join(10)
    assert [(503, "limiter-stopping")] == [(status, body["code"]) for status, body in told]
    status, headers, body = service.ask("POST", wire.ACQUIRE, {"id": new_id()})
    assert (503, "limiter-stopping", "5") == (status, body["code"], headers["retry-after"])
    assert (503, "stopping") == _health(service)
    assert 200 == service.post(wire.HEARTBEAT, {"lease": lease})[0]
    assert 200 == service.post(wire.RELEASE, {"lease": lease})[0]
    service.join()


def _health(service):
    status, _, told = service.ask("GET", wire.HEALTH)
    return status, told["status"]


def test_a_call_that_never_ends_does_not_keep_the_service():
    """After the time that calls have, it closes."""
    service = Running(checked(Limits(in_flight=1)), drain_s=0.1)
    service.start()
    service.post(wire.ACQUIRE, {"id": new_id()})
    service.stop()
    service.join()


def test_a_lease_that_ends_by_itself_ends_the_stopping():
    """Nobody hands it back; its end is noticed."""
    service = Running(checked(Limits(in_flight=1, lease_ns=200_000_000)))
    service.start()
    service.post(wire.ACQUIRE, {"id": new_id()})
    service.stop()
    service.join()


def test_told_twice_it_closes_at_once():
    """Whoever has no patience says it again."""
    service = Running(checked(Limits(in_flight=1)), drain_s=3600)
    service.start()
    service.post(wire.ACQUIRE, {"id": new_id()})
    service.stop()
    service.stop()
    service.join()


def test_more_connections_than_allowed_are_turned_away():
    """503 at once; those that are in go on."""
    with running({"in_flight": 1}, connections=3) as service, contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(("127.0.0.1", service.port)))
        assert 503 == service.ask("GET", wire.HEALTH)[0]


def test_a_connection_that_says_nothing_is_closed(monkeypatch):
    """So that idle ones do not keep others out; one that asked in time is not touched."""
    monkeypatch.setattr(serving, "HEAD_S", 0.05)
    with running({"in_flight": 1}) as service:
        with socket.create_connection(("127.0.0.1", service.port)) as silent:
            silent.settimeout(10)
            assert b"" == silent.recv(1)
        speaking = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
        for _ in range(2):
            speaking.request("GET", wire.HEALTH)
            answer = speaking.getresponse()
            assert (200, True) == (answer.status, b"ok" in answer.read())
            time.sleep(0.1)
        speaking.close()
