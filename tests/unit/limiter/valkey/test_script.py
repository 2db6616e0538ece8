# SPDX-License-Identifier: Apache-2.0
"""The script in the server takes every step as the rules in Python take it, number for number.

The server's clock is replaced by one that the test sets, forwards and backwards; nothing else of the script is.
"""

import random

import msgspec
import pytest
import redis

from simulators.valkey import new_tenant, shared_url
from truegreen.core.admission import Pressure
from truegreen.core.errors import UsageProblem
from truegreen.limiter import ledger as rules
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.state import Go, Gone, Later, Queued, Refused, Request
from truegreen.limiter.valkey.answers import LONGEST_FILL, ledger_of, limit_numbers
from truegreen.limiter.valkey.server import SCRIPT

BEGIN_US = 1_770_000_000_000_000
"""Of the size that a server's clock has now: above 2^50."""
LONG_GONE = -(2**51)
TIMES = ("rate", "left", "token")


@pytest.fixture
def client():
    """A client of the shared server."""
    with redis.Redis.from_url(shared_url()) as it:
        yield it


class Both:
    """One ledger twice: in the server and as a value."""

    def __init__(self, client, limits, now_us=BEGIN_US):
        self.client, self.limits, self.now_us = client, limits, now_us
        self.name = new_tenant()
        clock = f"redis.call('LRANGE', '{self.name}:clock', 0, 1)"
        self.script = client.register_script(SCRIPT.replace("redis.call('TIME')", clock))
        self.ledger, self.born_us = None, 0

    def step(self, verb, *arguments):
        """Take a step in both; what each answered."""
        now = self.now_us * 1000
        self.client.delete(f"{self.name}:clock")
        self.client.rpush(f"{self.name}:clock", self.now_us // 10**6, self.now_us % 10**6)
        if self.ledger is None:
            self.ledger, self.born_us = rules.new_ledger(self.limits, now), self.now_us
        if verb == "ask":
            self.ledger = rules.under(self.ledger, self.limits, now)
        step, told = _in_python(self.ledger, verb, arguments, now)
        if verb == "beat":
            told = (*told, "", self.born_us)
        self.ledger = step.ledger
        answer = self.script(keys=[self.name], args=[verb, *limit_numbers(self.limits), *told])
        return _plain(step.answer), _short([it.decode() if isinstance(it, bytes) else it for it in answer])

    def states(self):
        """Both states, times as nanoseconds from now."""
        kept = msgspec.msgpack.decode(self.client.get(self.name))
        now = self.now_us * 1000
        places, queue = ([_row(it, now) for it in rows] for rows in (self.ledger.places, self.ledger.queue))
        mine = (
            [_near(getattr(self.ledger, f"{it}_ns") - now) for it in TIMES],
            max(0, self.ledger.not_before_ns - now),
            self.ledger.tickets,
            places,
            queue,
            list(msgspec.to_builtins(self.ledger.counts)),
        )
        its = (
            [_near(kept[it]) for it in TIMES],
            max(0, kept["not_before"]),
            kept["tickets"],
            *([_kept_row(it) for it in kept[rows] or []] for rows in ("places", "queue")),
            list(kept["counts"]),
        )
        return mine, its


def _near(number):
    return max(number, LONG_GONE)


def _row(place, now):
    times = (place.asked_ns, place.deadline_ns, place.expires_ns, place.slot_ns, place.token_ns)
    return (
        [place.id, place.ticket, place.holder, place.wake, place.cost, place.tokens],
        [_near(it - now) for it in times],
        place.is_started,
    )


def _kept_row(it):
    return it[:6], [_near(at) for at in (*it[6:10], it[11])], it[10]


def _in_python(ledger, verb, arguments, now):
    match verb:
        case "ask":
            (request,) = arguments
            told = (
                request.id,
                request.holder,
                "",
                request.cost,
                request.prompt_tokens,
                request.output_tokens,
            )
            return rules.ask(ledger, request, now), (
                *told,
                -1 if request.wait_ns is None else request.wait_ns,
            )
        case "hand_back":
            lease, used, is_unused, pressure = arguments
            step = rules.hand_back(ledger, lease, now, used_tokens=used, is_unused=is_unused)
            flags = (round(pressure.pause_s * SECOND), int(pressure.is_overload))
            told = (lease, -1 if used is None else used, int(is_unused), *flags)
            return rules.pressed(step, pressure, now), told
        case _:
            return getattr(rules, verb)(ledger, *arguments, now), arguments


def _plain(answer):
    match answer:
        case Go():
            return ["go", answer.ticket, answer.waited_ns, answer.lease_ns]
        case Later():
            return ["later", answer.ticket, answer.wait_ns]
        case Queued():
            return ["queued", answer.ticket, answer.ahead]
        case Refused():
            return ["refused", answer.reason, -1 if answer.wait_ns is None else answer.wait_ns]
        case Gone():
            return ["gone"]


def _short(answer):
    """Without what only the script tells."""
    length = {"go": 4, "later": 3, "queued": 3, "refused": 3}.get(answer[0], 1)
    return [{"places-taken": "deadline"}.get(it, it) for it in answer[:length]]


def _any_limits(chance):
    given = {
        "calls": chance.choice([None, 1, 3, 7, 10]),
        "in_flight": chance.choice([None, 1, 2, 3]),
        "tokens": chance.choice([None, 7, 100, 6000]),
    }
    if not any(given.values()):
        given["calls"] = 1
    return checked(
        Limits(
            **given,
            per_ns=chance.choice([SECOND, 60 * SECOND]),
            burst=chance.choice([1, 2, 5]),
            starts_full=chance.random() < 0.7,
            lease_ns=chance.choice([SECOND, 3 * SECOND + 1]),
            wait_ns=chance.choice([SECOND, 10 * SECOND]),
        )
    )


def _any_step(chance, ids):
    verb = chance.choice(["ask"] * 4 + ["look"] * 5 + ["beat", "hand_back", "hand_back", "hand_back"])
    if verb == "ask" or not ids:
        ids.append(f"id-{len(ids)}")
        return "ask", Request(
            id=ids[-1],
            holder="h",
            cost=chance.choice([1, 1, 2, 6]),
            prompt_tokens=chance.choice([0, 3, 50]),
            output_tokens=chance.choice([0, 4, 400]),
            wait_ns=chance.choice([None, 0, SECOND, 5 * SECOND]),
        )
    lease = chance.choice(ids[-6:])
    if verb == "hand_back":
        return verb, lease, chance.choice([None, 0, 5, 500]), chance.random() < 0.3, _any_pressure(chance)
    return verb, lease


def _any_pressure(chance):
    if chance.random() < 0.5:
        return Pressure()
    return Pressure(
        pause_s=chance.choice([0, 0, 0, 1, 10]),
        is_overload=chance.random() < 0.4,
        is_answered=chance.random() < 0.5,
    )


STEPS_OF_THE_CLOCK = [0, 0, 1, 5, 7, 1000, 10**5, 10**6, 3 * 10**6, -(10**6), -(3600 * 10**6), 3600 * 10**6]


@pytest.mark.parametrize("seed", range(40))
def test_every_step_is_the_same(client, seed):
    """Random limits that change, asks, looks, ends, pauses and clocks that step both ways."""
    chance = random.Random(seed)
    both, ids = Both(client, _any_limits(chance)), []
    for _ in range(50):
        both.now_us += chance.choices(STEPS_OF_THE_CLOCK, [6, 6, 6, 6, 6, 6, 6, 6, 6, 1, 1, 0.3])[0]
        if chance.random() < 0.03:
            both.limits = _any_limits(chance)
        in_python, in_server = both.step(*_any_step(chance, ids))
        assert in_python == in_server
        mine, its = both.states()
        assert mine == its


def test_the_largest_numbers_are_exact(client):
    """At the edge of what is accepted every nanosecond is right: sums near 2^53 in doubles."""
    limits = checked(Limits(calls=7, per_ns=86_399 * SECOND + 1, wait_ns=86_400 * SECOND))
    limits = msgspec.structs.replace(limits, burst=LONGEST_FILL // limits.spacing_ns)
    both = Both(client, limits)
    for number, cost in enumerate((limits.burst, 1, 3, 7)):
        both.now_us += 1
        both.step("ask", Request(id=f"id-{number}", cost=cost))
        mine, its = both.states()
        assert mine == its
    both.step("hand_back", "", None, False, Pressure(pause_s=86_400))
    mine, its = both.states()
    assert mine == its
    assert 2**52 * 0.95 < mine[0][0] < 2**53


def test_limits_beyond_exact_numbers_are_refused():
    """With the limit's name; such a bucket would fill for more than fifty days."""
    with pytest.raises(UsageProblem, match="burst and period come to") as caught:
        limit_numbers(checked(Limits(calls=1, per_ns=86_400 * SECOND, burst=51)))
    assert "limit-out-of-range" == caught.value.code
    with pytest.raises(UsageProblem, match="token burst and minute"):
        limit_numbers(checked(Limits(tokens=1, token_burst=7201)))


def test_a_clock_that_goes_back_locks_nobody_out_and_gives_nothing(client):
    """An hour back: the next leave is where it was; an hour on again: no more than a full bucket."""
    both = Both(client, checked(Limits(calls=1, burst=2, wait_ns=0)))
    assert ["go", "go", "refused"] == [_asked(both, number) for number in range(3)]
    both.now_us -= 3600 * 10**6
    assert "refused" == _asked(both, 3)
    both.now_us += 10**6
    assert ["go", "refused"] == [_asked(both, 4), _asked(both, 5)]
    both.now_us += 3600 * 10**6
    assert ["go", "go", "refused"] == [_asked(both, number) for number in (6, 7, 8)]


def _asked(both, number):
    return both.step("ask", Request(id=f"id-{number}"))[1][0]


def test_the_key_ends_and_so_locks_nobody_for_ever(client):
    """Whatever stands in it, it is gone a while after the last time in it."""
    both = Both(client, checked(Limits(calls=1)))
    both.step("hand_back", "", None, False, Pressure(pause_s=3600))
    day_ms = 86_400_000
    assert 8 * day_ms <= client.pttl(both.name) <= 9 * day_ms


def test_a_use_that_cannot_be_true_does_not_lock(client):
    """A holder that says 10^15 tokens keeps the others out for ten buckets, not for years."""
    both = Both(client, checked(Limits(tokens=1000)))
    both.step("ask", Request(id="id-1", prompt_tokens=10))
    both.step("hand_back", "id-1", 10**15, False, Pressure())
    in_python, in_server = both.step("ask", Request(id="id-2", prompt_tokens=10, wait_ns=3600 * SECOND))
    assert in_python == in_server
    assert ("later", True) == (in_server[0], 540 * SECOND < in_server[2] <= 600 * SECOND)


def test_the_state_reads_back_as_the_rules_have_it(client):
    """What a person is shown is the ledger itself, on the server's clock."""
    both = Both(client, checked(Limits(calls=3, burst=2, in_flight=1, tokens=600)))
    both.step("ask", Request(id="id-1", holder="job", prompt_tokens=5))
    both.step("ask", Request(id="id-2", output_tokens=7))
    both.now_us += 1500
    both.step("look", "id-2")
    _, packed = both.script(keys=[both.name], args=["state", *limit_numbers(both.limits)])
    mine, its = both.ledger, ledger_of(packed)
    assert (mine.limits, mine.now_ns, mine.rate_ns, mine.token_ns) == (
        its.limits,
        its.now_ns,
        its.rate_ns,
        its.token_ns,
    )
    assert (mine.places, mine.counts) == (its.places, its.counts)
    assert [it.id for it in mine.queue] == [it.id for it in its.queue]
