# SPDX-License-Identifier: Apache-2.0
"""So many of n, with samples that say nothing."""

from __future__ import annotations

from itertools import product

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.sampling.quorum import check_quorum, quorum
from truegreen.sampling.sequential import Ruling


@pytest.mark.parametrize("needed", range(1, 6))
def test_a_quorum_is_decided_when_no_completion_changes_it(needed):
    """All outcomes of five samples: PASS or FAIL exactly when every way of filling in the unknown ones agrees."""
    for row in product("PFU", repeat=5):
        passed, unknown = row.count("P"), row.count("U")
        reached = {passed + extra >= needed for extra in range(unknown + 1)}
        expected = (
            Ruling.UNDECIDED if len(reached) == 2 else Ruling.PASS if reached == {True} else Ruling.FAIL
        )
        assert expected is quorum(passed, unknown, needed=needed)


@pytest.mark.parametrize(("needed", "n"), [(0, 5), (6, 5), (-1, 5), (1, 0)])
def test_a_quorum_that_decides_nothing_is_refused(needed, n):
    """None of five, six of five, one of none."""
    with pytest.raises(UsageProblem):
        check_quorum(needed, n)
    check_quorum(5, 5)
