# SPDX-License-Identifier: Apache-2.0
"""What every backend keeps: the same suite for each kind in backend_kinds.py."""

import os
import signal
import threading
import time
from contextlib import ExitStack
from datetime import datetime

import pytest
from backend_kinds import FORK, KINDS, SHARED, calls_of_many, surely_above
from limit_oracle import most_at_once

from truegreen.core.admission import Ask, Pressure
from truegreen.core.errors import ReachProblem
from truegreen.limiter.backend import Key
from truegreen.limiter.client import Limiter
from truegreen.limiter.limits import LONGEST, MINUTE, SECOND, Limits, checked
from truegreen.limiter.opening import opened
from truegreen.limiter.state import Go, Gone, Later, Queued, Refused, Request

KEY = Key()
SHORT = SECOND // 10


@pytest.fixture
def start(tmp_path):
    """Start a kind with limits; its address. Stopped at the end."""
    with ExitStack() as stack:
        yield lambda kind, limits: KINDS[kind](tmp_path, stack, limits)


@pytest.fixture(params=sorted(KINDS))
def backend(request, start):
    """A backend of each kind under limits that are named; all of one test share its state."""
    opened_ones = []

    def make(**given):
        limits = checked(Limits(**given))
        made = opened(start(request.param, limits), limits)
        opened_ones.append(made)
        return made

    yield make
    for one in opened_ones:
        one.close()


@pytest.fixture(params=sorted(SHARED))
def shared(request, start):
    """The address of a backend that processes share, and its limits."""

    def make(**given):
        limits = checked(Limits(**given))
        return start(request.param, limits), limits

    return make


def asked(backend, name, key=KEY, **fields):
    """One ask of the backend itself."""
    return backend.ask(key, Request(id=name, **fields))


def test_leave_a_slot_a_place_in_the_queue_and_a_refusal(backend):
    """Each of the answers, from one ledger, in the order of asking."""
    one = backend(calls=1, per_ns=LONGEST, burst=2, in_flight=3)
    assert Go(ticket=1, waited_ns=0, lease_ns=MINUTE) == asked(one, "a")
    assert isinstance(asked(one, "b"), Go)
    slot = asked(one, "c", wait_ns=LONGEST)
    assert isinstance(slot, Later)
    assert 3 == slot.ticket
    assert "deadline" == asked(one, "d", wait_ns=SECOND).reason
    one.hand_back(KEY, "c", is_unused=True)
    assert (2, 1, 1) == (
        one.state(KEY).counts.granted,
        one.state(KEY).counts.cancelled,
        one.state(KEY).counts.refused,
    )


@pytest.mark.parametrize(
    "fields",
    [
        *(
            {"cost": 0},
            {"cost": -1},
            {"prompt_tokens": -1},
            {"output_tokens": -1},
            {"wait_ns": -1},
            {"id": ""},
        ),
        *({"cost": 10**20}, {"prompt_tokens": 10**20}, {"output_tokens": 10**20}, {"wait_ns": 10**20}),
    ],
)
def test_zero_negative_and_absurd_asks_change_nothing(backend, fields):
    """A negative cost would give somebody else's share away, and no state holds a number of any size."""
    one = backend(calls=1, per_ns=LONGEST, burst=2, tokens=100)
    answer = one.ask(KEY, Request(**{"id": "a", **fields}))
    assert "bad-ask" == answer.reason
    assert (0, (), ()) == (one.state(KEY).tickets, one.state(KEY).places, one.state(KEY).queue)


def test_a_cost_above_the_burst_never_waits(backend):
    """Nor does a prompt that is larger than the bucket; a large cap is clamped."""
    one = backend(calls=1, burst=2, tokens=1000, token_burst=500)
    assert ("cost-above-burst", None) == ((refused := asked(one, "a", cost=3)).reason, refused.wait_ns)
    assert "tokens-above-burst" == asked(one, "a", prompt_tokens=501).reason
    assert isinstance(asked(one, "a", prompt_tokens=10, output_tokens=10_000), Go)
    assert 500 == one.state(KEY).places[0].tokens


