# SPDX-License-Identifier: Apache-2.0
"""Accounts of replays."""

from truegreen.core.digest import Sha256
from truegreen.core.replay_session import SCHEMA, Missed, Played, ReplaySession

KEY = Sha256("sha256:" + "1" * 64)


def hit(file, key=KEY, count=1):
    """A recording that answered."""
    return Played(file=file, key=key, count=count)


def miss(template=None, *, digit="2", count=1):
    """A request without a recording."""
    return Missed(code="cassette-missing", key=Sha256("sha256:" + digit * 64), count=count, template=template)


def session(**changes):
    """A whole, green replay of one recording."""
    said = {
        "schema": SCHEMA, "cassettes": "cassettes", "guard": "namespace", "started_at": "2026-11-23T10:00:00Z",
        "ended_at": "2026-11-23T10:01:00Z", "command_exit": 0, "complete": True, "incomplete_because": "",
        "hits": (hit("a.json"),), "misses": (), "unused": (), "upstream_calls": 0, "guard_stops": 0,
        "before": None, "after": None,
    }  # fmt: skip
    return ReplaySession(**(said | changes))
