# SPDX-License-Identifier: Apache-2.0
"""Recordings opened to be played or written, and who may write."""

import time

import pytest

from factories.cassettes import NOW, RULES, answered, asked, said
from truegreen.core.errors import UsageProblem
from truegreen.wiring.cassettes import SINCE, is_ci, recording, replaying


class Stopped:
    """A clock that stands still."""

    def now(self):
        """The same instant."""
        return NOW


@pytest.mark.parametrize("value", ["true", "1", "yes", "TRUE", "anything"])
def test_recording_refuses_in_ci(tmp_path, value):
    """Evidence of a check run comes from committed bytes."""
    with pytest.raises(UsageProblem) as caught:
        recording(tmp_path, RULES, Stopped(), {"CI": value})
    assert "recording-in-ci" == caught.value.code


@pytest.mark.parametrize("environment", [{}, {"CI": ""}, {"CI": "false"}, {"CI": "0"}])
def test_what_is_recorded_is_played(tmp_path, environment):
    """On a developer's machine."""
    assert not is_ci(environment)
    recording(tmp_path, RULES, Stopped(), environment).keep(asked(), answered("4"))
    assert "4" == said(replaying(tmp_path, RULES).play(asked()))


def test_a_recording_right_after_another_replaces_it(tmp_path):
    """Two openings are two recordings, however soon."""
    for text in ("a", "b"):
        recording(tmp_path, RULES, Stopped(), {}).keep(asked(), answered(text))
        time.sleep(0.02)  # a tick of the clock that stamps files
    assert "b" == said(replaying(tmp_path, RULES).play(asked()))


def test_processes_of_one_recording_share_its_beginning(tmp_path):
    """The variable says when it began; what is no time is refused."""
    earlier = {SINCE: "2026-11-29T20:00:00Z"}
    recording(tmp_path, RULES, Stopped(), {}).keep(asked(), answered("a"))
    recording(tmp_path, RULES, Stopped(), earlier).keep(asked(), answered("b"))
    store = replaying(tmp_path, RULES)
    assert ["a", "b"] == [said(store.play(asked())) for _ in range(2)]
    with pytest.raises(UsageProblem) as caught:
        recording(tmp_path, RULES, Stopped(), {SINCE: "noon"})
    assert "bad-recording-since" == caught.value.code
