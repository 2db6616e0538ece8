# SPDX-License-Identifier: Apache-2.0
"""System calls: what they change is seen from outside, and what they refuse is an OSError with its number."""

import errno

import pytest

from truegreen.guards import kernel

NO_PRIVILEGES = """
import json
from pathlib import Path
from truegreen.guards import kernel
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
print(json.dumps(Path("/proc/self/status").read_text().split("NoNewPrivs:")[1].split()[0]))
"""


def test_a_setting_of_the_process_is_set(elsewhere):
    """The kernel's own page of the process says so."""
    assert "1" == elsewhere(NO_PRIVILEGES)


def test_a_refused_call_says_its_number():
    """An option that does not exist is EINVAL."""
    with pytest.raises(OSError, match="prctl 9999") as told:
        kernel.prctl(9999, 0)
    assert errno.EINVAL == told.value.errno


def test_a_system_call_that_does_not_exist_is_said():
    """A number beyond the table is ENOSYS."""
    with pytest.raises(OSError, match="system call 99999") as told:
        kernel.syscall(99999)
    assert errno.ENOSYS == told.value.errno


def test_a_mount_that_is_not_allowed_names_its_target():
    """Whoever reads the error sees which path it was."""
    with pytest.raises(OSError, match="mount") as told:
        kernel.mount("none", "/nowhere-at-all", kernel.MS_BIND)
    assert "/nowhere-at-all" == told.value.filename