def test_tokens_are_settled_by_usage(backend):
    """What was reserved and not used can be used by the next; what was used beyond it is a debt."""
    one = backend(tokens=1, token_burst=100)
    assert isinstance(asked(one, "a", prompt_tokens=100), Go)
    assert "deadline" == asked(one, "b", prompt_tokens=60, wait_ns=0).reason
    one.hand_back(KEY, "a", used_tokens=40)
    assert isinstance(asked(one, "b", prompt_tokens=60, wait_ns=0), Go)
    one.hand_back(KEY, "b", used_tokens=90)
    wait = asked(one, "c", prompt_tokens=1, wait_ns=0).wait_ns
    assert 30 * MINUTE < wait <= 31 * MINUTE


def test_usage_that_cannot_be_true_frees_the_place_all_the_same(backend):
    """Whatever an endpoint reports, the lease ends with the call."""
    one = backend(in_flight=1, tokens=100)
    limiter = Limiter(one)
    limiter.give_back(limiter.enter(Ask(prompt_tokens=1)), used_tokens=10**30)
    assert ((), 1_000_000_000) == (one.state(KEY).places, one.state(KEY).counts.used_tokens)


def test_tenants_and_resources_are_ledgers_of_their_own(backend):
    """Whatever their names hold; a wait on one holds up nobody on another."""
    one = backend(in_flight=1)
    keys = [
        Key(tenant=tenant, resource=resource)
        for tenant in ("a", "a/b", "..", "é\n")
        for resource in ("a", "b/a")
    ]
    assert [True] * 8 == [isinstance(asked(one, f"i{number}", key), Go) for number, key in enumerate(keys)]
    assert isinstance(asked(one, "again", keys[0]), Queued)


def test_a_place_is_free_after_its_lease_and_a_heartbeat_keeps_it(backend):
    """Nobody has to hand it back; the one who lost it hears so."""
    one = backend(in_flight=1, lease_ns=SHORT)
    asked(one, "a")
    asked(one, "b", wait_ns=LONGEST)
    beats = 0
    until = time.monotonic() + 3 * SHORT / SECOND
    while time.monotonic() < until and isinstance(one.beat(KEY, "a"), Go):
        one.look(KEY, "b")
        beats += 1
        time.sleep(0.005)
    assert beats > 1
    while not isinstance(one.look(KEY, "b"), Go | Gone):
        time.sleep(0.005)
    assert (Gone(), 1) == (one.beat(KEY, "a"), one.state(KEY).counts.expired)


def test_places_are_given_by_ticket(backend):
    """Twelve wait; each that is handed back goes to the oldest, and newcomers wait behind."""
    one = backend(in_flight=2)
    names = [f"i{number}" for number in range(14)]
    for name in names:
        asked(one, name, wait_ns=LONGEST)
    for number in range(12):
        one.hand_back(KEY, names[number])
        asked(one, f"new{number}", wait_ns=LONGEST)
        assert isinstance(one.look(KEY, names[number + 2]), Go)
        assert isinstance(
            one.look(KEY, names[number + 3]) if number < 11 else Queued(ticket=0, ahead=0), Queued
        )


def test_cancelling_gives_back_the_tail_and_counts_the_rest(backend):
    """A slot in the middle is waste, a place in the queue costs nothing."""
    one = backend(calls=1, per_ns=MINUTE, in_flight=3)
    for name in "abcd":
        asked(one, name, wait_ns=LONGEST)
    one.hand_back(KEY, "d")
    one.hand_back(KEY, "c")
    assert (0, 2) == (one.state(KEY).counts.wasted, one.state(KEY).counts.cancelled)
    asked(one, "e", wait_ns=LONGEST)
    one.hand_back(KEY, "b")
    assert (1, 3) == (one.state(KEY).counts.wasted, one.state(KEY).counts.cancelled)


