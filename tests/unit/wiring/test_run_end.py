# SPDX-License-Identifier: Apache-2.0
"""The end of a command under a proxy: what makes it red, and how it is told."""

import pytest

from truegreen.core.recording import Miss
from truegreen.core.replay_session import SCHEMA, ReplaySession
from truegreen.guards.attempts import Attempt
from truegreen.guards.guarded import Ended
from truegreen.proxy.modes import Mode
from truegreen.proxy.session import Session, Trouble
from truegreen.wiring.run_end import End, is_red, lines

ATTEMPT = Attempt(layer="packet", what="connect", address="1.2.3.4:80")
MISS = Miss(code="cassette-missing", message="no recording answers POST /v1/x", key="sha256:" + "0" * 64)
ACCOUNT = ReplaySession(
    schema=SCHEMA, cassettes="cassettes", guard="namespace",
    started_at="2026-11-29T17:00:00Z", ended_at="2026-11-29T17:00:00Z",
    command_exit=0, complete=False, incomplete_because="x", hits=(), misses=(), unused=("a.json",),
    upstream_calls=0, guard_stops=0, before="h1:x", after="h1:x",
)  # fmt: skip


def tally(mode, **counts):
    """Counts of a proxy, all zero but these."""
    import msgspec

    return msgspec.structs.replace(Session(mode, None).tally(), **counts)


def end(mode=Mode.REPLAY, *, attempts=(), lost=0, left=0, stronger=(), **counts):
    """An end."""
    return End(
        mode=mode,
        guard="namespace" if mode is Mode.REPLAY else "audit",
        stronger=stronger,
        ended=Ended(code=0, attempts=attempts, lost=lost, left=left),
        tallies=(tally(mode), tally(mode, **counts)),
        session=ACCOUNT if mode is Mode.REPLAY else None,
    )


@pytest.mark.parametrize(
    ("mode", "what", "red"),
    [
        (Mode.REPLAY, {}, False),
        (Mode.REPLAY, {"hits": 9}, False),
        (Mode.REPLAY, {"misses": (MISS,)}, True),
        (Mode.REPLAY, {"attempts": (ATTEMPT,)}, True),
        (Mode.REPLAY, {"lost": 1}, True),
        (Mode.REPLAY, {"left": 3}, False),
        (Mode.REPLAY, {"troubles": (Trouble(code="x", message="y"),)}, True),
        (Mode.RECORD, {"attempts": (ATTEMPT,)}, False),
        (Mode.RECORD, {"troubles": (Trouble(code="x", message="y"),)}, True),
        (Mode.LIVE, {"attempts": (ATTEMPT,)}, False),
    ],
)
def test_what_makes_a_run_red(mode, what, red):
    """Whatever the command returned; recording and live calls may go elsewhere too."""
    assert red == is_red(end(mode, **what))


def test_a_replay_is_told_in_one_line_and_each_fault_in_another():
    """With the guard that it had and the ones that it could not have."""
    told = lines(
        end(
            hits=4, misses=(MISS,), attempts=(ATTEMPT, ATTEMPT), lost=2, left=1,
            troubles=(Trouble(code="x-y", message="it broke"),), stronger=(("namespace", "not here"),),
        )
    )  # fmt: skip
    assert [
        "truegreen proxy: replay, guard namespace: 4 hits, 1 misses, 1 recordings unused, 2 attempts past the proxy refused",
        "  miss: no recording answers POST /v1/x [cassette-missing]",
        "  refused: connect 1.2.3.4:80 [packet] (2 times)",
        "  trouble: it broke [x-y]",
        "  could not tell: 2 packets were lost, each may have been an attempt",
        "  ended: 1 processes that the command left behind",
        "  guard namespace is not allowed here: not here",
    ] == told


def test_recording_says_what_was_kept_and_what_was_not():
    """And who went past the proxy, for that is missing in a replay."""
    told = lines(end(Mode.RECORD, requests=3, kept=2, not_kept=(("status-500", 1),), attempts=(ATTEMPT,)))
    assert [
        "truegreen proxy: record, guard audit: 3 requests, 2 answers kept, 1 connections past the proxy seen",
        "  not recorded: connect 1.2.3.4:80 [packet]",
        "  not kept: 1 answers, status-500",
    ] == told


def test_a_thousand_misses_are_not_a_thousand_lines():
    """The rest is counted."""
    told = lines(end(misses=(MISS,) * 1000))
    assert (12, "  and 990 more") == (len(told), told[-1])


def test_an_empty_folder_is_told():
    """A name that is spelt wrongly looks like nothing to miss."""
    import msgspec

    empty = msgspec.structs.replace(ACCOUNT, before=None, unused=())
    told = lines(msgspec.structs.replace(end(), session=empty))
    assert "  there are no recordings in cassettes: every request is a miss" == told[1]
