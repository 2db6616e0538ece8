# SPDX-License-Identifier: Apache-2.0
"""So many of n: decided once the samples without a verdict can no longer change it.

What it decides: whether enough samples passed, whichever way the unknown ones would have gone. What it leaves:
which samples count, to ``walk`` and ``foreign``.

- Unknown samples (lost, invalid, missing) are never taken out of n. PASS needs the passes that were seen; FAIL
  means that the passes are out of reach even if every unknown sample had passed; in between nothing is decided.
"""

from __future__ import annotations

from truegreen.core.errors import UsageProblem
from truegreen.sampling.sequential import Ruling


def quorum(passed: int, unknown: int, *, needed: int) -> Ruling:
    """The ruling on ``passed`` passes and ``unknown`` samples that say nothing, when ``needed`` have to pass."""
    if passed >= needed:
        return Ruling.PASS
    return Ruling.UNDECIDED if passed + unknown >= needed else Ruling.FAIL


def check_quorum(needed: int, n: int) -> None:
    """Refuse a quorum that is always or never reached.

    Raises: UsageProblem ``rule-out-of-range`` unless 1 <= needed <= n.
    """
    if not 1 <= needed <= n:
        raise UsageProblem(
            "rule-out-of-range", f"{needed} of {n} samples are to pass, that is always or never so"
        )
