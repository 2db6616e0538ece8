# SPDX-License-Identifier: Apache-2.0
"""What the article's bucket and its retry loop get wrong, each shown on a model of them and then on ours."""

import datetime as dt
import heapq
import itertools

import pytest

from truegreen.core.admission import Again, Ended, Final
from truegreen.core.exchange import End
from truegreen.limiter import ledger
from truegreen.limiter.limits import MINUTE, SECOND, Limits
from truegreen.limiter.retry import Call, RetryLimits, after
from truegreen.limiter.state import Go, Later, Queued, Refused, Request

CAPACITY, SPACING_S = 6, 5
"""The article's numbers: six, and 0.2 a second."""
OURS = Limits(
    in_flight=CAPACITY, calls=12, per_ns=MINUTE, burst=CAPACITY, wait_ns=MINUTE, lease_ns=10 * MINUTE
)
NOW = dt.datetime(2026, 8, 13, tzinfo=dt.UTC)


class ArticlesBucket:
    """Tokens that refill by the wall clock, as the article has it."""

    def __init__(self):
        self.tokens, self.at = float(CAPACITY), 0.0

    def acquire(self, now):
        """Whether there was a token."""
        tokens = min(CAPACITY, self.tokens + (now - self.at) / SPACING_S)
        self.at = now
        self.tokens = tokens - 1 if tokens >= 1 else tokens
        return tokens >= 1


def greedy(acquire, latency_s, seconds):
    """The most calls in flight when somebody always asks and every call takes so long."""
    ends, most = [], 0
    for now in range(seconds):
        ends = [end for end in ends if end > now]
        while acquire(now, ends):
            ends.append(now + latency_s)
        most = max(most, len(ends))
    return most


def test_a_burst_is_no_limit_on_calls_in_flight():
    """As soon as an answer takes longer than capacity ÷ rate the article's own first assertion fails; ours holds."""
    bucket = ArticlesBucket()
    assert greedy(lambda now, _: bucket.acquire(now), latency_s=60, seconds=120) == 17 > CAPACITY
    state, names, held = ledger.new_ledger(OURS, 0), itertools.count(), {}

    def ours(now, ends):
        nonlocal state
        for name in [name for name, end in held.items() if end <= now]:
            state = ledger.hand_back(state, name, now * SECOND).ledger
            del held[name]
        name = f"n{next(names)}"
        step = ledger.ask(state, Request(id=name, wait_ns=0), now * SECOND)
        state = step.ledger
        if isinstance(step.answer, Go):
            held[name] = now + 60
        return isinstance(step.answer, Go)

    assert CAPACITY == greedy(ours, latency_s=60, seconds=120)


@pytest.mark.parametrize("step_s", [-3600, -1, 3600])
def test_a_clock_that_steps_neither_locks_out_nor_refills(step_s):
    """The article's bucket is empty for an hour after a step back, and full after a step forward."""
    bucket = ArticlesBucket()
    assert [True] * 6 == [bucket.acquire(100.0) for _ in range(6)]
    articles = bucket.acquire(100.0 + step_s + SPACING_S)
    assert articles is (step_s > 0)
    state = ledger.new_ledger(Limits(calls=1, per_ns=SPACING_S * SECOND, burst=CAPACITY), 100 * SECOND)
    for number in range(6):
        state = ledger.ask(state, Request(id=f"n{number}", wait_ns=0), 100 * SECOND).ledger
    stepped = ledger.rebased(
        state, (100 + step_s) * SECOND
    )  # the clock of a ledger counts from boot: a step is a new one
    at_once = ledger.ask(stepped, Request(id="x", wait_ns=0), (100 + step_s) * SECOND)
    later = ledger.ask(at_once.ledger, Request(id="y", wait_ns=0), (100 + step_s + SPACING_S) * SECOND)
    assert isinstance(at_once.answer, Refused)
    assert isinstance(later.answer, Go)


def test_the_first_to_ask_is_the_first_to_leave_whoever_looks_first():
    """Whoever polls first wins the article's token; ours go by ticket."""
    state = ledger.new_ledger(Limits(in_flight=1, wait_ns=MINUTE), 0)
    for name in ("held", "first", "second"):
        state = ledger.ask(state, Request(id=name), 0).ledger
    state = ledger.hand_back(state, "held", SECOND).ledger
    second = ledger.look(state, "second", SECOND)
    assert isinstance(second.answer, Queued)
    assert isinstance(ledger.look(second.ledger, "first", SECOND).answer, Go)


