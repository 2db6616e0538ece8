# SPDX-License-Identifier: Apache-2.0
"""What the script is told and what it answers, as the values that every other ledger uses.

What it decides: how a step becomes arguments, how an answer becomes a value, and which limits the script can keep
exactly. What it leaves: the rules, to ``ledger.lua``; the wire, to ``server``.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.limiter.limits import SECOND, Limits
from truegreen.limiter.places import OVERUSE
from truegreen.limiter.state import (
    Answer,
    Counts,
    Go,
    Gone,
    Later,
    Ledger,
    Place,
    Queued,
    Refused,
    Request,
)

LONGEST_FILL: Final = 50 * 86_400 * SECOND
"""Longest time in which a bucket may fill. The script's numbers are doubles, which hold whole numbers to 2^53: two such
fillings and a wait of a day come to 101 days, and 2^53 nanoseconds are 104."""


def limit_numbers(limits: Limits) -> tuple[int, ...]:
    """The limits as the script takes them, 0 for none.

    Raises: UsageProblem ``limit-out-of-range`` for limits whose products a double does not hold.
    """
    products = {
        "burst and period": limits.burst * limits.spacing_ns,
        "token burst and minute": OVERUSE * (limits.token_burst or 0) * limits.token_ns,
    }
    for name, product in products.items():
        if product > LONGEST_FILL:
            raise UsageProblem(
                "limit-out-of-range",
                f"{name} come to {product / SECOND:.0f} s, at most {LONGEST_FILL // SECOND} s are counted exactly in Redis",
                hint="truegreen policy show",
            )
    return (
        limits.calls or 0,
        limits.per_ns,
        limits.burst,
        limits.in_flight or 0,
        limits.tokens or 0,
        limits.token_burst or 0,
        int(limits.starts_full),
        limits.lease_ns,
        limits.wait_ns,
    )


def ask_arguments(request: Request) -> tuple[str | int, ...]:
    """What the verb ``ask`` takes. Nobody is woken from there."""
    texts = (request.id, request.holder, "")
    wait = -1 if request.wait_ns is None else request.wait_ns
    return (*texts, request.cost, request.prompt_tokens, request.output_tokens, wait)


def answer_of(row: list[Any]) -> tuple[Answer, int]:
    """The value of an answer (a tag, whole numbers and texts), and, of ``Go``, when its ledger began.

    That is the server's clock in microseconds; another number later means that the ledger was lost in between.
    """
    told: list[Any] = [item.decode() if isinstance(item, bytes) else item for item in row]
    match told:
        case ["go", ticket, waited, lease, born]:
            return Go(ticket=ticket, waited_ns=waited, lease_ns=lease), born
        case ["later", ticket, wait]:
            return Later(ticket=ticket, wait_ns=wait), 0
        case ["queued", ticket, ahead]:
            return Queued(ticket=ticket, ahead=ahead), 0
        case ["refused", why, wait, found, allowed]:
            return _refused(why, None if wait < 0 else wait, found, allowed), 0
        case _:
            return Gone(), 0


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The state as the script keeps it: times in nanoseconds from ``now``."""

    now: int
    rate: int
    left: int
    token: int
    not_before: int
    tickets: int
    limits: list[int]
    places: list[tuple[Any, ...]]
    queue: list[tuple[Any, ...]]
    counts: list[int]
    born: int


def ledger_of(packed: bytes) -> Ledger:
    """The state that the verb ``state`` answers, on the server's clock.

    Raises: msgspec.MsgspecError for bytes of another form.
    """
    kept = msgspec.msgpack.decode(packed, type=_Kept, strict=False)
    now = kept.now * 1000
    return Ledger(
        limits=_limits(kept.limits),
        now_ns=now,
        rate_ns=now + kept.rate,
        left_ns=now + kept.left,
        token_ns=now + kept.token,
        not_before_ns=now + kept.not_before if kept.not_before > 0 else 0,
        tickets=kept.tickets,
        places=tuple(_place(row, now) for row in kept.places),
        queue=tuple(_place(row, now) for row in kept.queue),
        counts=Counts(*kept.counts),
    )


def _limits(numbers: list[int]) -> Limits:
    calls, per, burst, in_flight, tokens, token_burst, starts_full, lease, wait = numbers
    return Limits(
        calls=calls or None,
        per_ns=per,
        burst=burst,
        in_flight=in_flight or None,
        tokens=tokens or None,
        token_burst=token_burst or None,
        starts_full=bool(starts_full),
        lease_ns=lease,
        wait_ns=wait,
    )


def _place(row: tuple[Any, ...], now: int) -> Place:
    name, ticket, holder, wake, cost, tokens, asked, deadline, expires, slot, is_started, token = row
    times = (now + asked, now + deadline, now + expires, now + slot)
    return Place(name, ticket, holder, wake, cost, tokens, *times, is_started, now + token)


def _refused(why: str, wait: int | None, found: int, allowed: int) -> Refused:
    match why:
        case "cost-above-burst":
            message = f"the call costs {found} and the burst is {allowed}: no wait is long enough"
        case "tokens-above-burst":
            message = (
                f"the prompt has {found} tokens and the token burst is {allowed}: no wait is long enough"
            )
        case "deadline":
            message = f"leave would take {found / SECOND:.3f} s at least and the ask waits {allowed / SECOND:.3f} s at most"
        case "places-taken":
            why = "deadline"
            message = f"{found} of {allowed} places are taken and the ask does not wait"
        case _:
            message = f"{found} asks wait already"
    return Refused(reason=why, message=message, wait_ns=wait)
