# SPDX-License-Identifier: Apache-2.0
"""What the proxy does with a request, and how far it goes.

What it decides: the modes, how recorded chunks are played, limits. What it leaves: doing it, to ``call`` and
``replay``; whether a run may record at all, to the doors, which know the environment.

- ``live`` forwards; ``record`` forwards and keeps; ``replay`` plays and never opens a connection.
- No mode falls back to another.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from truegreen.core.errors import UsageProblem
from truegreen.core.ports import RecordingPort
from truegreen.proxy.listener import LOOPBACK
from truegreen.proxy.tunnel import Limits


class Mode(Enum):
    """What happens to a request."""

    LIVE = "live"
    RECORD = "record"
    REPLAY = "replay"


class Pace(Enum):
    """How a recorded answer is played."""

    AT_ONCE = "at-once"
    """In its recorded pieces, without pauses."""
    RECORDED = "recorded"
    """In its recorded pieces, with the pauses between them."""
    ADVERSARIAL = "adversarial"
    """Cut where readers break: inside a character, inside ``data:``, between two line ends."""


def sdk_retry(headers: Mapping[str, str]) -> str:
    """``sdk`` if an SDK says that this request is its own repetition; empty otherwise."""
    return "sdk" if headers.get("x-stainless-retry-count", "0").strip() not in ("0", "") else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What one proxy is told beside its mode."""

    host: str = LOOPBACK
    """Address to listen on."""
    port: int = 0
    """Port to listen on; 0 takes a free one."""
    pace: Pace = Pace.AT_ONCE
    """How recorded answers are played."""
    keeps_errors: bool = False
    """Whether ``record`` also keeps whole answers that are not 2xx."""
    limits: Limits = field(default_factory=Limits)
    """Time limits towards the upstream, per attempt."""
    request_s: float = 60.0
    """Longest time from a request's first byte to its last, seconds."""
    idle_s: float = 300.0
    """Longest time between two requests of a connection, seconds."""
    request_bytes: int = 32 << 20
    """Longest request body."""
    kept_bytes: int = 64 << 20
    """Longest answer that ``record`` keeps."""
    tenant: str = "default"
    """Whose calls count together at the limiter."""
    resource: str = "default"
    """What is called, for the limiter."""
    holder: str = ""
    """Who calls, for people who look at the limiter."""
    layer_of: Callable[[Mapping[str, str]], str] = sdk_retry
    """Names the other retry layer that a request's headers (by lower-case name) show; empty for none."""
    at_end: Callable[[], Awaitable[None]] | None = None
    """Awaited in the proxy's own loop once nothing is under way any more."""
    forwards_sample: bool = False
    """Whether ``x-truegreen-sample`` goes to the upstream, which only a test endpoint understands."""


def check_recordings(mode: Mode, recordings: RecordingPort | None) -> None:
    """Refuse recordings that do nothing, and modes that have none.

    Raises: UsageProblem ``recordings-not-used`` or ``recordings-needed``.
    """
    if mode is Mode.LIVE and recordings is not None:
        raise UsageProblem(
            "recordings-not-used", "mode live neither reads nor writes recordings, but some are given"
        )
    if mode is not Mode.LIVE and recordings is None:
        raise UsageProblem(
            "recordings-needed",
            f"mode {mode.value} needs a place of recordings and got none",
            hint="give --cassettes DIR",
        )