def test_one_429_holds_up_everybody(backend):
    """Those who have a slot, and those who come later."""
    one = backend(calls=100, burst=100, in_flight=10)
    asked(one, "a")
    one.hand_back(KEY, "a", pressure=Pressure(pause_s=3600.0))
    assert "deadline" == asked(one, "b", wait_ns=3599 * SECOND).reason
    later = asked(one, "b", wait_ns=LONGEST)
    assert 3599 * SECOND < later.wait_ns <= 3600 * SECOND


def test_being_turned_away_without_a_told_time_holds_up_everybody_for_a_moment(backend):
    """A second, and no burst after it; an answer holds up nobody."""
    one = backend(calls=1, per_ns=MINUTE, burst=5, in_flight=10)
    asked(one, "a")
    one.hand_back(KEY, "a", pressure=Pressure(is_answered=True))
    assert (0, 0) == (one.state(KEY).not_before_ns, one.state(KEY).counts.rate_limited)
    one.hand_back(KEY, "", pressure=Pressure(is_overload=True))
    waits = [asked(one, name, wait_ns=LONGEST).wait_ns / SECOND for name in "bc"]
    assert [1, 61] == [round(wait) for wait in waits]


@pytest.mark.parametrize("steps", [(0, -3600, -3480, -1800, 61), (0, 3600, 0, 7200, -86400)])
def test_the_wall_clock_may_step_as_it_likes(backend, monkeypatch, steps):
    """Five a minute: five at once, and no step of an hour locks anybody out or lets anybody in."""
    one = backend(calls=5, per_ns=MINUTE, burst=5, in_flight=50)
    admitted = []
    real = time.time()
    for number, step in enumerate(steps):
        monkeypatch.setattr(time, "time", lambda step=step: real + step)
        monkeypatch.setattr(time, "time_ns", lambda step=step: int((real + step) * 1e9))
        answers = [asked(one, f"i{number}-{again}", wait_ns=0) for again in range(8)]
        admitted.append(sum(isinstance(answer, Go) for answer in answers))
    assert [5, 0, 0, 0, 0] == admitted
    assert datetime.now().year  # noqa: DTZ005 - the clock itself still works


def test_two_limiters_with_skewed_clocks_share_one_limit(shared, monkeypatch):
    """One believes to be an hour ahead of the other; together they get the burst and no more."""
    url, limits = shared(calls=1, per_ns=LONGEST, burst=4, in_flight=50)
    one, other = opened(url, limits), opened(url, limits)
    real, admitted = time.time(), 0
    for number in range(12):
        skew = 3600 if number % 2 else -3600
        monkeypatch.setattr(time, "time", lambda skew=skew: real + skew)
        admitted += isinstance(asked((one, other)[number % 2], f"i{number}", wait_ns=0), Go)
    one.close()
    other.close()
    assert 4 == admitted


def test_a_ledger_outlives_the_one_who_made_it(shared):
    """Levels and places are there when it is opened again."""
    url, limits = shared(calls=1, per_ns=LONGEST, burst=2, in_flight=2)
    one = opened(url, limits)
    asked(one, "a")
    one.close()
    again = opened(url, limits)
    assert (1, ["a"]) == (again.state(KEY).tickets, [place.id for place in again.state(KEY).places])
    again.close()


def test_eight_processes_stay_below_both_limits_at_every_instant(shared):
    """Their calls, each put where it suits them best: never more than three in flight, never more than the rate."""
    url, limits = shared(calls=200, burst=4, in_flight=3)
    seen = calls_of_many(url, limits, 8, 12, hold_s=0.004)
    assert 96 == len({ticket for *_, ticket in seen})
    assert most_at_once([(after, end) for _, after, end, _ in seen]) <= 3
    assert surely_above([(before, after) for before, after, _, _ in seen], 200, SECOND, 4) <= 0


def test_a_queue_of_eight_processes_serves_everybody(shared):
    """One place and eight that want it: nobody is starved, every ticket is served once."""
    url, limits = shared(in_flight=1)
    seen = calls_of_many(url, limits, 8, 10, hold_s=0.001)
    assert list(range(1, 81)) == [ticket for *_, ticket in seen]
    assert 1 == most_at_once([(after, end) for _, after, end, _ in seen])


