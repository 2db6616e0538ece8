# SPDX-License-Identifier: Apache-2.0
"""Which recorders' modes are closed."""

import pytest

from truegreen.cassettes.modes import is_closed


@pytest.mark.parametrize("mode", ["replay", "none", "NONE", " lockdown ", "simulate"])
def test_a_closed_mode_reads_committed_bytes(mode):
    """Whatever the tool."""
    assert is_closed(mode)


@pytest.mark.parametrize(
    "mode", ["once", "new_episodes", "all", "any", "rewrite", "record", "live", "spy", "", "unheard-of"]
)
def test_every_other_mode_is_open(mode):
    """Also one that nobody knows."""
    assert not is_closed(mode)
