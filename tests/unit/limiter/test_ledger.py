# SPDX-License-Identifier: Apache-2.0
"""The ledger's steps: who gets leave, when, and what is left afterwards."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_oracle import most_above_rate, most_at_once
from msgspec.structs import replace
from virtual_clients import Client, World, asks

from truegreen.core.admission import Pressure
from truegreen.limiter import ledger as rules
from truegreen.limiter.limits import LONGEST, MINUTE, SECOND, Limits, checked
from truegreen.limiter.state import (
    Go,
    Gone,
    Later,
    Queued,
    Refused,
    Request,
    Step,
)

MS = 1_000_000
DAY = 24 * 3600 * SECOND


def started(now=0, **given):
    """A new ledger under these limits."""
    return rules.new_ledger(checked(Limits(**given)), now)


def asked(ledger, name, now=0, **fields):
    """One ask; the next ledger and the answer."""
    step = rules.ask(ledger, Request(id=name, **fields), now)
    return step.ledger, step.answer


def handed_back(ledger, name, now=0, **more):
    """One place handed back; the next ledger."""
    return rules.hand_back(ledger, name, now, **more).ledger


def looked(ledger, name, now):
    """One look; the next ledger and the answer."""
    step = rules.look(ledger, name, now)
    return step.ledger, step.answer


@pytest.mark.parametrize("now", [0, 1, 333_333_333, 10**18])
def test_the_first_ask_of_a_new_ledger_leaves_at_once(now):
    """However small the clock: three a second with a burst of 1 rounds nothing away."""
    assert isinstance(asked(started(now, calls=3), "a", now)[1], Go)


def test_slots_are_reserved_in_the_order_of_asking():
    """The second waits a spacing, the third two; each knows it at once and nobody polls."""
    ledger = started(calls=10)
    waits = []
    for name in "abcd":
        ledger, answer = asked(ledger, name)
        waits.append(getattr(answer, "wait_ns", 0))
    assert [0, 100 * MS, 200 * MS, 300 * MS] == waits


def test_a_told_wait_is_exact_at_whole_seconds():
    """Waiting two seconds when told two seconds is enough, and a nanosecond less is not."""
    ledger, _ = asked(started(calls=1), "a")
    ledger, _ = asked(ledger, "b")
    ledger, told = asked(ledger, "c")
    assert 2 * SECOND == told.wait_ns
    ledger, early = looked(ledger, "c", 2 * SECOND - 1)
    assert 1 == early.wait_ns
    assert isinstance(looked(handed_back(ledger, "b", SECOND), "c", 2 * SECOND)[1], Later | Go)


def test_a_weekend_refills_a_bucket_to_its_burst_and_no_further():
    """62 hours after level 0, ten of eleven leave at once and the last waits a second."""
    ledger = replace(started(calls=1, burst=10, starts_full=False), now_ns=0)
    answers = []
    for name in asks(11):
        ledger, answer = asked(ledger, name.id, 62 * 3600 * SECOND)
        answers.append(answer)
    assert [True] * 10 == [isinstance(answer, Go) for answer in answers[:10]]
    assert SECOND == answers[10].wait_ns


def test_a_ledger_that_starts_empty_lets_nobody_leave_at_once():
    """On a runner that forgets its state, a full start would double the rate every time."""
    answer = asked(started(calls=1, burst=3, starts_full=False), "a")[1]
    assert SECOND == answer.wait_ns
    answer = asked(started(tokens=60, starts_full=False), "a", prompt_tokens=2)[1]
    assert 2 * SECOND == answer.wait_ns


def test_a_cost_above_the_burst_is_refused_at_once_and_nothing_is_charged():
    """No wait is long enough, so no wait is told."""
    ledger = started(calls=1, burst=5)
    after, answer = asked(ledger, "a", cost=6)
    assert ("cost-above-burst", None) == (answer.reason, answer.wait_ns)
    assert ledger == replace(after, counts=ledger.counts)
    assert isinstance(asked(after, "b", cost=5)[1], Go)


def test_a_prompt_above_the_token_burst_is_refused_and_a_large_cap_is_clamped():
    """520 of 500 can never be admitted; 100 with a cap of 1,024 that nobody named reserves the bucket."""
    ledger = started(tokens=600, token_burst=500)
    after, answer = asked(ledger, "a", prompt_tokens=520)
    assert ("tokens-above-burst", None) == (answer.reason, answer.wait_ns)
    assert ledger == replace(after, counts=ledger.counts)
    after, answer = asked(ledger, "a", prompt_tokens=100, output_tokens=1024)
    assert isinstance(answer, Go)
    assert (500, 1) == (after.places[0].tokens, after.counts.clamped)


@pytest.mark.parametrize(
    "fields",
    [
        {"cost": 0},
        {"cost": -1},
        {"prompt_tokens": -1},
        {"output_tokens": -1},
        {"wait_ns": -1},
        {"holder": "x" * 201},
    ],
)
def test_zero_and_negative_asks_are_refused(fields):
    """A negative cost would fill the bucket."""
    ledger = started(calls=1, burst=5, tokens=60)
    after, answer = asked(ledger, "a", **fields)
    assert "bad-ask" == answer.reason
    assert ledger == replace(after, counts=ledger.counts)
    assert "bad-ask" == asked(ledger, "")[1].reason


def test_a_wait_that_cannot_meet_its_deadline_is_refused_before_it_queues():
    """The least wait is told, and the next one's slot is the same as if nobody had asked."""
    ledger, _ = asked(started(calls=1), "a")
    after, answer = asked(ledger, "b", wait_ns=SECOND - 1)
    assert ("deadline", SECOND) == (answer.reason, answer.wait_ns)
    assert ledger == replace(after, counts=ledger.counts)
    assert SECOND == asked(after, "c", wait_ns=SECOND)[1].wait_ns


