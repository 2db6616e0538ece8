# SPDX-License-Identifier: Apache-2.0
"""What makes a session red."""

import pytest

from simulators.recordings import MemoryRecordings
from truegreen.core.errors import EvidenceProblem
from truegreen.core.recording import Answered, Asked
from truegreen.proxy import session as module
from truegreen.proxy.modes import Mode
from truegreen.proxy.session import Session

ASKED = Asked(method="POST", path="/x", body=b"{}")
ANSWERED = Answered(status=200)


def test_hits_are_green_and_misses_are_red():
    """The miss stays, whatever became of it."""
    recordings = MemoryRecordings()
    session = Session(Mode.REPLAY, recordings)
    recordings.keep(ASKED, ANSWERED)
    assert ANSWERED is session.play(ASKED)
    assert (1, False) == (session.tally().hits, session.tally().is_red)
    session.play(ASKED)
    assert (["cassette-exhausted"], True) == (
        [miss.code for miss in session.tally().misses],
        session.tally().is_red,
    )


def test_the_canarys_miss_is_none():
    """The proxy's own test request is not counted."""
    session = Session(Mode.REPLAY, MemoryRecordings())
    session.play(ASKED, is_canary=True)
    assert ((), False) == (session.tally().misses, session.tally().is_red)


def test_what_cannot_be_kept_is_red_and_what_is_left_out_is_not():
    """An answer that is not worth keeping is told, not punished."""
    session = Session(Mode.RECORD, MemoryRecordings(refuses=EvidenceProblem("not-clean", "a secret")))
    session.leave_out("status-500")
    assert ((("status-500", 1),), False) == (session.tally().not_kept, session.tally().is_red)
    session.keep(ASKED, ANSWERED)
    assert (0, ["not-clean"], True) == (
        session.tally().kept,
        [one.code for one in session.tally().troubles],
        session.tally().is_red,
    )


def test_a_session_without_recordings_neither_plays_nor_keeps():
    """The proxy refuses such a mode at its start; this is the second lock."""
    session = Session(Mode.LIVE, None)
    with pytest.raises(AssertionError):
        session.play(ASKED)
    with pytest.raises(AssertionError):
        session.keep(ASKED, ANSWERED)


def test_a_session_of_weeks_is_bounded_and_counts_on(monkeypatch):
    """The first misses and troubles stay; every miss is counted."""
    monkeypatch.setattr(module, "MOST_KEPT", 2)
    session = Session(Mode.REPLAY, MemoryRecordings())
    for number in range(3):
        session.play(Asked(method="POST", path=f"/{number}"))
        session.trouble(EvidenceProblem("x", str(number)))
    tally = session.tally()
    assert (3, ["/0", "/1"]) == (tally.missed, [asked.path for asked, _ in session.missed()])
    assert ["0", "1"] == [one.message for one in tally.troubles]


@pytest.mark.parametrize(("mode", "red"), [(Mode.REPLAY, True), (Mode.RECORD, False), (Mode.LIVE, False)])
def test_what_was_no_request_is_red_in_a_replay(mode, red):
    """A program that sent it and swallowed the answer was served by no recording."""
    session = Session(mode, MemoryRecordings())
    session.add("rejected")
    assert (red, red) == (session.tally().is_red, session.tally().has_failed)
