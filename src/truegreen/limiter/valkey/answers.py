# SPDX-License-Identifier: Apache-2.0
"""What the script is told and what it answers, as the values that every other ledger uses.

What it decides: how a step becomes arguments, how an answer becomes a value, and which limits the script can keep
exactly. What it leaves: the rules, to ``ledger.lua``; the wire, to ``server``.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.limiter.ledger import MOST_CHARACTERS
from truegreen.limiter.limits import SECOND, Limits
from truegreen.limiter.places import OVERUSE
from truegreen.limiter.state import Go, Gone, Later, Queued, Refused, Request

EXACT: Final = 2**52
"""Largest product, in nanoseconds, that the script adds up: its numbers are doubles (2^53), and two are added."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, and what only this backend tells."""

    answer: Go | Later | Queued | Refused | Gone
    """The answer."""
    recheck_ns: int = 0
    """Of ``Queued``: when a place may become free by itself."""
    born_us: int = 0
    """Of ``Go``: when the ledger began, by the server's clock; another number means that it was lost since."""


def limit_numbers(limits: Limits) -> tuple[int, ...]:
    """The limits as the script takes them, 0 for none.

    Raises: UsageProblem ``limit-out-of-range`` for limits whose products a double does not hold.
    """
    products = {
        "burst and period": limits.burst * limits.spacing_ns,
        "token burst and minute": OVERUSE * (limits.token_burst or 0) * limits.token_ns,
    }
    for name, product in products.items():
        if product > EXACT:
            raise UsageProblem(
                "limit-out-of-range",
                f"{name} come to {product / SECOND:.0f} s, at most {EXACT // SECOND} s are counted exactly in Redis",
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


def ask_arguments(request: Request) -> tuple[str | int, ...] | Refused:
    """What the verb ``ask`` takes; what is no ask at all is refused here."""
    numbers = (request.cost - 1, request.prompt_tokens, request.output_tokens, request.wait_ns or 0)
    texts = (request.id, request.holder, request.wake)
    if min(numbers) < 0 or max(numbers) > EXACT or not request.id or max(map(len, texts)) > MOST_CHARACTERS:
        return Refused(
            reason="bad-ask",
            message=f"an ask has a cost from 1, tokens and a wait from 0, and texts of at most {MOST_CHARACTERS} characters; this has cost {request.cost}",
        )
    wait = -1 if request.wait_ns is None else request.wait_ns
    return (*texts, request.cost, request.prompt_tokens, request.output_tokens, wait)


def seen(row: list[Any]) -> Seen:
    """The value of an answer: a tag, whole numbers and texts."""
    told: list[Any] = [item.decode() if isinstance(item, bytes) else item for item in row]
    match told:
        case ["go", ticket, waited, lease, born]:
            return Seen(answer=Go(ticket=ticket, waited_ns=waited, lease_ns=lease), born_us=born)
        case ["later", ticket, wait]:
            return Seen(answer=Later(ticket=ticket, wait_ns=wait))
        case ["queued", ticket, ahead, recheck]:
            return Seen(answer=Queued(ticket=ticket, ahead=ahead), recheck_ns=recheck)
        case ["refused", why, wait, found, allowed]:
            return Seen(answer=_refused(why, None if wait < 0 else wait, found, allowed))
        case _:
            return Seen(answer=Gone())


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