def test_a_queue_whose_rate_alone_takes_too_long_refuses_as_well():
    """One place, one a second: behind three others a deadline of two seconds cannot be met, of four it may."""
    ledger = started(calls=1, in_flight=1)
    for name in "abc":
        ledger, _ = asked(ledger, name)
    assert "deadline" == asked(ledger, "d", wait_ns=2 * SECOND)[1].reason
    assert 2 == asked(ledger, "d", wait_ns=4 * SECOND)[1].ahead


def test_without_a_wait_a_full_house_refuses_at_once():
    """The ask that does not wait is not queued."""
    ledger, _ = asked(started(in_flight=1), "a")
    after, answer = asked(ledger, "b", wait_ns=0)
    assert ("deadline", ()) == (answer.reason, after.queue)
    assert "1 of 1 places are taken" in answer.message


def test_a_queue_has_an_end():
    """So that a state stays small."""
    ledger, _ = asked(started(in_flight=1), "a")
    ledger, _ = asked(ledger, "b")
    full = replace(ledger, queue=ledger.queue * rules.MOST_WAITING)
    assert "queue-full" == asked(full, "c")[1].reason


def test_what_one_limit_refuses_is_charged_to_none():
    """One a minute, one at a time: B is refused by the second limit, and C later finds the rate untouched."""
    ledger, _ = asked(started(calls=1, per_ns=MINUTE, burst=2, in_flight=1), "a")
    ledger, answer = asked(ledger, "b", wait_ns=0)
    assert isinstance(answer, Refused)
    ledger = handed_back(ledger, "a", SECOND)
    assert isinstance(asked(ledger, "c", SECOND)[1], Go)


def test_places_go_to_tickets_in_their_order_and_newcomers_wait_behind():
    """A place that is handed back belongs to the head of the queue, who is woken."""
    ledger, _ = asked(started(in_flight=1), "a")
    ledger, b = asked(ledger, "b")
    ledger, c = asked(ledger, "c")
    assert (Queued(ticket=2, ahead=0), Queued(ticket=3, ahead=1)) == (b, c)
    step = rules.hand_back(ledger, "a", SECOND)
    assert ["b"] == [place.id for place in step.woken]
    ledger, d = asked(step.ledger, "d", SECOND)
    assert Queued(ticket=4, ahead=1) == d
    assert Go(ticket=2, waited_ns=SECOND, lease_ns=MINUTE) == looked(ledger, "b", SECOND)[1]