def test_a_waiter_knows_its_moment_and_does_not_wake_every_second():
    """The twentieth of twenty sleeps once, for all of its wait."""
    state = ledger.new_ledger(Limits(calls=1, burst=1, wait_ns=MINUTE), 0)
    waits = []
    for number in range(20):
        step = ledger.ask(state, Request(id=f"n{number}"), 0)
        state = step.ledger
        waits.append(step.answer.wait_ns if isinstance(step.answer, Later) else 0)
    assert [number * SECOND for number in range(20)] == waits
    last = ledger.look(state, "n19", 19 * SECOND)
    assert isinstance(last.answer, Go)


def test_a_wait_that_would_overrun_its_deadline_is_refused_before_it_begins():
    """The article's last sleep ends after the deadline."""
    state = ledger.new_ledger(Limits(calls=1, per_ns=10 * SECOND, burst=1), 0)
    state = ledger.ask(state, Request(id="a"), 0).ledger
    refused = ledger.ask(state, Request(id="b", wait_ns=9 * SECOND), 0).answer
    assert ("deadline", 10 * SECOND) == (refused.reason, refused.wait_ns)
    assert isinstance(ledger.ask(state, Request(id="c", wait_ns=10 * SECOND), 0).answer, Later)


def loop_of_the_article(statuses):
    """What its loop of three attempts does with these answers: calls made and seconds slept, without its jitter."""
    calls, slept = 0, []
    for attempt, status in enumerate(statuses[:3]):
        calls += 1
        if status == 200:
            return calls, slept, "answered"
        if status != 429:
            return calls, slept, f"non-retryable {status}"
        slept.append(min(2**attempt, 20))
    return calls, slept, "exhausted"


def ours(*answers):
    """What the table does with these answers."""
    earlier, slept = (), []
    for number, one in enumerate(answers, 1):
        ruling = after(one, Call(earlier=earlier), now=NOW, chance=0.5, limits=RetryLimits())
        if isinstance(ruling, Final):
            return number, slept, ruling.reason
        slept.append(ruling.wait_s)
        earlier = (*earlier, one)
    return len(answers), slept, "open"


def ended(status, **more):
    """An attempt."""
    return Ended(status=status, end=End.COMPLETE, **more)


def test_the_loop_sleeps_once_more_before_it_gives_up():
    """Three calls and three sleeps; ours are three and two."""
    assert (3, [1, 2, 4], "exhausted") == loop_of_the_article([429, 429, 429])
    assert (3, [0.5, 1.0], "attempts-spent") == ours(ended(429), ended(429), ended(429))


def test_the_header_that_the_table_tells_to_honour_is_never_read():
    """The loop waits a second where the endpoint said sixty."""
    assert [1] == loop_of_the_article([429, 200])[1]
    assert (2, [60.5], "answered") == ours(ended(429, retry_after=("60",)), ended(200))


def test_the_rows_for_server_errors_and_time_outs_are_not_in_the_code():
    """Its table says once, its loop never."""
    assert (1, [], "non-retryable 503") == loop_of_the_article([503, 200])
    assert (2, [0.5], "answered") == ours(ended(503), ended(200))
    timed_out = Ended(status=None, end=End.TIMEOUT, took_s=60.0)
    assert (2, [0.5], "answered") == ours(timed_out, ended(200))
    assert (2, [0.5], "repeated-once") == ours(timed_out, timed_out)


def test_a_runner_that_begins_anew_does_not_begin_full():
    """The article's state is a full bucket on every new machine; ours can be told to begin empty."""
    fresh = ledger.new_ledger(Limits(calls=1, per_ns=SPACING_S * SECOND, burst=6, starts_full=False), 0)
    refused = ledger.ask(fresh, Request(id="a", wait_ns=0), 0).answer
    assert ("deadline", SPACING_S * SECOND) == (refused.reason, refused.wait_ns)


def test_retries_that_share_a_rate_do_not_push_each_other():
    """A hundred at once at ten a second: each is called once, in nine seconds."""
    state, calls = ledger.new_ledger(Limits(calls=10, burst=10, wait_ns=MINUTE), 0), []
    waiting = [(0, number) for number in range(100)]
    asked = set()
    while waiting:
        now, number = heapq.heappop(waiting)
        name = f"n{number}"
        step = ledger.look(state, name, now) if number in asked else ledger.ask(state, Request(id=name), now)
        asked.add(number)
        state = step.ledger
        if isinstance(step.answer, Later):
            heapq.heappush(waiting, (now + step.answer.wait_ns, number))
        else:
            calls.append(now)
            state = ledger.hand_back(state, name, now).ledger
    assert (100, 9 * SECOND) == (len(calls), max(calls))
    assert isinstance(after(ended(429, retry_after=("1",)), Call(), now=NOW, chance=0.0), Again)
