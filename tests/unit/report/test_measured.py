# SPDX-License-Identifier: Apache-2.0
"""What passing cases prove and what they took."""

import pytest

from factories import decisions as made
from truegreen.core.outcome import Outcome, Word
from truegreen.report.measured import admitted, duration, measured, proved


@pytest.mark.parametrize(
    ("lows", "words"),
    [
        ([], ""),
        ([0.56], "better than half the time"),
        ([0.5, 0.9], "each better than half the time"),
        ([0.49, 0.9], "each more than 49 % of the time"),
        ([0.8, 0.9], "each more than 80 % of the time"),
        ([0.0, 0.9], ""),
        ([None, 0.9], ""),
    ],
)
def test_what_the_cases_prove_is_the_weakest_of_their_bounds(lows, words):
    """Three of three is not "better than half the time", and no bound is no claim."""
    assert words == proved([made.case(f"t{n}", bound_low=low) for n, low in enumerate(lows)])


@pytest.mark.parametrize(
    ("wall_ms", "told"),
    [(0, "0.0 s"), (999, "1.0 s"), (1_000, "1 s"), (119_400, "119 s"), (120_000, "2 min")],
)
def test_durations_read_as_people_say_them(wall_ms, told):
    """Tenths below a second, minutes from two on."""
    assert told == duration(wall_ms)


def test_an_excused_case_does_not_count_as_passing():
    """It merges, and it is told apart."""
    told, _ = admitted(made.flaky_and_excused())
    assert "11 of 12 cases pass (each better than half the time), 1 excused by quarantine" == told


def test_only_required_lanes_are_measured():
    """An advisory lane adds neither cases nor calls nor time."""
    lanes = (
        made.lane(made.good(2), Outcome.HOLDS, "holds", calls=12, wall_ms=4_600, tokens=7),
        made.lane((made.broken(),), Outcome.FAILS, "case-broken", lane="extra", role="advisory"),
    )
    assert {
        "passed": 2,
        "cases": 2,
        "calls": 12,
        "wall_s": 5,
        "tokens": 7,
        "head": made.HEAD,
    } == measured(made.decision(Word.ADMIT, (), lanes))