def test_a_large_call_is_not_starved_by_small_ones():
    """Ten a second, bucket spent, a cost of 8 asked first: it leaves after 0.8 s, however many small ones come."""
    ledger = started(calls=10, burst=10)
    ledger, _ = asked(ledger, "first", cost=10)
    large = Client(0, Request(id="large", cost=8))
    small = [Client(index * 80 * MS, Request(id=f"s{index}")) for index in range(38)]
    world = World(ledger.limits, [large, *small])
    world.ledger = ledger
    world.clients["first"] = Client(0, Request(id="first"))
    world.run()
    assert 800 * MS == large.left


def test_a_place_whose_holder_died_is_free_after_its_lease():
    """And not later, whatever was asked in between."""
    ledger, _ = asked(started(in_flight=1, lease_ns=10 * SECOND), "a")
    ledger, _ = asked(ledger, "b")
    ledger, answer = looked(ledger, "b", 10 * SECOND - 1)
    assert isinstance(answer, Queued)
    ledger, answer = looked(ledger, "b", 10 * SECOND)
    assert (True, 1) == (isinstance(answer, Go), ledger.counts.expired)


def test_a_heartbeat_keeps_a_place_and_a_late_one_is_told():
    """The holder whose lease ended hears it, and handing back then frees nobody else's place."""
    ledger, _ = asked(started(in_flight=1, lease_ns=10 * SECOND), "a")
    ledger = rules.beat(ledger, "a", 9 * SECOND).ledger
    step = rules.beat(ledger, "a", 18 * SECOND)
    assert isinstance(step.answer, Go)
    ledger, _ = asked(step.ledger, "b", 19 * SECOND)
    step = rules.beat(ledger, "a", 28 * SECOND)
    assert Gone() == step.answer
    after = handed_back(step.ledger, "a", 28 * SECOND)
    assert ["b"] == [place.id for place in after.places]


def test_a_slot_that_is_ahead_has_no_heartbeat():
    """Nothing is in flight yet."""
    ledger, _ = asked(started(calls=1), "a")
    ledger, _ = asked(ledger, "b")
    assert Gone() == rules.beat(ledger, "b", 0).answer


def test_one_who_waits_and_gives_no_sign_of_life_loses_its_ticket():
    """Looking is a sign of life; a dead waiter does not hold up the queue."""
    ledger, _ = asked(started(in_flight=1, lease_ns=10 * SECOND, wait_ns=100 * SECOND), "a")
    ledger, _ = asked(ledger, "dead")
    ledger, _ = asked(ledger, "alive")
    for second in (4, 8, 12):
        ledger = rules.beat(ledger, "a", second * SECOND).ledger
        ledger, answer = looked(ledger, "alive", second * SECOND)
    assert Queued(ticket=3, ahead=0) == answer
    assert (1, Gone()) == (ledger.counts.dropped, looked(ledger, "dead", 12 * SECOND)[1])


def test_a_waiter_whose_deadline_passed_is_gone():
    """It is neither charged nor in anybody's way."""
    ledger, _ = asked(started(calls=1, in_flight=1), "a")
    ledger, _ = asked(ledger, "b", wait_ns=2 * SECOND)
    ledger, answer = looked(ledger, "b", 2 * SECOND + 1)
    assert (Gone(), 1) == (answer, ledger.counts.dropped)


def test_a_head_that_cannot_meet_its_deadline_is_dropped_for_the_next():
    """The place comes free too late for its slot."""
    ledger, _ = asked(started(calls=1, per_ns=10 * SECOND, burst=2, in_flight=1), "a")
    ledger, _ = asked(ledger, "b", cost=2, wait_ns=10 * SECOND)
    ledger, _ = asked(ledger, "c", wait_ns=25 * SECOND)
    ledger = rules.pause(ledger, 12 * SECOND, 0).ledger
    step = rules.hand_back(ledger, "a", SECOND)
    assert ["b", "c"] == [place.id for place in step.woken]
    assert (["c"], 1) == ([place.id for place in step.ledger.places], step.ledger.counts.dropped)


