# SPDX-License-Identifier: Apache-2.0
"""File systems that can hold a ledger."""

from pathlib import Path

import pytest

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.limiter.file_system import NETWORK, ask_local


@pytest.mark.parametrize("magic", sorted(NETWORK))
def test_every_network_file_system_is_refused_by_name(tmp_path, magic):
    """Also where the kernel's number comes back negative."""
    for told in (magic, magic - (1 << 32) if magic >> 31 else magic):
        with pytest.raises(UsageProblem) as found:
            ask_local(tmp_path, told)
        assert "limiter-network-disk" == found.value.code


@pytest.mark.parametrize("magic", [0xEF53, 0x01021994, 0x9123683E, 0x58465342])
def test_disks_of_this_machine_pass(tmp_path, magic):
    """ext4, tmpfs, btrfs, xfs."""
    ask_local(tmp_path, magic)


def test_the_system_is_asked(tmp_path):
    """A folder of the tests is on a disk of this machine; one that is not there has none."""
    ask_local(tmp_path)
    with pytest.raises(ReachProblem, match="No such file"):
        ask_local(Path("/nowhere/at/all"))
