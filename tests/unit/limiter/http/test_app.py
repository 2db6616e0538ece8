# SPDX-License-Identifier: Apache-2.0
"""The service's addresses over real sockets: tokens, bounds, errors, and clients that go away."""

import hashlib
import json
import socket
import time

import pytest

from simulators.limiter_service import new_id, running
from truegreen.limiter.http import wire
from truegreen.limiter.http.tokens import Tokens

ONE, TWO, OPERATOR = "one-" + "a" * 32, "two-" + "b" * 32, "ops-" + "c" * 32


def _tokens():
    rows = ((ONE, "team-a"), (TWO, "team-b"), (OPERATOR, "*"))
    return Tokens(tuple((hashlib.sha256(token.encode()).digest(), tenant) for token, tenant in rows))


@pytest.fixture(scope="module")
def closed():
    """A service that is only asked what it refuses."""
    with running({"in_flight": 2}, tokens=_tokens()) as it:
        yield it


@pytest.fixture(scope="module")
def strict():
    """The same without tokens."""
    with running({"in_flight": 2}) as it:
        yield it


@pytest.fixture
def service():
    """Two places and no rate, with tokens."""
    with running({"in_flight": 2}, tokens=_tokens()) as it:
        yield it


@pytest.fixture
def local():
    """One place, no tokens."""
    with running({"in_flight": 1}) as it:
        yield it


def test_leave_is_given_kept_and_handed_back(local):
    """The whole life of a lease."""
    lease = new_id()
    status, granted = local.post(wire.ACQUIRE, {"id": lease, "holder": "job 7"})
    assert (200, {"lease": lease, "ticket": 1, "waited_s": 0.0, "lease_s": 60.0}) == (status, granted)
    assert (200, {"lease_s": 60.0}) == local.post(wire.HEARTBEAT, {"lease": lease})
    assert ["job 7"] == [it["holder"] for it in local.numbers()["in_flight"]]
    assert (200, {}) == local.post(wire.RELEASE, {"lease": lease})
    assert [] == local.numbers()["in_flight"]
    status, told = local.post(wire.HEARTBEAT, {"lease": lease})
    assert (410, "lease-lost") == (status, told["code"])


def test_handing_back_twice_changes_nothing(local):
    """The second, and one of a lease that never was, are answered as the first."""
    lease = new_id()
    local.post(wire.ACQUIRE, {"id": lease})
    assert [(200, {})] * 3 == [local.post(wire.RELEASE, {"lease": it}) for it in (lease, lease, new_id())]
    assert 1 == local.numbers()["counts"]["granted"]


def test_asking_again_under_an_id_asks_once(local):
    """An answer that was lost is asked for again: the same place, one ticket."""
    lease = new_id()
    first = local.post(wire.ACQUIRE, {"id": lease})
    again = local.post(wire.ACQUIRE, {"id": lease})
    assert (first[1]["ticket"], first[1]["lease"]) == (again[1]["ticket"], again[1]["lease"])
    assert (1, 1) == (local.numbers()["counts"]["granted"], len(local.numbers()["in_flight"]))


def test_a_wait_that_cannot_do_is_refused_with_what_would_have_done(local):
    """With the reason and the least wait."""
    local.post(wire.ACQUIRE, {"id": new_id()})
    status, told = local.post(wire.ACQUIRE, {"id": new_id(), "wait_s": 0})
    assert (409, "leave-refused", "deadline") == (status, told["code"], told["reason"])
    with running({"calls": 1, "burst": 2}) as slow:
        status, told = slow.post(wire.ACQUIRE, {"id": new_id(), "cost": 3})
        assert (409, "cost-above-burst", None) == (status, told["reason"], told.get("wait_s"))


@pytest.mark.parametrize("token", [None, "x" * 40, ONE[:-1]])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", wire.ACQUIRE),
        ("POST", wire.RELEASE),
        ("POST", wire.HEARTBEAT),
        ("POST", wire.HOLD_OFF),
        ("GET", wire.STATUS),
        ("GET", wire.METRICS),
    ],
)
def test_without_a_known_token_nothing_is_answered(closed, method, path, token):
    """401, whatever the body is, and the token is not repeated."""
    status, headers, told = closed.ask(method, path, b"not json" if method == "POST" else None, token)
    assert (401, "token-refused", 'Bearer realm="truegreen"') == (
        status,
        told["code"],
        headers["www-authenticate"],
    )
    assert (token or "nobody") not in json.dumps(told)


def test_tenants_do_not_see_or_touch_each_other(service):
    """Each has ledgers of its own under the same names; a lease of one is unknown to the other."""
    lease = new_id()
    service.post(wire.ACQUIRE, {"id": lease}, ONE)
    service.post(wire.ACQUIRE, {"id": new_id()}, TWO)
    service.post(wire.RELEASE, {"lease": lease}, TWO)
    assert 410 == service.post(wire.HEARTBEAT, {"lease": lease}, TWO)[0]
    seen = [service.ask("GET", wire.STATUS, token=token)[2]["resources"] for token in (ONE, TWO, OPERATOR)]
    assert [["team-a"], ["team-b"], ["team-a", "team-b"]] == [[it["tenant"] for it in rows] for rows in seen]
    assert [1, 1] == [len(it["in_flight"]) for it in seen[2]]


