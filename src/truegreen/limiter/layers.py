# SPDX-License-Identifier: Apache-2.0
"""Retry layers that stand on one another, found and named.

What it decides: whether a request shows a layer beside ours, which one, and what layers multiply to. What it leaves:
refusing the request, to the transport; the summary, to ``measure``.

- A request whose ``x-stainless-retry-count`` is above 0 is an SDK's own retry; its ``user-agent`` names the SDK.
- A call whose first attempt sends the same body as an attempt that ended badly less than a window ago is a retry that
  nobody announced: a loop around the client. The same body after an answer is another sample, no retry.
- Layers multiply: four attempts of a harness around an SDK that retries twice are twelve calls. A client inside a
  layer of ours is built with ``max_retries=0``; every other value is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from truegreen.core.call_log import CallEntry
from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted

WINDOW_S: Final = 120
"""Seconds after a bad end within which the same body is taken for a retry; no SDK waits longer."""
UNNAMED: Final = "loop-around-the-client"
"""The layer that repeats bodies without saying so."""

_COUNT: Final = re.compile(r"[0-9]{1,6}")
_SDKS: Final = (
    ("anthropic", re.compile(r"\b(?:async)?anthropic", re.IGNORECASE)),
    ("openai", re.compile(r"\b(?:async)?(?:azure)?openai", re.IGNORECASE)),
)


class Stacked(msgspec.Struct, frozen=True, kw_only=True):
    """One layer that was seen."""

    layer: str
    """Its name."""
    attempts: int
    """Attempts on the wire that it made beside ours."""
    calls: int
    """Calls that it did this to."""


def layer_of(headers: Mapping[str, str]) -> str:
    """The other retry layer that a request's headers show, such as ``openai-sdk``; empty for none.

    ``headers`` finds names in any letter case.
    """
    count = headers.get("x-stainless-retry-count", "").strip()
    if not _COUNT.fullmatch(count) or not int(count):
        return ""
    agent = headers.get("user-agent", "")
    name = next((name for name, words in _SDKS if words.search(agent)), "a-generated")
    return f"{name}-sdk"


def stacked(entries: Iterable[CallEntry], *, window_s: float = WINDOW_S) -> tuple[Stacked, ...]:
    """Every layer beside ours that the attempts of a log show, most attempts first."""
    attempts: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    bad: dict[tuple[str, str], tuple[str, int]] = {}
    for entry in entries:
        layer = entry.layer or _unnamed(entry, bad, window_s)
        if layer:
            attempts[layer] = attempts.get(layer, 0) + 1
            calls.setdefault(layer, set()).add(entry.request or entry.call)
        if entry.request and entry.ended_us is not None:
            if entry.is_ok:
                bad.pop((entry.run, entry.request), None)
            else:
                bad[entry.run, entry.request] = (entry.call, entry.ended_us)
    found = (Stacked(layer=name, attempts=attempts[name], calls=len(calls[name])) for name in attempts)
    return tuple(sorted(found, key=lambda one: (-one.attempts, one.layer)))


def calls_on_the_wire(harness_attempts: int, sdk_max_retries: int) -> int:
    """What a harness and the SDK inside it multiply to, where every attempt fails."""
    return harness_attempts * (1 + sdk_max_retries)


def check_max_retries(value: object, *, client: str = "the client") -> None:
    """Refuse a client that retries by itself.

    Raises: UsageProblem ``sdk-retries-enabled`` for everything but 0.
    """
    if type(value) is not int or value != 0:
        raise UsageProblem(
            "sdk-retries-enabled",
            f"{client} has max_retries={quoted(repr(value))[1:-1]}, asked is 0: its retries would multiply with ours",
            hint="build the client with max_retries=0",
        )


def _unnamed(entry: CallEntry, bad: Mapping[tuple[str, str], tuple[str, int]], window_s: float) -> str:
    earlier = bad.get((entry.run, entry.request))
    if entry.attempt != 1 or not entry.request or earlier is None or entry.ended_us is None:
        return ""
    call, ended_us = earlier
    began_us = entry.ended_us - round((entry.took_s + entry.waited_s) * 1_000_000)
    return UNNAMED if call != entry.call and 0 <= began_us - ended_us <= window_s * 1_000_000 else ""
