# SPDX-License-Identifier: Apache-2.0
"""Recordings opened to be played or written, and who may write."""

import time

import pytest

from factories.cassettes import NOW, RULES, answered, asked, said
from truegreen.core.errors import UsageProblem
from truegreen.wiring.cassettes import SINCE, is_ci, recording, replaying, rules_in


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


def test_rules_beside_the_recordings_hold_for_both_sides(tmp_path):
    """Recorded without a volatile value, played without it; a file that cannot be read stops both."""
    text = 'schema = "truegreen/cassette-rules/v1"\nvolatile = ["body.at"]\n'
    (tmp_path / "rules.toml").write_text(text, encoding="utf-8")
    recording(tmp_path, RULES, Stopped(), {}).keep(asked({"at": "10:00"}), answered("4"))
    assert "4" == said(replaying(tmp_path, RULES).play(asked({"at": "10:01"})))
    assert RULES == rules_in(tmp_path / "none", RULES) == rules_in(None, RULES)
    (tmp_path / "rules.toml").write_text(text + "more = 1\n", encoding="utf-8")
    for opening in (lambda: replaying(tmp_path, RULES), lambda: recording(tmp_path, RULES, Stopped(), {})):
        with pytest.raises(UsageProblem) as caught:
            opening()
        assert "bad-cassette-rules" == caught.value.code