def test_the_operator_reads_and_asks_for_nothing(service):
    """Its token gives no leave: 403."""
    status, told = service.post(wire.ACQUIRE, {"id": new_id()}, OPERATOR)
    assert (403, "operator-only-reads") == (status, told["code"])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"id": "no space"}',
        b'{"id": "abcdefghijklmnop", "id": "abcdefghijklmnop"}',
        b'{"id": "abcdefghijklmnop", "cost": 0}',
        b'{"id": "abcdefghijklmnop", "cost": -1}',
        b'{"id": "abcdefghijklmnop", "cost": 1.5}',
        b'{"id": "abcdefghijklmnop", "cost": "1"}',
        b'{"id": "abcdefghijklmnop", "cost": 1e300}',
        b'{"id": "abcdefghijklmnop", "wait_s": -1}',
        b'{"id": "abcdefghijklmnop", "wait_s": NaN}',
        b'{"id": "abcdefghijklmnop", "wait_s": 86401}',
        b'{"id": "abcdefghijklmnop", "prompt_tokens": -5}',
        b'{"id": "abcdefghijklmnop", "resource": ""}',
        b'{"id": "abcdefghijklmnop", "tenant": "team-b"}',
        b'{"id": "abcdefghijklmnop", "resource": "' + b"x" * 201 + b'"}',
        b"\xff",
        b"[" * 5000,
    ],
)
def test_a_body_of_another_shape_is_refused(strict, body):
    """400 with what is wrong; nothing is charged."""
    status, told = strict.post(wire.ACQUIRE, body)
    assert (400, "bad-request") == (status, told["code"])
    assert [] == strict.ask("GET", wire.STATUS)[2]["resources"]


def test_a_long_body_is_not_read(local):
    """413, with and without a length that says so."""
    body = b'{"holder": "' + b"x" * wire.BODY_BYTES + b'"}'
    assert 413 == local.post(wire.ACQUIRE, body)[0]
    with socket.create_connection(("127.0.0.1", local.port)) as raw:
        raw.sendall(b"POST /v1/acquire HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        raw.sendall(b"%x\r\n%b\r\n" % (len(body), body))
        assert b"413" in raw.recv(65536).partition(b"\r\n")[0]


def test_unknown_addresses_and_methods_have_codes(local):
    """404 and 405 as JSON."""
    assert (404, "no-such-address") == _code(local.ask("GET", "/v2/acquire"))
    status, headers, told = local.ask("GET", wire.ACQUIRE)
    assert (405, "POST", "other-method") == (status, headers["allow"], told["code"])


def _code(answer):
    return answer[0], answer[2]["code"]


def test_a_client_that_goes_away_is_a_cancelled_waiter(local):
    """The next in the queue is not kept waiting by it, and no place is lost."""
    lease = new_id()
    local.post(wire.ACQUIRE, {"id": lease})
    body = json.dumps({"id": new_id()}).encode()
    with socket.create_connection(("127.0.0.1", local.port)) as raw:
        raw.sendall(b"POST /v1/acquire HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        _until(lambda: local.numbers()["waiting"] == 1)
    _until(lambda: local.numbers()["waiting"] == 0)
    assert 1 == local.numbers()["counts"]["cancelled"]
    local.post(wire.RELEASE, {"lease": lease})
    assert 200 == local.post(wire.ACQUIRE, {"id": new_id(), "wait_s": 0})[0]


def _until(true, limit_s=10):
    ends = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_429_of_anybody_holds_everybody_off(local):
    """Whoever would have to wait beyond its deadline is told so."""
    assert (200, {}) == local.post(wire.HOLD_OFF, {"for_s": 30})
    status, told = local.post(wire.ACQUIRE, {"id": new_id(), "wait_s": 1})
    assert (409, "deadline", True) == (status, told["reason"], 29 < told["wait_s"] <= 30)
    numbers = local.numbers()
    assert (1, True) == (numbers["counts"]["rate_limited"], 29 < numbers["held_s"] <= 30)


def test_a_told_pause_comes_with_the_end_of_a_call(local):
    """One request says both: the call ended, and the endpoint said 429."""
    lease = new_id()
    local.post(wire.ACQUIRE, {"id": lease})
    local.post(wire.RELEASE, {"lease": lease, "pause_s": 20, "overload": True})
    numbers = local.numbers()
    assert (0, True) == (len(numbers["in_flight"]), 19 < numbers["held_s"] <= 20)


def test_one_tenant_cannot_fill_the_memory_with_names(local):
    """Beyond 64 resources a new name is refused; those that are known go on."""
    for number in range(64):
        lease = new_id()
        local.post(wire.ACQUIRE, {"id": lease, "resource": f"r{number}"})
        local.post(wire.RELEASE, {"lease": lease, "resource": f"r{number}"})
    status, told = local.post(wire.ACQUIRE, {"id": new_id(), "resource": "one more"})
    assert (409, "too-many-resources") == (status, told["code"])
    assert 200 == local.post(wire.ACQUIRE, {"id": new_id(), "resource": "r7"})[0]


def test_numbers_are_there_for_prometheus(local):
    """In its text form, with tenant and resource as labels."""
    local.post(wire.ACQUIRE, {"id": new_id(), "holder": "not shown"})
    status, headers, page = local.ask("GET", wire.METRICS)
    assert (200, "text/plain; version=0.0.4; charset=utf-8") == (status, headers["content-type"])
    assert 'truegreen_limiter_granted_total{resource="default",tenant="default"} 1.0' in page
    assert 'truegreen_limiter_in_flight{resource="default",tenant="default"} 1.0' in page
    assert "not shown" not in page


def test_health_needs_no_token(service):
    """A watchdog has none."""
    status, _, told = service.ask("GET", wire.HEALTH)
    assert (200, "ok") == (status, told["status"])
