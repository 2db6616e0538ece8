# SPDX-License-Identifier: Apache-2.0
"""Places of a ledger: given, left, handed back, put off, lost; each charged to every limit in the same step.

What it decides: which slot a place gets, and what is given back when it is not used. What it leaves: who asks and what
is answered, to ``ledger``.

- A place gets leave when its moment comes, whoever makes the step: nobody slips in while its owner wakes up. An owner
  who is later than the grace is not waited for; it gets leave when it looks, as far as the limit then allows.
- Places stand in the order of their tickets, and so of their slots.
- Time is ``ledger.now_ns`` unless it is handed in; ``ledger.advance`` sets it at each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from truegreen.limiter import token_trajectory
from truegreen.limiter.limits import MOST_TOKENS, SECOND
from truegreen.limiter.state import Counts, Ledger, Place

OVERUSE: Final = 10
"""Token bursts that one call may have used at most: a use that cannot be true must not keep everybody out for days."""
GRACE_NS: Final = SECOND // 20
"""How late the owner of a slot may look without losing its turn."""


def slot_of(ledger: Ledger, place: Place, now_ns: int, ahead: Sequence[Place] = ()) -> int:
    """When the place may leave; with asks ahead of it, the earliest time that is possible."""
    limits = ledger.limits
    slot = max(now_ns, ledger.not_before_ns)
    if ledger.places and ledger.places[-1].slot_ns > slot:
        slot = ledger.places[-1].slot_ns
    if limits.calls:
        units = place.cost - limits.burst + sum(it.cost for it in ahead)
        slot = max(slot, max(ledger.rate_ns, ledger.left_ns) + units * limits.spacing_ns)
    if limits.token_burst and place.tokens:
        tokens = place.tokens - limits.token_burst + sum(it.tokens for it in ahead)
        slot = max(slot, token_trajectory.arrival(ledger) + tokens * limits.token_ns)
    return slot


def gate_of(ledger: Ledger, place: Place) -> int:
    """When a place with a slot may leave, since others may have left later than at their slots."""
    limits = ledger.limits
    if not limits.calls:
        return place.slot_ns
    return max(place.slot_ns, ledger.left_ns + (place.cost - limits.burst) * limits.spacing_ns)


def placed(ledger: Ledger, place: Place, slot_ns: int) -> Ledger:
    """The ledger with the place, charged to every limit."""
    limits = ledger.limits
    place = replace(place, slot_ns=slot_ns, expires_ns=slot_ns + limits.lease_ns)
    if limits.tokens:
        ledger = token_trajectory.reserved(ledger, place, limits.token_ns)
    else:
        ledger = replace(ledger, places=(*ledger.places, place))
    if limits.calls:
        rate = max(slot_ns, ledger.rate_ns) + place.cost * limits.spacing_ns
        ledger = replace(ledger, rate_ns=rate)
    if len(ledger.places) > ledger.counts.most_in_flight:
        counts = replace(ledger.counts, most_in_flight=len(ledger.places))
        ledger = replace(ledger, counts=counts)
    return ledger


def started(ledger: Ledger, index: int, now_ns: int) -> Ledger:
    """With a place that has leave."""
    place = ledger.places[index]
    waited = now_ns - place.asked_ns
    was: Counts = ledger.counts
    counts = replace(
        was,
        granted=was.granted + 1,
        waited_ns=was.waited_ns + waited,
        most_waited_ns=max(was.most_waited_ns, waited),
    )
    left = max(now_ns, ledger.left_ns) + place.cost * ledger.limits.spacing_ns
    place = replace(place, is_started=True, expires_ns=now_ns + ledger.limits.lease_ns)
    return replace(ledger, places=with_place(ledger.places, index, place), counts=counts, left_ns=left)


def given(ledger: Ledger, now_ns: int) -> tuple[Ledger, tuple[Place, ...]]:
    """Free places given by ticket, and leave to every place whose moment has come, in the order of tickets.

    With the asks that got a place, and those that are dropped because they cannot meet their deadline any more.
    """
    changed: list[Place] = []
    while ledger.queue and has_room(ledger):
        head = ledger.queue[0]
        changed.append(head)
        ledger = replace(ledger, queue=ledger.queue[1:])
        slot = slot_of(ledger, head, now_ns)
        ledger = dropped(ledger, 1) if slot > head.deadline_ns else placed(ledger, head, slot)
    return _leaving(ledger, now_ns), tuple(changed)


def _leaving(ledger: Ledger, now_ns: int) -> Ledger:
    first = len(ledger.places)
    while first and not ledger.places[first - 1].is_started:
        first -= 1
    for index in range(first, len(ledger.places)):
        place = ledger.places[index]
        if gate_of(ledger, place) > now_ns:
            break
        if now_ns - place.slot_ns <= GRACE_NS:
            ledger = started(ledger, index, now_ns)
    return ledger


def put_off(ledger: Ledger, until_ns: int) -> tuple[Ledger, tuple[Place, ...]]:
    """The slots that nobody has used yet, moved so that the first is not before; they keep their distances."""
    first = next((index for index, place in enumerate(ledger.places) if not place.is_started), None)
    if first is None or ledger.places[first].slot_ns >= until_ns:
        return ledger, ()
    by = until_ns - ledger.places[first].slot_ns
    staying = tuple(replace(place, token_ns=place.token_ns + by) for place in ledger.places[:first])
    moved = tuple(
        replace(
            place,
            slot_ns=place.slot_ns + by,
            expires_ns=place.expires_ns + by,
            token_ns=place.token_ns + by,
        )
        for place in ledger.places[first:]
    )
    ledger = replace(
        ledger, places=staying + moved, rate_ns=ledger.rate_ns + by, token_ns=ledger.token_ns + by
    )
    return ledger, moved


def pruned(ledger: Ledger, now_ns: int) -> tuple[Ledger, tuple[Place, ...]]:
    """Without the places that gave no sign of life; what they used is what they had reserved."""
    gone = tuple(place for place in ledger.places if place.expires_ns <= now_ns)
    for index in range(len(ledger.places) - 1, -1, -1):
        place = ledger.places[index]
        if place.expires_ns > now_ns:
            continue
        if place.is_started:
            ledger = ended(ledger, index, None)
            counts = replace(ledger.counts, expired=ledger.counts.expired + 1)
            ledger = replace(ledger, counts=counts)
        else:
            ledger = dropped(given_up(ledger, index), 1)
    return ledger, gone


def ended(ledger: Ledger, index: int, used: int | None) -> Ledger:
    """Without a place whose call is over; ``used`` tokens settle its reservation, None leaves it as it was."""
    place = ledger.places[index]
    if not ledger.limits.tokens:
        return replace(ledger, places=ledger.places[:index] + ledger.places[index + 1 :])
    used = None if used is None else max(0, min(used, MOST_TOKENS))
    if used is not None:
        was = ledger.counts
        counts = replace(
            was, reserved_tokens=was.reserved_tokens + place.tokens, used_tokens=was.used_tokens + used
        )
        ledger = replace(ledger, counts=counts)
        used = min(used, OVERUSE * (ledger.limits.token_burst or 0))
    return token_trajectory.settled(ledger, index, used, ledger.limits.token_ns)


def given_up(ledger: Ledger, index: int) -> Ledger:
    """Without a place that has not left: its rate is given back if its slot is ahead and nobody has one after it."""
    place = ledger.places[index]
    limits = ledger.limits
    if limits.calls and index == len(ledger.places) - 1 and place.slot_ns > ledger.now_ns:
        ledger = replace(ledger, rate_ns=ledger.rate_ns - place.cost * limits.spacing_ns)
    elif limits.calls:
        counts = replace(ledger.counts, wasted=ledger.counts.wasted + place.cost)
        ledger = replace(ledger, counts=counts)
    if not limits.tokens:
        return replace(ledger, places=ledger.places[:index] + ledger.places[index + 1 :])
    return token_trajectory.settled(ledger, index, 0, limits.token_ns)


def dropped(ledger: Ledger, number: int) -> Ledger:
    """With so many asks more that we gave up."""
    return replace(ledger, counts=replace(ledger.counts, dropped=ledger.counts.dropped + number))


def has_room(ledger: Ledger) -> bool:
    """Whether a place in flight is free."""
    return ledger.limits.in_flight is None or len(ledger.places) < ledger.limits.in_flight


def is_late(place: Place) -> bool:
    """Whether its slot was put off beyond its deadline."""
    return not place.is_started and place.slot_ns > place.deadline_ns


def with_place(places: tuple[Place, ...], index: int, place: Place) -> tuple[Place, ...]:
    """The places with another one at ``index``."""
    return (*places[:index], place, *places[index + 1 :])


def index_of(places: tuple[Place, ...], wanted: str) -> int | None:
    """Where the place of this id stands, or None."""
    for index, place in enumerate(places):
        if place.id == wanted:
            return index
    return None
