# SPDX-License-Identifier: Apache-2.0
"""How full the bucket of tokens is when reservations turn out smaller or larger than the use.

What it decides: the theoretical arrival time of the tokens. What it leaves: who asks, to ``ledger``.

Giving ``reserved - used`` back to a bucket that has refilled meanwhile credits tokens twice: in truth it would have
been full, and the refill lost. So each place keeps the arrival time as if the bucket had been full just after its own
reservation; the true one is the largest of them (the level of a bucket with a cap is the least, over all moments at
which it may last have been full, of the cap plus refill minus what was spent since; Le Boudec and Thiran, "Network
Calculus", 2001, section 1.2). A settlement changes exactly the moments before its own reservation.
"""

from __future__ import annotations

from msgspec.structs import replace

from truegreen.limiter.state import Ledger, Place


def arrival(ledger: Ledger) -> int:
    """Theoretical arrival time of the tokens, nanoseconds."""
    latest = ledger.token_ns
    for place in ledger.places:
        latest = max(latest, place.token_ns)
    return latest


def reserved(ledger: Ledger, place: Place, token_ns: int) -> Ledger:
    """The ledger with the place, which has its slot, at the end of its places."""
    taken = place.tokens * token_ns
    *before, last = (ledger.token_ns, *(it.token_ns for it in ledger.places))
    moved = [it + taken for it in (*before, max(last, place.slot_ns))]
    places = [replace(it, token_ns=at) for it, at in zip(ledger.places, moved[1:], strict=True)]
    return replace(ledger, token_ns=moved[0], places=(*places, replace(place, token_ns=place.slot_ns)))


def settled(ledger: Ledger, index: int, used: int | None, token_ns: int) -> Ledger:
    """The ledger without the place at ``index``, which used so many tokens; None for all that it had reserved."""
    place = ledger.places[index]
    over = 0 if used is None else (used - place.tokens) * token_ns
    starts = [ledger.token_ns, *(it.token_ns for it in ledger.places)]
    starts[: index + 1] = [it + over for it in starts[: index + 1]]
    starts[index : index + 2] = [max(starts[index : index + 2])]
    others = ledger.places[:index] + ledger.places[index + 1 :]
    places = tuple(
        it if it.token_ns == at else replace(it, token_ns=at)
        for it, at in zip(others, starts[1:], strict=True)
    )
    return replace(ledger, token_ns=starts[0], places=places)
