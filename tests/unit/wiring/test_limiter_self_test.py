# SPDX-License-Identifier: Apache-2.0
"""The collision: every fact holds, and fails when its defence is switched off."""

import threading

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.wiring import limiter_self_test
from truegreen.wiring.limiter_self_test import Defences, facts

NAMES = [
    "in-flight-within-capacity",
    "calls-within-attempts",
    "one-job-without-leave",
    "every-call-had-leave",
]


@pytest.mark.parametrize("time", range(3))
def test_the_limiter_holds(time):
    """Again and again the same numbers."""
    assert [(name, True) for name in NAMES] == [(one.name, one.holds) for one in facts()]
    assert [
        "2 calls in flight at most, capacity 2",
        "6 calls of 6, 3 of one job, 3 allowed",
        "1 of 3 jobs ended for want of leave, 1 is due",
        "6 calls, 6 leaves",
    ] == [one.detail for one in facts()]


@pytest.mark.parametrize(
    ("defences", "missed"),
    [
        (Defences(has_capacity=False), "in-flight-within-capacity"),
        (Defences(has_attempts=False), "calls-within-attempts"),
        (Defences(has_time_out=False), "one-job-without-leave"),
        (Defences(has_one_layer=False), "every-call-had-leave"),
    ],
)
def test_each_fact_fails_without_its_defence(defences, missed, monkeypatch):
    """So that a green self-test says something."""
    monkeypatch.setattr(limiter_self_test, "PATIENCE_S", 0.3)
    found = {one.name: one.holds for one in facts(defences)}
    assert False is found[missed]


def test_a_scene_that_does_not_end_is_an_error(monkeypatch):
    """Never a green one."""
    released = threading.Event()
    monkeypatch.setattr(limiter_self_test, "LIMIT_S", 0.01)
    monkeypatch.setattr(limiter_self_test._Scene, "_job", lambda *_: released.wait(10))
    with pytest.raises(ReachProblem, match="self-test-stuck"):
        facts()
    released.set()
