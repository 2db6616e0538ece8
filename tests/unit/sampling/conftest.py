# SPDX-License-Identifier: Apache-2.0
"""An oracle for stopping rules: the same rule written a second time, in logarithms, walked exactly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from math import log
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@dataclass
class Walked:
    """What happens to one case whose samples pass with probability p."""

    passed: float = 0.0
    failed: float = 0.0
    undecided: float = 0.0
    samples: float = 0.0
    fail_stops: dict[tuple[int, int], float] = field(default_factory=dict)


def walk(  # noqa: PLR0913 - a rule has these numbers
    *, good: float, bad: float, pass_ratio: float, fail_ratio: float, cap: int, p: float
) -> Walked:
    """Dynamic programming over (outcomes, passes): stop at ``pass_ratio`` or above, ``fail_ratio`` or below."""
    up, down = log(good / bad), log((1 - good) / (1 - bad))
    high, low = log(pass_ratio) - 1e-9, log(fail_ratio) + 1e-9
    result, still_open = Walked(), {0: 1.0}
    for outcomes in range(1, cap + 1):
        result.samples += sum(still_open.values())
        following: dict[int, float] = {}
        for passes, weight in still_open.items():
            following[passes + 1] = following.get(passes + 1, 0.0) + weight * p
            following[passes] = following.get(passes, 0.0) + weight * (1 - p)
        still_open = {}
        for passes, weight in following.items():
            ratio = passes * up + (outcomes - passes) * down
            if ratio >= high:
                result.passed += weight
            elif ratio <= low:
                result.failed += weight
                result.fail_stops[outcomes, passes] = weight
            else:
                still_open[passes] = weight
    result.undecided = sum(still_open.values())
    return result


@pytest.fixture(scope="session")
def walk_exactly() -> Callable[..., Walked]:
    """The oracle."""
    return walk
