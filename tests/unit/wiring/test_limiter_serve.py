# SPDX-License-Identifier: Apache-2.0
"""The service as a process: how it says where it listens, what it refuses, how signals end it."""

import http.client
import json
import signal
import socket
import subprocess
import sys

import pytest

from simulators.limiter_service import new_id
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.limiter.http.store import MemoryStore
from truegreen.limiter.limits import Limits, checked
from truegreen.wiring.limiter_serve import Place, announcement, refuse_careless, serve

PROGRAM = """
import sys
from pathlib import Path
from truegreen.limiter.http.store import MemoryStore
from truegreen.limiter.limits import Limits, checked
from truegreen.wiring.limiter_serve import Place, serve
store = MemoryStore(checked(Limits(in_flight=1)))
place = Place(port=0, ready_file=Path(sys.argv[1]), drain_s=20)
code = serve(place, tokens=None, store=store, say=lambda line: print(line, flush=True))
sys.exit(code)
"""


@pytest.fixture
def process(tmp_path):
    """A service in a process of its own, and where it listens."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "ready.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as it:
        line = it.stdout.readline()
        assert line == (tmp_path / "ready.json").read_text(encoding="utf-8")
        yield it, json.loads(line)
        it.kill()


def _post(port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", path, body=json.dumps(body))
    status = connection.getresponse().status
    connection.close()
    return status


def test_sigterm_lets_a_call_end_and_exits_0(process):
    """New asks are refused meanwhile; the process ends when the last call does."""
    it, told = process
    assert (f"http://127.0.0.1:{told['port']}", it.pid) == (told["url"], told["pid"])
    lease = new_id()
    assert 200 == _post(told["port"], "/v1/acquire", {"id": lease})
    it.send_signal(signal.SIGTERM)
    while _post(told["port"], "/v1/acquire", {"id": new_id(), "wait_s": 0}) != 503:
        assert it.poll() is None
    assert 200 == _post(told["port"], "/v1/release", {"lease": lease})
    assert 0 == it.wait(20)


def test_a_second_sigterm_ends_it_at_once(process):
    """Although a call is under way."""
    it, told = process
    _post(told["port"], "/v1/acquire", {"id": new_id()})
    it.send_signal(signal.SIGTERM)
    while _post(told["port"], "/v1/acquire", {"id": new_id(), "wait_s": 0}) != 503:
        assert it.poll() is None
    it.send_signal(signal.SIGTERM)
    assert 0 == it.wait(20)


@pytest.mark.parametrize(
    ("given", "has_tokens", "is_taken"),
    [
        ({}, False, True),
        ({"host": "::1"}, False, True),
        ({"host": "localhost"}, False, True),
        ({"host": "0.0.0.0"}, False, False),
        ({"host": "0.0.0.0"}, True, False),
        ({"host": "10.0.0.7", "is_plain_allowed": True}, False, False),
        ({"host": "10.0.0.7", "is_plain_allowed": True}, True, True),
        ({"host": "10.0.0.7", "certificate": "c.pem"}, True, True),
        ({"host": "10.0.0.7", "certificate": "c.pem"}, False, False),
        ({"host": "limiter.example"}, True, False),
        ({"host": ""}, False, False),
    ],
)
def test_beyond_loopback_tokens_and_tls_are_asked(given, has_tokens, is_taken):
    """Whatever the address is called."""
    place = Place(**given)
    if is_taken:
        refuse_careless(place, has_tokens=has_tokens)
    else:
        with pytest.raises(UsageProblem) as caught:
            refuse_careless(place, has_tokens=has_tokens)
        assert "not-loopback" == caught.value.code


def _serve(place):
    return serve(place, tokens=None, store=MemoryStore(checked(Limits(in_flight=1))), say=lambda _: None)


def test_a_port_that_is_taken_is_named():
    """Exit 3, with the port."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ReachProblem, match=f"port {port}") as caught:
            _serve(Place(port=port))
    assert "port-taken" == caught.value.code


def test_a_certificate_that_is_none_is_named(tmp_path):
    """Before anything is announced."""
    for name in ("c.pem", "k.pem"):
        (tmp_path / name).write_text("no certificate", encoding="utf-8")
    with pytest.raises(UsageProblem) as caught:
        _serve(Place(port=0, certificate=tmp_path / "c.pem", key=tmp_path / "k.pem"))
    assert "bad-certificate" == caught.value.code


def test_the_extra_is_asked_for_by_name(monkeypatch):
    """Without starlette the error has the command that installs it."""
    monkeypatch.setitem(sys.modules, "truegreen.limiter.http.app", None)
    with pytest.raises(UsageProblem) as caught:
        _serve(Place(port=0))
    assert ("extra-missing", "pip install 'truegreen[service]'") == (caught.value.code, caught.value.hint)


def test_an_address_of_six_has_brackets():
    """As a URL has them."""
    assert "http://[::1]:7" == json.loads(announcement(Place(host="::1"), 7))["url"]
