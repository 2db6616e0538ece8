# SPDX-License-Identifier: Apache-2.0
"""One ledger for rate, calls in flight and tokens: how each state follows from the one before. No clock, no disk.

What it decides: who gets leave and when. What it leaves: the time, and one step after another, to the backends;
waiting, to ``waiting``; whether a call is repeated, to ``retries``.

- All limits are checked, then all are charged, in one step. What is refused is not charged.
- Rate and tokens are reserved: whoever gets a place gets its slot with it, and nobody polls for it. Places are given
  by ticket. So slots rise with tickets, and a place that waits for its slot holds up nobody who could go before it.
- GCRA in whole nanoseconds: a call of cost c may leave at ``arrival + (c - burst) * spacing``, and moves the arrival to
  ``max(leave, arrival) + c * spacing``.
- Whoever leaves later than at its slot moves the next ones so far that no window ever sees more than the limit.
- A place is a lease: whoever gives no sign of life loses it, at the next step of anybody.
- A 429 of anybody moves ``not_before``: slots that nobody has used yet move with it, and the bucket is empty then.
- A clock that went back, or another one, moves every time in the state along: levels stay, nothing is refilled.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec.structs import replace

from truegreen.core.admission import Pressure
from truegreen.limiter import places
from truegreen.limiter.bounds import out_of_bounds
from truegreen.limiter.limits import LONGEST, SECOND, Limits, stricter
from truegreen.limiter.state import Go, Gone, Later, Ledger, Place, Queued, Refused, Request, Step

MOST_WAITING: Final = 2_000
"""Longest queue for places in flight."""
OVERLOAD_PAUSE_NS: Final = SECOND
"""Pause after a 429 that told no time; the bucket is empty after it, as after every pause."""


def new_ledger(limits: Limits, now_ns: int) -> Ledger:
    """A ledger that nobody has used: full, or as empty as if its burst had just been spent."""
    if limits.starts_full:
        return Ledger(limits, now_ns, now_ns, now_ns, now_ns)
    rate = now_ns + limits.burst * limits.spacing_ns
    return Ledger(limits, now_ns, rate, now_ns, now_ns + (limits.token_burst or 0) * limits.token_ns)


def ask(ledger: Ledger, request: Request, now_ns: int) -> Step:
    """Ask for leave. Answers Go, Later, Queued or Refused."""
    ledger, woken = advance(ledger, now_ns)
    wait = ledger.limits.wait_ns if request.wait_ns is None else request.wait_ns
    place = _asked(ledger, request, now_ns, now_ns + wait)
    slot = places.slot_of(ledger, place, now_ns, ledger.queue)
    is_free = not ledger.queue and places.has_room(ledger)
    refused = _never(ledger.limits, request) or _too_late(ledger, slot - now_ns, wait, is_free=is_free)
    if refused is not None:
        counts = replace(ledger.counts, refused=ledger.counts.refused + 1)
        return Step(replace(ledger, counts=counts), refused, woken)
    ledger = _ticketed(ledger, request)
    if is_free:
        ledger, _ = places.given(places.placed(ledger, place, slot), now_ns)
        return Step(ledger, _told(ledger, len(ledger.places) - 1, now_ns), woken)
    ledger = replace(ledger, queue=(*ledger.queue, place))
    return Step(ledger, Queued(ticket=place.ticket, ahead=len(ledger.queue) - 1), woken)


def look(ledger: Ledger, id: str, now_ns: int) -> Step:  # noqa: A002 - the field of a place has this name
    """Look again, which is a sign of life.

    Answers Go (again, if it was told before), Later, Queued or Gone: its deadline cannot be met, or it has expired.
    """
    ledger, woken = advance(ledger, now_ns)
    index = places.index_of(ledger.places, id)
    if index is not None and places.is_late(ledger.places[index]):
        ledger = places.given_up(ledger, index)
        ledger, more = places.given(places.dropped(ledger, 1), now_ns)
        return Step(ledger, Gone(), woken + more)
    if index is not None:
        place = ledger.places[index]
        if place.is_started:
            alive = _alive(place, ledger.limits, now_ns)
            ledger = replace(ledger, places=places.with_place(ledger.places, index, alive))
        elif places.gate_of(ledger, place) <= now_ns:
            ledger = places.started(ledger, index, now_ns)
        return Step(ledger, _told(ledger, index, now_ns), woken)
    index = places.index_of(ledger.queue, id)
    if index is None:
        return Step(ledger, Gone(), woken)
    place = ledger.queue[index]
    if place.expires_ns - now_ns < ledger.limits.lease_ns // 2:
        ledger = replace(
            ledger, queue=places.with_place(ledger.queue, index, _alive(place, ledger.limits, now_ns))
        )
    return Step(ledger, Queued(ticket=place.ticket, ahead=index), woken)


def beat(ledger: Ledger, id: str, now_ns: int) -> Step:  # noqa: A002 - as above
    """A sign of life of a place in flight. Answers Go, or Gone if the lease has ended."""
    ledger, woken = advance(ledger, now_ns)
    index = places.index_of(ledger.places, id)
    if index is None or not ledger.places[index].is_started:
        return Step(ledger, Gone(), woken)
    place = _alive(ledger.places[index], ledger.limits, now_ns)
    ledger = replace(ledger, places=places.with_place(ledger.places, index, place))
    return Step(ledger, _told(ledger, index, now_ns), woken)


def hand_back(
    ledger: Ledger,
    id: str,  # noqa: A002 - as above
    now_ns: int,
    *,
    used_tokens: int | None = None,
    is_unused: bool = False,
) -> Step:
    """The call has ended, or will not be made (``is_unused``): its place is free.

    ``used_tokens`` settles the reservation; None leaves it as it was reserved. Of a call that is not made tokens are
    given back whole; its rate only if its slot is ahead and nobody has one after it, else it is counted as waste.
    Answers Gone, whether the id was known or not: doing it twice changes nothing.
    """
    ledger, woken = advance(ledger, now_ns)
    index = places.index_of(ledger.queue, id)
    if index is not None:
        ledger = replace(ledger, queue=ledger.queue[:index] + ledger.queue[index + 1 :])
        return Step(_cancelled(ledger), Gone(), woken)
    index = places.index_of(ledger.places, id)
    if index is None:
        return Step(ledger, Gone(), woken)
    if is_unused or not ledger.places[index].is_started:
        ledger = _cancelled(places.given_up(ledger, index))
    else:
        ledger = places.ended(ledger, index, used_tokens)
    ledger, more = places.given(ledger, now_ns)
    return Step(ledger, Gone(), woken + more)


def pause(ledger: Ledger, wait_ns: int, now_ns: int) -> Step:
    """The endpoint said 429: nobody leaves for so long, and the bucket is empty then. Answers Gone."""
    ledger, woken = advance(ledger, now_ns)
    until = now_ns + max(0, min(wait_ns, LONGEST))
    ledger = replace(ledger, counts=replace(ledger.counts, rate_limited=ledger.counts.rate_limited + 1))
    if until <= max(now_ns, ledger.not_before_ns):
        return Step(ledger, Gone(), woken)
    ledger, moved = places.put_off(ledger, until)
    empty = until + (ledger.limits.burst - 1) * ledger.limits.spacing_ns
    ledger = replace(ledger, not_before_ns=until, rate_ns=max(ledger.rate_ns, empty))
    return Step(ledger, Gone(), woken + moved)


def pressed(step: Step, pressure: Pressure, now_ns: int) -> Step:
    """What the end of one attempt means for all who share the ledger, after the step that handed it back."""
    wait = math.ceil(min(pressure.pause_s, LONGEST / SECOND) * SECOND) if pressure.pause_s > 0 else 0
    if pressure.is_overload:
        wait = max(wait, OVERLOAD_PAUSE_NS)
    if not wait:
        return step
    paused = pause(step.ledger, wait, now_ns)
    return Step(paused.ledger, step.answer, step.woken + paused.woken)


def under(ledger: Ledger, limits: Limits, now_ns: int) -> Ledger:
    """The ledger under these limits; while somebody holds a place or waits under others, under the stricter of each."""
    if ledger.limits == limits:
        return ledger
    ledger, _ = advance(ledger, now_ns)
    if not ledger.places and not ledger.queue:
        return replace(ledger, limits=limits)
    counts = replace(ledger.counts, mixed_limits=ledger.counts.mixed_limits + 1)
    return replace(ledger, limits=stricter(ledger.limits, limits), counts=counts)


def rebased(ledger: Ledger, now_ns: int) -> Ledger:
    """The ledger on a clock that shows ``now_ns`` where the old one last showed ``ledger.now_ns``."""
    by = now_ns - ledger.now_ns
    return replace(
        ledger,
        now_ns=now_ns,
        rate_ns=ledger.rate_ns + by,
        left_ns=ledger.left_ns + by,
        token_ns=ledger.token_ns + by,
        not_before_ns=ledger.not_before_ns + by,
        places=tuple(_moved(place, by) for place in ledger.places),
        queue=tuple(_moved(place, by) for place in ledger.queue),
    )


def advance(ledger: Ledger, now_ns: int) -> tuple[Ledger, tuple[Place, ...]]:
    """The ledger at ``now_ns``: what has expired is gone, and free places are given. With those whose fate changed."""
    if now_ns < ledger.now_ns:
        ledger = rebased(ledger, now_ns)
    elif now_ns > ledger.now_ns:
        ledger = replace(ledger, now_ns=now_ns)
    gone: tuple[Place, ...] = ()
    if not ledger.places and not ledger.queue:
        return ledger, gone
    if any(place.expires_ns <= now_ns for place in ledger.places):
        ledger, gone = places.pruned(ledger, now_ns)
    if ledger.queue:
        staying = tuple(it for it in ledger.queue if it.expires_ns > now_ns and it.deadline_ns >= now_ns)
        if len(staying) < len(ledger.queue):
            ledger = replace(places.dropped(ledger, len(ledger.queue) - len(staying)), queue=staying)
    ledger, changed = places.given(ledger, now_ns)
    return ledger, gone + changed


def _never(limits: Limits, request: Request) -> Refused | None:
    """Why no wait helps, or None."""
    bad = out_of_bounds(request)
    if bad is not None:
        return bad
    if limits.calls and request.cost > limits.burst:
        return Refused(
            reason="cost-above-burst",
            message=f"the call costs {request.cost} and the burst is {limits.burst}: no wait is long enough",
        )
    if limits.token_burst and request.prompt_tokens > limits.token_burst:
        return Refused(
            reason="tokens-above-burst",
            message=f"the prompt has {request.prompt_tokens} tokens and the token burst is {limits.token_burst}: no wait is long enough",
        )
    return None


def _too_late(ledger: Ledger, least: int, wait: int, *, is_free: bool) -> Refused | None:
    """Why this wait would not do, or None."""
    if least > wait:
        return Refused(
            reason="deadline",
            message=f"leave would take {least / SECOND:.3f} s at least and the ask waits {wait / SECOND:.3f} s at most",
            wait_ns=least,
        )
    if not is_free and wait == 0:
        taken = len(ledger.places)
        return Refused(
            reason="deadline",
            message=f"{taken} of {ledger.limits.in_flight} places are taken and the ask does not wait",
            wait_ns=max(least, 1),
        )
    if not is_free and len(ledger.queue) >= MOST_WAITING:
        return Refused(reason="queue-full", message=f"{len(ledger.queue)} asks wait already", wait_ns=least)
    return None


def _asked(ledger: Ledger, request: Request, now_ns: int, deadline_ns: int) -> Place:
    tokens = request.prompt_tokens + request.output_tokens
    return Place(
        request.id,
        ledger.tickets + 1,
        request.holder,
        request.wake,
        request.cost,
        min(tokens, ledger.limits.token_burst) if ledger.limits.token_burst else 0,
        now_ns,
        deadline_ns,
        now_ns + ledger.limits.lease_ns,
    )


def _ticketed(ledger: Ledger, request: Request) -> Ledger:
    burst = ledger.limits.token_burst
    if burst and request.prompt_tokens + request.output_tokens > burst:
        counts = replace(ledger.counts, clamped=ledger.counts.clamped + 1)
        return replace(ledger, tickets=ledger.tickets + 1, counts=counts)
    return replace(ledger, tickets=ledger.tickets + 1)


def _cancelled(ledger: Ledger) -> Ledger:
    return replace(ledger, counts=replace(ledger.counts, cancelled=ledger.counts.cancelled + 1))


def _told(ledger: Ledger, index: int, now_ns: int) -> Go | Later:
    place = ledger.places[index]
    if place.is_started:
        waited = now_ns - place.asked_ns
        return Go(ticket=place.ticket, waited_ns=waited, lease_ns=ledger.limits.lease_ns)
    return Later(ticket=place.ticket, wait_ns=places.gate_of(ledger, place) - now_ns)


def _alive(place: Place, limits: Limits, now_ns: int) -> Place:
    return replace(place, expires_ns=now_ns + limits.lease_ns)


def _moved(place: Place, by: int) -> Place:
    return replace(
        place,
        asked_ns=place.asked_ns + by,
        deadline_ns=place.deadline_ns + by,
        expires_ns=place.expires_ns + by,
        slot_ns=place.slot_ns + by,
        token_ns=place.token_ns + by,
    )