def test_a_slot_at_the_tail_is_given_back_and_one_in_the_middle_is_waste():
    """Waste is counted, and never hidden by a faster schedule than the limit."""
    ledger = started(calls=1)
    for name in "abc":
        ledger, _ = asked(ledger, name)
    tail = handed_back(ledger, "c", 0)
    assert (2 * SECOND, 0) == (asked(tail, "d")[1].wait_ns, tail.counts.wasted)
    middle = handed_back(ledger, "b", 0)
    assert (3 * SECOND, 1, 1) == (
        asked(middle, "d")[1].wait_ns,
        middle.counts.wasted,
        middle.counts.cancelled,
    )


def test_a_slot_that_has_passed_is_not_given_back():
    """Somebody may have left after it."""
    ledger = started(calls=1)
    ledger, _ = asked(ledger, "a")
    ledger, _ = asked(ledger, "b")
    ledger, _ = asked(ledger, "c", 3 * SECOND)
    ledger = handed_back(ledger, "c", 3 * SECOND)
    ledger = handed_back(ledger, "b", 3 * SECOND, is_unused=True)
    assert (1, SECOND) == (ledger.counts.wasted, asked(ledger, "d", 3 * SECOND)[1].wait_ns)


def test_a_cancelled_waiter_in_the_queue_costs_nothing():
    """It was never charged."""
    ledger, _ = asked(started(calls=1, in_flight=1), "a")
    ledger, _ = asked(ledger, "b")
    after = handed_back(ledger, "b")
    assert (0, 1, ()) == (after.counts.wasted, after.counts.cancelled, after.queue)


def test_handing_back_twice_changes_nothing():
    """Nor does handing back what nobody knows."""
    ledger, _ = asked(started(in_flight=2), "a")
    once = handed_back(ledger, "a")
    assert once == handed_back(once, "a") == handed_back(once, "nobody")


def test_usage_settles_what_was_reserved():
    """A reservation of 60 of which 10 were used leaves 50; using more than reserved is a debt."""
    ledger = started(tokens=60)
    ledger, _ = asked(ledger, "a", prompt_tokens=20, output_tokens=40)
    less = handed_back(ledger, "a", used_tokens=10)
    assert isinstance(asked(less, "b", prompt_tokens=50)[1], Go)
    assert SECOND == asked(less, "b", prompt_tokens=51)[1].wait_ns
    more = handed_back(ledger, "a", used_tokens=70)
    assert 20 * SECOND == asked(more, "b", prompt_tokens=10)[1].wait_ns
    assert (60, 70) == (more.counts.reserved_tokens, more.counts.used_tokens)
    unknown = handed_back(ledger, "a")
    assert 10 * SECOND == asked(unknown, "b", prompt_tokens=10)[1].wait_ns


def test_five_that_ask_at_once_do_not_all_see_an_empty_count():
    """Tokens are reserved while they are asked for, not counted once they are used."""
    ledger, answers = started(tokens=100), []
    for name in "abcde":
        ledger, answer = asked(ledger, name, prompt_tokens=10, output_tokens=30, wait_ns=0)
        answers.append(isinstance(answer, Go))
    assert [True, True, False, False, False] == answers


def test_the_larger_cap_is_what_counts():
    """An ask carries one cap; one token asked and 10,000 allowed reserve 10,000."""
    ledger, _ = asked(started(tokens=100_000), "a", prompt_tokens=1, output_tokens=10_000)
    assert 10_001 == ledger.places[0].tokens


def test_one_429_moves_everybody_and_empties_the_bucket():
    """Slots keep their order and their distances, newcomers come after them, and no burst follows the pause."""
    ledger = started(calls=1, burst=3)
    for name in "abcde":
        ledger, _ = asked(ledger, name)
    step = rules.pause(ledger, 10 * SECOND, 0)
    assert (["d", "e"], 1) == ([place.id for place in step.woken], step.ledger.counts.rate_limited)
    assert [10 * SECOND, 11 * SECOND] == [looked(step.ledger, name, 0)[1].wait_ns for name in "de"]
    ledger, answer = asked(step.ledger, "f")
    assert 12 * SECOND == answer.wait_ns
    idle = rules.pause(started(calls=1, burst=3), 10 * SECOND, 0).ledger
    waits = []
    for name in "abc":
        idle, answer = asked(idle, name)
        waits.append(answer.wait_ns)
    assert [10 * SECOND, 11 * SECOND, 12 * SECOND] == waits


