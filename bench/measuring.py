# SPDX-License-Identifier: Apache-2.0
"""What a row of the benchmark is, how it is measured, and when it is met.

- Ours and the peer are measured in turn within one run on one machine, in alternating order, after one round that
  does not count: only their ratio is judged, never a time of its own.
- The median of the ratios decides; smallest and largest are shown beside it.
- A peer that cannot be measured makes the row ``not measured``, which fails like a row that misses its target.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass


class NotMeasured(Exception):  # noqa: N818 - it is an answer, not a mistake
    """Ours or the peer could not be run; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One promise about speed or size."""

    name: str
    """What is measured, in a few words."""
    peer_name: str
    """What it is compared with."""
    ours: Callable[[], float]
    """Measures ours once, in ``unit``."""
    peer: Callable[[], float]
    """Measures the peer once, or computes a bound, in ``unit``. Raises NotMeasured if it is not there."""
    target: float
    """Largest median of ours ÷ peer that meets the promise."""
    rounds: int
    """Measurements of each that count, at least 3."""
    unit: str = "s"
    """Unit of both."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Smallest, middle and largest of some measurements."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a row came to."""

    row: Row
    ours: Spread | None = None
    peer: Spread | None = None
    ratio: Spread | None = None
    missing: str = ""
    """Why it was not measured."""

    @property
    def is_met(self) -> bool:
        """Whether both were measured and the median ratio is within the target."""
        return self.ratio is not None and self.ratio.median <= self.row.target

    @property
    def word(self) -> str:
        """``met``, ``missed`` or ``not measured``."""
        if self.ratio is None:
            return "not measured"
        return "met" if self.is_met else "missed"


def measured(row: Row) -> Result:
    """Run a row."""
    try:
        pairs = [_pair(row, number) for number in range(row.rounds + 1)][1:]
    except NotMeasured as err:
        return Result(row=row, missing=str(err))
    if any(peer <= 0 for _, peer in pairs):
        return Result(row=row, missing="the peer measured nothing")
    return Result(
        row=row,
        ours=_spread([ours for ours, _ in pairs]),
        peer=_spread([peer for _, peer in pairs]),
        ratio=_spread([ours / peer for ours, peer in pairs]),
    )


def _pair(row: Row, number: int) -> tuple[float, float]:
    if number % 2:
        peer = row.peer()
        return row.ours(), peer
    return row.ours(), row.peer()


def _spread(values: list[float]) -> Spread:
    return Spread(least=min(values), median=statistics.median(values), most=max(values))
