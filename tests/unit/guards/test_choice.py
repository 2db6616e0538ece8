# SPDX-License-Identifier: Apache-2.0
"""Which guard a run gets: the strongest that is allowed, the one that was asked for, or an error."""

import itertools

import pytest

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.replay_session import GUARDS
from truegreen.guards import choice
from truegreen.guards.choice import STRONGEST_FIRST, choose


def machine(*allowed):
    """Trials of a machine that allows these guards."""
    return {
        guard: (lambda guard=guard: "" if guard in allowed else f"{guard} is forbidden")
        for guard in STRONGEST_FIRST
    }


def test_the_words_are_those_of_a_session():
    """One vocabulary, strongest first here and weakest first there."""
    assert GUARDS == ("none", *reversed(STRONGEST_FIRST))


@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_the_strongest_that_is_allowed_is_taken(missing):
    """And each stronger one is told with its reason."""
    guard, stronger = choose("auto", refuses=True, tried=machine(*STRONGEST_FIRST[missing:]))
    assert STRONGEST_FIRST[missing] == guard
    assert tuple((name, f"{name} is forbidden") for name in STRONGEST_FIRST[:missing]) == stronger


@pytest.mark.parametrize(("asked", "allowed"), list(itertools.product(STRONGEST_FIRST, STRONGEST_FIRST)))
def test_nothing_stands_in_for_what_was_asked(asked, allowed):
    """One that is asked for is taken or the run ends."""
    if asked == allowed:
        assert (asked, ()) == choose(asked, refuses=True, tried=machine(allowed))
        return
    with pytest.raises(ReachProblem, match=f"the guard {asked} was asked for.*{asked} is forbidden") as told:
        choose(asked, refuses=True, tried=machine(allowed))
    assert "guard-unavailable" == told.value.code


def test_no_guard_at_all_is_an_error():
    """Nothing runs unguarded."""
    with pytest.raises(ReachProblem, match="no guard can be taken"):
        choose("auto", refuses=True, tried=machine())


def test_runs_that_need_the_outside_are_watched():
    """No trial is made for them, and a guard that closes the outside is refused."""
    assert ("audit", ()) == choose("auto", refuses=False, tried={})
    assert ("audit", ()) == choose("audit", refuses=False, tried={})
    with pytest.raises(UsageProblem, match="the guard landlock closes the outside") as told:
        choose("landlock", refuses=False, tried={})
    assert "guard-needs-replay" == told.value.code


def test_a_trial_changes_nothing_here(refused_here):
    """It is made in a process of its own; the audit hook needs none."""
    assert set(STRONGEST_FIRST) == set(refused_here)
    assert "" == refused_here["audit"]


def test_a_trial_that_is_refused_says_why():
    """With the error's own words; one that dies says so."""

    def forbidden():
        raise PermissionError(1, "not here")

    def dies():
        raise RuntimeError

    assert "[Errno 1] not here" == choice._in_a_child(forbidden)
    assert "the trial died" == choice._in_a_child(dies)
    assert "" == choice._in_a_child(lambda: None)


def test_other_systems_have_no_outer_layer(monkeypatch):
    """Not an error: the audit hook is left."""
    monkeypatch.setattr(choice.kernel, "is_linux", lambda: False)
    assert "only Linux has it" == choice.trials()["namespace"]()
