# SPDX-License-Identifier: Apache-2.0
"""Places: their slots, whose turn it is, and what happens to those whose owners are late or gone."""

from truegreen.limiter import ledger as rules
from truegreen.limiter import places
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.state import Go, Later, Request


def with_asks(number, **given):
    """A ledger that so many asked at 0."""
    ledger = rules.new_ledger(checked(Limits(**given)), 0)
    for index in range(number):
        ledger = rules.ask(ledger, Request(id=f"c{index}"), 0).ledger
    return ledger


def test_nobody_slips_in_while_the_owner_of_a_slot_wakes_up():
    """A newcomer at the moment of a slot leaves after its owner, who has not looked yet."""
    ledger = with_asks(2, calls=1)
    step = rules.ask(ledger, Request(id="new"), SECOND)
    assert Later(ticket=3, wait_ns=SECOND) == step.answer
    assert isinstance(rules.look(step.ledger, "c1", SECOND + 1).answer, Go)


def test_an_owner_that_is_later_than_the_grace_is_not_waited_for():
    """The next one leaves at its own slot, and the late one after it as far as the limit allows."""
    ledger = with_asks(3, calls=1)
    step = rules.look(ledger, "c2", 2 * SECOND)
    assert isinstance(step.answer, Go)
    step = rules.look(step.ledger, "c1", 2 * SECOND + 1)
    assert Later(ticket=2, wait_ns=SECOND - 1) == step.answer
    assert isinstance(rules.look(step.ledger, "c1", 3 * SECOND).answer, Go)


def test_a_dead_owner_of_a_slot_costs_the_others_nothing():
    """Three died asleep; the fourth leaves at its slot."""
    ledger = with_asks(5, calls=1)
    assert isinstance(rules.look(ledger, "c4", 4 * SECOND).answer, Go)


def test_lost_places_are_found_in_any_order():
    """One that left and two that never looked, gone in one step, with what each leaves behind."""
    ledger = with_asks(3, calls=1, tokens=60, lease_ns=10 * SECOND)
    ledger, gone = places.pruned(ledger, 100 * SECOND)
    assert (["c0", "c1", "c2"], ()) == ([place.id for place in gone], ledger.places)
    assert (1, 2) == (ledger.counts.expired, ledger.counts.dropped)


def test_only_the_lost_places_go():
    """Who gave a sign of life stays."""
    ledger = with_asks(2, in_flight=2, lease_ns=10 * SECOND)
    ledger = rules.beat(ledger, "c1", 9 * SECOND).ledger
    ledger, gone = places.pruned(ledger, 10 * SECOND)
    assert (["c0"], ["c1"]) == ([place.id for place in gone], [place.id for place in ledger.places])


def test_without_a_rate_a_late_owner_leaves_when_it_looks():
    """Only a pause gave it a slot ahead."""
    ledger = rules.pause(with_asks(0, in_flight=1), SECOND, 0).ledger
    ledger = rules.ask(ledger, Request(id="a"), 0).ledger
    assert SECOND == places.gate_of(ledger, ledger.places[0])
    assert isinstance(rules.look(ledger, "a", 2 * SECOND).answer, Go)


def test_a_slot_that_only_a_pause_gave_is_no_waste():
    """Without a rate nothing was reserved but a place."""
    ledger = rules.pause(with_asks(0, in_flight=1), SECOND, 0).ledger
    ledger = rules.ask(ledger, Request(id="a"), 0).ledger
    ledger = places.given_up(ledger, 0)
    assert ((), 0) == (ledger.places, ledger.counts.wasted)
