# SPDX-License-Identifier: Apache-2.0
"""A service that is started again goes on with its files: calls in flight, queue and counts."""

import pytest

from simulators.limiter_service import new_id, running
from truegreen.limiter.backend import Key
from truegreen.limiter.http import wire
from truegreen.limiter.http.store import FileStore, MemoryStore
from truegreen.limiter.limits import Limits, checked

LIMITS = checked(Limits(in_flight=1))


@pytest.fixture
def start(tmp_path):
    """Starts a service on the same folder each time."""
    return lambda: running(LIMITS, store=FileStore(tmp_path / "ledgers", LIMITS))


def test_a_call_in_flight_outlives_a_restart(start):
    """Its place is taken in the next run too, and free once it is handed back there."""
    lease = new_id()
    with start() as service:
        service.post(wire.ACQUIRE, {"id": lease})
    with start() as service:
        assert 409 == service.post(wire.ACQUIRE, {"id": new_id(), "wait_s": 0})[0]
        assert 200 == service.post(wire.HEARTBEAT, {"lease": lease})[0]
        assert 200 == service.post(wire.RELEASE, {"lease": lease})[0]
        status, granted = service.post(wire.ACQUIRE, {"id": new_id(), "wait_s": 0})
        assert (200, 2) == (status, granted["ticket"])
        assert 2 == service.numbers()["counts"]["granted"]


def test_memory_forgets(tmp_path):
    """Which is why a service without a folder begins with what its limits say of a new ledger."""
    with running(LIMITS) as service:
        service.post(wire.ACQUIRE, {"id": new_id()})
    with running(LIMITS) as service:
        assert 200 == service.post(wire.ACQUIRE, {"id": new_id(), "wait_s": 0})[0]


def test_what_is_kept_is_known_by_name(start, tmp_path):
    """Before the first step of the next run."""
    with start() as service:
        service.post(wire.ACQUIRE, {"id": new_id(), "resource": "a model"})
    assert (Key(resource="a model"),) == FileStore(tmp_path / "ledgers", LIMITS).keys()
    assert () == MemoryStore(LIMITS).keys()
