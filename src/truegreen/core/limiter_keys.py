# SPDX-License-Identifier: Apache-2.0
"""The keys of the policy's table ``[limiter]``: shape, default, meaning.

What it decides: which limits and places to count a policy may name. What it leaves: joining the other keys, to
``policy_keys``; what limits mean, to ``limiter``.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from truegreen.core import policy
from truegreen.core.rates import RATE
from truegreen.core.shapes import LINE, Above, OneOf, Rule, Shape, Text, Whole


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One key; fields as those of ``policy_keys.Key``."""

    name: str
    shape: Shape
    meaning: str
    default: Any = None
    is_required: bool = False
    default_words: str = ""


_NAME = Text(meaning="a name", max_characters=100, rules=(LINE,))
_RATE = Text(
    meaning="a rate, such as 12/min",
    max_characters=11,
    rules=(Rule(pattern=RATE, asked="a whole number from 1 and /s, /min or /h, such as 12/min"),),
)
_ADDRESS = Text(
    meaning="the address of a count",
    max_characters=1024,
    rules=(
        LINE,
        Rule(
            pattern=r"file:/[^?#]*|(?:https?|rediss?|valkeys?)://[^/@?#]+(?:/[^@?#]*)?",
            asked="file:/FOLDER, https://HOST:PORT or redis://HOST:PORT, without a name or a password in it",
        ),
    ),
)


ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="owner",
        shape=_NAME,
        default=None,
        meaning=(
            "Who may change the limits and is asked when they bind. A limit that nobody owns is raised on the first red "
            "build."
        ),
        is_required=True,
    ),
    Row(
        name="host",
        shape=_NAME,
        default=None,
        meaning=(
            "The machine that the count belongs to: its host name. Another machine refuses to count for itself, since two "
            "counts would allow the limit twice. When the count moves, change this; the new machine begins a count of its own."
        ),
        default_words="any machine",
    ),
    Row(
        name="backend",
        shape=_ADDRESS,
        default="file:/var/tmp/truegreen-limiter",
        meaning=(
            "Where is counted. `file:/FOLDER`: all processes of one machine. `https://HOST:PORT` (`http` on loopback): "
            "`truegreen limiter serve`. `redis://HOST:PORT`: a Redis or Valkey server."
        ),
    ),
    Row(
        name="capacity",
        shape=Whole(least=1, most=10_000),
        default=None,
        meaning="Most calls in flight at once.",
        default_words="no limit",
    ),
    Row(
        name="rate",
        shape=_RATE,
        default=None,
        meaning="Most calls in a time: a whole number and `/s`, `/min` or `/h`.",
        default_words="no limit",
    ),
    Row(
        name="burst",
        shape=Whole(least=1, most=1_000_000),
        default=1,
        meaning="Calls that may leave at once after a quiet time. With B, a window sees up to B - 1 calls more than the rate.",
    ),
    Row(
        name="start",
        shape=OneOf(values=policy.STARTS),
        default="full",
        meaning=(
            "How a count begins that nobody has used yet: with its whole burst, or with none of it. A machine that forgets "
            "its files between jobs begins anew every time: `empty`."
        ),
    ),
    Row(
        name="contract",
        shape=_RATE,
        default=None,
        meaning=(
            "What the endpoint allows in any window of that length. `rate` and `burst` that would let more through are "
            "refused as `bucket-breaks-contract`."
        ),
        default_words="not checked",
    ),
    Row(
        name="tokens_per_minute",
        shape=Whole(least=1, most=1_000_000_000),
        default=None,
        meaning="Most tokens a minute: the estimate of the prompt and the largest answer are reserved, usage settles them.",
        default_words="no limit",
    ),
    Row(
        name="token_burst",
        shape=Whole(least=1, most=1_000_000_000),
        default=None,
        meaning=(
            "Tokens that may be spent at once after a quiet time. No prompt may be larger; a larger cap of the answer is cut "
            "to it."
        ),
        default_words="a minute's tokens",
    ),
    Row(
        name="lease_s",
        shape=Above(most=86_400, unit="seconds"),
        default=60,
        meaning="How long a place in flight is kept without a sign of life: so soon is it free after its holder died.",
    ),
    Row(
        name="wait_s",
        shape=Above(most=86_400, unit="seconds"),
        default=90,
        meaning="Longest wait for leave. A wait that cannot end in time is refused before it begins.",
    ),
    Row(
        name="on_unreachable",
        shape=OneOf(values=policy.ON_UNREACHABLE),
        default="closed",
        meaning=(
            "What happens when the count cannot be reached. `closed`: no leave. `divide`: each caller goes on with its share "
            "of the limits (`shares`), and says so."
        ),
    ),
    Row(
        name="shares",
        shape=Whole(least=1, most=10_000),
        default=1,
        meaning="Into how many shares the limits are divided under `divide`: at least as many as there are callers at once.",
    ),
)
"""Every key of ``[limiter]``, in the order of the documentation."""