def test_a_shorter_pause_does_not_shorten_a_longer_one():
    """Nor does a negative one; an absurd one has an end."""
    ledger = rules.pause(started(calls=1), 10 * SECOND, 0).ledger
    for wait in (5 * SECOND, 0, -3):
        ledger = rules.pause(ledger, wait, 0).ledger
    assert (10 * SECOND, 4) == (ledger.not_before_ns, ledger.counts.rate_limited)
    assert LONGEST == rules.pause(ledger, 10**20, 0).ledger.not_before_ns


def test_slots_after_a_pause_anyway_stay_where_they_are():
    """Only those that would leave too early move."""
    ledger, _ = asked(started(calls=1, per_ns=MINUTE), "a")
    ledger, _ = asked(ledger, "b")
    step = rules.pause(ledger, SECOND, 0)
    assert ((), MINUTE) == (step.woken, looked(step.ledger, "b", 0)[1].wait_ns)


def test_a_slot_that_a_pause_moves_beyond_its_deadline_is_given_back():
    """Its owner hears Gone at once instead of waiting for nothing."""
    ledger, _ = asked(started(calls=1, in_flight=2), "a")
    ledger, _ = asked(ledger, "b", wait_ns=2 * SECOND)
    ledger, _ = asked(ledger, "c", wait_ns=DAY)
    ledger = rules.pause(ledger, 5 * SECOND, 0).ledger
    step = rules.look(ledger, "b", 0)
    assert (Gone(), 1) == (step.answer, step.ledger.counts.dropped)
    assert ["c"] == [place.id for place in step.woken]


def test_an_answer_presses_nobody():
    """The step is as it was."""
    step = Step(started(in_flight=2), Gone())
    assert step is rules.pressed(step, Pressure(is_answered=True), 0)


def test_an_overload_is_a_pause_of_a_second():
    """Or the time that was told, if that is longer."""
    ledger = rules.pressed(Step(started(in_flight=2), Gone()), Pressure(is_overload=True), 0).ledger
    assert SECOND == asked(ledger, "a")[1].wait_ns


@pytest.mark.parametrize(
    ("told_s", "wait"), [(1e-10, 1), (2.0, 2 * SECOND), (1e30, LONGEST), (float("inf"), LONGEST)]
)
def test_a_told_time_is_rounded_up_and_has_an_end(told_s, wait):
    """Leave a nanosecond too early would be another 429."""
    ledger = rules.pressed(Step(started(in_flight=2), Gone()), Pressure(pause_s=told_s), 0).ledger
    assert wait == ledger.not_before_ns


@pytest.mark.parametrize("back", [1, 11 * SECOND, 3600 * SECOND, 2 * DAY])
def test_a_clock_that_goes_back_locks_nobody_out_and_refills_nothing(back):
    """Levels, leases and waits stay as they were."""
    now = 3 * DAY
    ledger = started(now, calls=5, per_ns=MINUTE, burst=5)
    for name in "abcdef":
        ledger, _ = asked(ledger, name, now)
    ledger, answer = asked(ledger, "g", now - back)
    assert 24 * SECOND == answer.wait_ns
    assert isinstance(looked(ledger, "f", now - back + 12 * SECOND)[1], Go)


def test_a_clock_that_jumps_ahead_and_back_gives_one_burst_and_no_freeze():
    """What a jump ahead refills is the burst at most, and the way back starts from there."""
    ledger = started(0, calls=5, per_ns=MINUTE, burst=5)
    admitted = 0
    for index, now in enumerate((0, 3600 * SECOND, 0)):
        for name in asks(8):
            ledger, answer = asked(ledger, f"{index}{name.id}", now, wait_ns=0)
            admitted += isinstance(answer, Go)
    assert 10 == admitted
    assert isinstance(asked(ledger, "later", 12 * SECOND, wait_ns=0)[1], Go)


