# SPDX-License-Identifier: Apache-2.0
"""The script in the server takes every step as the rules in Python take it, number for number.

The server's clock is replaced by one that the test sets, forwards and backwards; nothing else of the script is.
"""

import random

import msgspec
import pytest
import redis

from simulators.valkey import new_tenant, shared_url
from truegreen.core.errors import UsageProblem
from truegreen.limiter import ledger as rules
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.state import Go, Gone, Later, Queued, Refused, Request
from truegreen.limiter.valkey.answers import EXACT, limit_numbers
from truegreen.limiter.valkey.server import SCRIPT

BEGIN_US = 1_770_000_000_000_000
"""Of the size that a server's clock has now: above 2^50."""
LONG_GONE = -(2**51)


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
            [_near(it - now) for it in (self.ledger.rate_ns, self.ledger.left_ns, self.ledger.token_ns)],
            max(0, self.ledger.not_before_ns - now),
            self.ledger.tickets,
            places,
            queue,
            list(msgspec.to_builtins(self.ledger.counts)),
        )
        its = (
            [_near(kept[it]) for it in ("rate", "left", "token")],
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
        case "pause":
            return rules.pause(ledger, *arguments, now), arguments
        case "hand_back":
            lease, used, is_unused = arguments
            step = rules.hand_back(ledger, lease, now, used_tokens=used, is_unused=is_unused)
            return step, (lease, -1 if used is None else used, int(is_unused))
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
    verb = chance.choice(["ask"] * 4 + ["look"] * 5 + ["beat", "hand_back", "hand_back", "pause"])
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
    if verb == "pause":
        return verb, chance.choice([0, 0, SECOND, 10 * SECOND])
    lease = chance.choice(ids[-6:])
    if verb == "hand_back":
        return verb, lease, chance.choice([None, 0, 5, 500]), chance.random() < 0.3
    return verb, lease


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
    """At the edge of what is accepted every nanosecond is right: products near 2^52 in doubles."""
    limits = checked(Limits(calls=7, per_ns=86_399 * SECOND + 1, wait_ns=86_400 * SECOND))
    limits = msgspec.structs.replace(limits, burst=EXACT // limits.spacing_ns)
    both = Both(client, limits)
    for number, cost in enumerate((limits.burst, 1, 3, 200)):
        both.now_us += 1
        both.step("ask", Request(id=f"id-{number}", cost=cost))
        mine, its = both.states()
        assert mine == its
    assert mine[0][0] > 2**51


def test_limits_beyond_exact_numbers_are_refused():
    """With the limit's name; such a bucket would fill for more than 52 days."""
    with pytest.raises(UsageProblem, match="burst and period come to") as caught:
        limit_numbers(checked(Limits(calls=1, per_ns=86_400 * SECOND, burst=53)))
    assert "limit-out-of-range" == caught.value.code
    with pytest.raises(UsageProblem, match="token burst and minute"):
        limit_numbers(checked(Limits(tokens=1, token_burst=7_507)))


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
    both.step("pause", 3600 * SECOND)
    day_ms = 86_400_000
    assert 8 * day_ms <= client.pttl(both.name) <= 9 * day_ms


def test_a_use_that_cannot_be_true_does_not_lock(client):
    """A holder that says 10^15 tokens keeps the others out for ten buckets, not for years."""
    both = Both(client, checked(Limits(tokens=1000)))
    both.step("ask", Request(id="id-1", prompt_tokens=10))
    both.step("hand_back", "id-1", 10**15, False)
    in_python, in_server = both.step("ask", Request(id="id-2", prompt_tokens=10, wait_ns=3600 * SECOND))
    assert in_python == in_server
    assert ("later", True) == (in_server[0], 540 * SECOND < in_server[2] <= 600 * SECOND)
