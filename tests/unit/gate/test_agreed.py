# SPDX-License-Identifier: Apache-2.0
"""Is what judges the agreed one: asked alike for ledgers and for replays."""

from dataclasses import dataclass

import pytest

from truegreen.core.baseline import Baseline, LaneBaseline
from truegreen.core.decision import Cause
from truegreen.core.digest import Sha256
from truegreen.core.lane_digests import Components, LaneDigests
from truegreen.core.outcome import Word
from truegreen.gate.agreed import RULER_CHECKS, of_lane

ONE, TWO = (Sha256(f"sha256:{digit * 64}") for digit in "12")


def entry(ruler=ONE, *, previous=None, components=None):
    """A lane's entry of a baseline."""
    return LaneBaseline(
        ruler=ruler,
        components=components or {"tests": ruler},
        case_ids=(),
        inputs=(),
        prompts=(),
        endpoint=None,
        models_served=(),
        previous=previous,
        reason="r",
    )


@dataclass
class View:
    """A lane's evidence as far as these checks look."""

    agreed: LaneBaseline | None
    base: LaneBaseline | None
    ruler: Sha256 = ONE

    @property
    def digests(self):
        """Ruler and subject."""
        made = Components(digest=self.ruler, components={"tests": self.ruler})
        return LaneDigests(ruler=made, subject=made)

    def hold(self, code, **facts):
        """A hold."""
        return Cause(code=code, word=Word.HOLD, facts=facts)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (View(entry(), entry()), []),
        (View(entry(), None), []),
        (View(None, None), ["no-baseline"]),
        (View(entry(TWO), entry()), ["ruler-changed", "baseline-mismatch"]),
        (View(entry(TWO, previous=ONE), entry(), TWO), []),
        (View(entry(TWO, previous=TWO), entry(), TWO), ["baseline-mismatch"]),
        (View(entry(components={"tests": TWO}), entry()), ["baseline-mismatch"]),
    ],
)
def test_each_disagreement_holds(view, expected):
    """No baseline, another ruler, other components, another start."""
    assert expected == [cause.code for check in RULER_CHECKS for cause in check(view)]


def test_a_lane_without_an_entry_has_none():
    """A file without the lane is no agreement, and neither is no file."""
    whole = Baseline(schema="truegreen/baseline/v1", lanes={"a": entry()})
    assert (entry(), None, None) == (of_lane(whole, "a"), of_lane(whole, "b"), of_lane(None, "a"))
