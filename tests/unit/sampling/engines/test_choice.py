# SPDX-License-Identifier: Apache-2.0
"""Which engine is taken, and that one that was asked for is never replaced."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.sampling.engines.choice import Choice, choose
from truegreen.sampling.engines.messages import Collected, Found


def _found(*kinds, threads=(), hook=False):
    return Collected(
        cases=tuple(Found(id=f"{place}", nodeid=f"{place}", kind=kind) for place, kind in enumerate(kinds)),
        unmarked=0,
        deselected=0,
        problems=(),
        notices=(),
        threads=threads,
        answers_by_hook=hook,
    )


@pytest.mark.parametrize(
    ("kinds", "hook", "can_fork", "expected"),
    [
        (("yaml",), False, True, "async"),
        (("yaml",), False, False, "async"),
        (("yaml",), True, True, "fork"),
        (("yaml",), True, False, "xdist"),
        (("python",), False, True, "fork"),
        (("python",), False, False, "xdist"),
        (("python", "yaml"), False, True, "fork+async"),
        (("python", "yaml"), True, True, "fork"),
        (("python", "yaml"), False, False, "xdist"),
    ],
)
def test_kinds_and_platform_choose(kinds, hook, can_fork, expected):
    """Case files ask at once, tests fork, and where nothing forks xdist runs all."""
    assert expected == choose("auto", _found(*kinds, hook=hook), can_fork=can_fork).engine


def test_threads_after_collection_send_tests_to_xdist_and_it_says_why():
    """A fork would lose them."""
    chosen = choose("auto", _found("python", threads=("poller",)), can_fork=True)
    assert Choice(engine="xdist", why="collection left threads that a fork would lose: poller") == chosen


@pytest.mark.parametrize(
    ("asked", "kinds", "threads", "can_fork"),
    [
        ("async", ("python", "yaml"), (), True),
        ("fork", ("python",), (), False),
        ("fork", ("python",), ("poller",), True),
    ],
)
def test_an_engine_that_cannot_run_the_suite_is_refused(asked, kinds, threads, can_fork):
    """Nobody gets another engine than the one that was asked for."""
    with pytest.raises(UsageProblem) as caught:
        choose(asked, _found(*kinds, threads=threads), can_fork=can_fork)
    assert "engine-unfit" == caught.value.code


@pytest.mark.parametrize("asked", ["async", "xdist", "serial", "fork"])
def test_an_engine_that_fits_is_taken(asked):
    """Each engine runs case files."""
    assert asked == choose(asked, _found("yaml"), can_fork=True).engine
