# SPDX-License-Identifier: Apache-2.0
"""What the canary must have met before a command may start.

What it decides: whether the tries of ``outside/canary.py`` came out as the guard promises. What it leaves: making
them, to ``keeper``; ending the run, to the caller.

- The proxy must be reached: a guard that keeps the command from it would turn every test red for no reason.
- A connection by Python to an address of nobody must be refused by the hook, in its own words.
- With an outer layer, neither that address nor a listener outside the guard may be reached without Python, and the
  kernel or the library must say so at once: silence is no refusal.
- In a run that only watches, nothing is refused and only the proxy is asked for.
"""

from __future__ import annotations

import errno

import msgspec

OUTSIDE = "192.0.2.1:9"
"""The address of nobody, as attempts tell it."""
HOOK_SAYS = "truegreen refused"
REFUSALS = {str(errno.ECONNREFUSED), str(errno.EACCES), str(errno.EPERM)}


class Tries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of each try."""

    proxy: str
    """Through Python to the proxy."""
    hook: str
    """Through Python to an address of nobody."""
    listener: str
    """Beside Python to a listener outside the guard."""
    outside: str
    """Beside Python to an address of nobody."""


def failure(printed: bytes, *, guard: str, refuses: bool) -> str | None:
    """Why the command must not start, or None; ``printed`` is what the canary wrote."""
    try:
        tries = msgspec.json.decode(printed, type=Tries)
    except msgspec.MsgspecError:
        return f"the canary did not answer ({printed[:200]!r})"
    if tries.proxy != "connected":
        return f"the proxy cannot be reached from inside the guard ({tries.proxy})"
    if not refuses:
        return None
    if HOOK_SAYS not in tries.hook:
        return f"the audit hook let a connection to {OUTSIDE} pass ({tries.hook})"
    if guard == "audit":
        return None
    if tries.listener not in REFUSALS:
        return f"{guard} let a connection to a listener outside pass ({tries.listener})"
    if tries.outside not in REFUSALS:
        return f"{guard} let a connection to {OUTSIDE} pass ({tries.outside})"
    return None
