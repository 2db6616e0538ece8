# SPDX-License-Identifier: Apache-2.0
"""Is what judges the agreed one? Checks of the committed baseline that every kind of evidence of a lane shares.

What it decides: holds about the ruler and its announcement. What it leaves: which cases there are, to the kind.

- A changed ruler needs the committed baseline of the tested tree. It must say what the gate recomputes and start
  from the base's: its diff is the announcement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from truegreen.core.baseline import Baseline, LaneBaseline
from truegreen.core.decision import Cause
from truegreen.core.lane_digests import LaneDigests, moved


class Judging(Protocol):
    """A lane's evidence with what it is compared to."""

    @property
    def digests(self) -> LaneDigests:
        """Ruler and subject of the tested tree."""
        ...

    @property
    def agreed(self) -> LaneBaseline | None:
        """The lane's baseline in the tested tree."""
        ...

    @property
    def base(self) -> LaneBaseline | None:
        """The lane's baseline in the base that the tested tree stands on."""
        ...

    def hold(self, code: str, **facts: str | int) -> Cause:
        """A hold about the lane."""
        ...


def of_lane(baseline: Baseline | None, lane: str) -> LaneBaseline | None:
    """One lane's entry of a baseline."""
    return baseline.lanes.get(lane) if baseline else None


def baseline_is_there(view: Judging) -> Iterator[Cause]:
    """The tested tree says which ruler is agreed on."""
    if view.agreed is None:
        yield view.hold("no-baseline")


def ruler_is_agreed(view: Judging) -> Iterator[Cause]:
    """The baseline names the ruler that judged."""
    if view.agreed is None:
        return
    ruler = view.digests.ruler
    if view.agreed.ruler != ruler.digest:
        names = moved(view.agreed.components, ruler.components)
        yield view.hold("ruler-changed", moved=", ".join(names) or "its digest")
    elif view.agreed.components != ruler.components:
        yield view.hold("baseline-mismatch", said="its components", found="others")


def baseline_starts_from_base(view: Judging) -> Iterator[Cause]:
    """A new baseline says which one it replaces."""
    agreed, base = view.agreed, view.base
    if agreed is None or base is None or agreed.ruler == base.ruler:
        return
    if agreed.previous != base.ruler:
        yield view.hold("baseline-mismatch", said=str(agreed.previous), found=base.ruler)


RULER_CHECKS: tuple[Callable[[Judging], Iterator[Cause]], ...] = (
    baseline_is_there,
    ruler_is_agreed,
    baseline_starts_from_base,
)
"""Every check of the agreement, in the order in which they are told."""