def test_another_boot_keeps_levels_and_leases_and_refills_nothing():
    """All times move by the same amount."""
    ledger = started(DAY, calls=1, in_flight=2, tokens=60, lease_ns=10 * SECOND)
    ledger, _ = asked(ledger, "a", DAY, prompt_tokens=60)
    ledger, _ = asked(ledger, "b", DAY + 5 * SECOND)
    ledger, _ = asked(ledger, "c", DAY + 5 * SECOND)
    moved = rules.rebased(ledger, 7)
    assert ledger == rules.rebased(moved, ledger.now_ns)
    assert isinstance(looked(moved, "c", 7 + 5 * SECOND - 1)[1], Queued)
    assert isinstance(looked(moved, "c", 7 + 5 * SECOND)[1], Go)


def test_other_limits_take_over_once_nobody_holds_a_place():
    """Until then the stricter of each holds, and it is counted."""
    wide, narrow = checked(Limits(in_flight=5)), checked(Limits(in_flight=1, calls=1))
    ledger, _ = asked(rules.new_ledger(wide, 0), "a")
    assert rules.under(ledger, wide, 0) is ledger
    mixed = rules.under(ledger, narrow, 0)
    assert (1, 1, 1) == (mixed.limits.in_flight, mixed.limits.calls, mixed.counts.mixed_limits)
    assert 1 == rules.under(mixed, wide, 0).limits.in_flight
    assert wide == rules.under(handed_back(mixed, "a"), wide, 0).limits


def test_whoever_leaves_late_moves_the_others_so_that_no_window_sees_too_many():
    """Five that slept through their slots do not leave together."""
    clients = [Client(0, request, late=20 * SECOND) for request in asks(5)]
    order = World(checked(Limits(calls=1, wait_ns=DAY)), clients).run()
    leaves = [(client.left, 1) for client in order]
    assert most_above_rate(leaves, 1, SECOND, 1) <= 0


client = st.builds(
    lambda at, cost, prompt, cap, hold, used, late, fate: (at, cost, prompt, cap, hold, used, late, fate),
    st.integers(0, 3000),
    st.integers(1, 3),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 2000),
    st.one_of(st.none(), st.integers(0, 130)),
    st.sampled_from([0, 0, 0, 1, 900]),
    st.sampled_from(["lives", "lives", "lives", "dies", "gives up"]),
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(client, min_size=1, max_size=25),
    st.one_of(st.none(), st.integers(1, 4)),
    st.integers(3, 6),
    st.booleans(),
    st.booleans(),
)
def test_no_limit_is_ever_exceeded(drawn, cap, burst, has_tokens, starts_full):
    """Random clients with deaths, cancellations, late looks and settlements: rate and cap hold in every window.

    Leaves, not slots, are what is counted; whoever looks late leaves late.
    """
    limits = checked(
        Limits(
            calls=2,
            burst=burst,
            in_flight=cap,
            tokens=6000 if has_tokens else None,
            token_burst=120 if has_tokens else None,
            lease_ns=5 * SECOND,
            wait_ns=DAY,
            starts_full=starts_full,
        )
    )
    clients = [
        Client(
            at * MS,
            Request(id=f"c{index}", cost=cost, prompt_tokens=prompt, output_tokens=output),
            hold=hold * MS,
            used=used,
            dies=fate == "dies",
            gives_up_at=(at + 700) * MS if fate == "gives up" else None,
            late=late * MS,
        )
        for index, (at, cost, prompt, output, hold, used, late, fate) in enumerate(drawn)
    ]
    world = World(limits, clients)
    order = world.run()
    on_time = all(it.late == 0 for it in clients)
    if on_time:
        assert most_above_rate([(it.left, it.request.cost) for it in order], 2, SECOND, burst) <= 0
        tickets = [it.ticket for it in order]
        assert sorted(tickets) == tickets
    assert most_at_once([(it.left, it.ended) for it in order]) <= (cap or len(order))
    assert all(it.left is not None or it.fate for it in clients)
    assert () == rules.advance(world.ledger, 10 * DAY)[0].places