def _caller_until_killed(url, limits, pipe):
    limiter = Limiter(opened(url, limits))
    while True:
        leave = limiter.enter(Ask(wait_s=60))
        os.write(pipe, leave.ticket.to_bytes(8, "big"))
        limiter.give_back(leave, used_tokens=None)


def test_two_hundred_kills_lose_no_ticket_and_leave_a_state_that_is_read(shared, rng):
    """Callers die at any moment, four at a time; every ticket that one was told is unique and below the count."""
    url, limits = shared(calls=1_000_000, burst=1_000_000, in_flight=500, lease_ns=SECOND)
    told = []
    for _ in range(50):
        pipes, pids = [], []
        for _ in range(4):
            here, there = os.pipe()
            process = FORK.Process(target=_caller_until_killed, args=(url, limits, there))
            process.start()
            os.close(there)
            pipes.append(here)
            pids.append(process)
        time.sleep(rng.uniform(0.001, 0.02))
        for process in pids:
            os.kill(process.pid, signal.SIGKILL)
            process.join(30)
        for here in pipes:
            with os.fdopen(here, "rb") as file:
                data = file.read()
            told += [int.from_bytes(data[at : at + 8], "big") for at in range(0, len(data) - 7, 8)]
    backend = opened(url, limits)
    state = backend.state(KEY)
    backend.close()
    assert len(told) == len(set(told))
    assert told
    assert max(told) <= state.tickets
    assert state.counts.granted >= len(told)


def test_the_places_of_the_killed_come_back(shared):
    """A holder is killed; its place is free after the lease, and the one who waits gets it."""
    url, limits = shared(in_flight=1, lease_ns=SECOND // 2)
    here, there = os.pipe()

    def hold():
        Limiter(opened(url, limits)).enter(Ask())
        os.write(there, b"!")
        time.sleep(60)

    process = FORK.Process(target=hold)
    process.start()
    os.read(here, 1)
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    backend = opened(url, limits)
    limiter = Limiter(backend)
    leave = limiter.enter(Ask(wait_s=30))
    assert (2, 1) == (leave.ticket, backend.state(KEY).counts.expired)
    limiter.close()
    os.close(here)
    os.close(there)


def test_a_thread_that_waits_on_one_ledger_holds_up_none_on_another(backend):
    """No lock is held while waiting."""
    one = backend(in_flight=1)
    limiter = Limiter(one)
    first = limiter.enter(Ask(resource="a"))
    got = []
    waiting = threading.Thread(target=lambda: got.append(limiter.enter(Ask(resource="a", wait_s=60))))
    waiting.start()
    while not one.state(Key(resource="a")).queue:
        time.sleep(0.001)
    limiter.give_back(limiter.enter(Ask(resource="b", wait_s=0)), used_tokens=None)
    limiter.give_back(first, used_tokens=None)
    waiting.join(30)
    assert 2 == got[0].ticket
    limiter.give_back(got[0], used_tokens=None)


def test_a_refusal_names_the_ledger_the_backend_and_both_numbers(backend):
    """One line that a person can act on."""
    one = backend(calls=1, per_ns=MINUTE)
    limiter = Limiter(one)
    limiter.enter(Ask(tenant="t", resource="r"))
    with pytest.raises(ReachProblem) as found:
        limiter.enter(Ask(tenant="t", resource="r", wait_s=2))
    assert "leave-refused" == found.value.code
    assert found.value.message.startswith(f"no leave for r of t from {one.name}: leave would take ")
    assert found.value.message.endswith("and the ask waits 2.000 s at most")
    limiter.close()


def test_answers_have_no_other_kind():
    """What a client has to understand."""
    assert {"go", "later", "queued", "refused", "gone"} == {
        kind.__struct_config__.tag for kind in (Go, Later, Queued, Refused, Gone)
    }
