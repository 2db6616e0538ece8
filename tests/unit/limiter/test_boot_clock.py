# SPDX-License-Identifier: Apache-2.0
"""The clock since the start of the machine."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.limiter import boot_clock as module
from truegreen.limiter.boot_clock import boot_clock, offset_ns

TELL = "from truegreen.limiter.boot_clock import boot_clock; clock = boot_clock(); print(clock.boot, clock.now_ns())"


def test_it_counts_since_the_start_and_names_it():
    """All processes of the machine agree."""
    clock = boot_clock()
    before = clock.now_ns()
    told = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True)
    boot, now = told.stdout.split()
    assert (clock.boot, True) == (boot, before < int(now) < clock.now_ns())


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_a_time_namespace_is_taken_out_again():
    """A container whose clock is an hour ahead shares a ledger with its host all the same."""
    unshared = ["unshare", "-T", "--boottime", "3600", sys.executable, "-c", TELL]
    before = boot_clock().now_ns()
    told = subprocess.run(unshared, capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.skip(told.stderr)
    assert before < int(told.stdout.split()[1]) < boot_clock().now_ns()


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("monotonic 0 0\nboottime 0 0\n", 0),
        ("monotonic 5 1\nboottime -7 250000000\n", -6_750_000_000),
        ("", 0),
    ],
)
def test_the_offset_of_a_namespace_is_seconds_and_nanoseconds(text, offset):
    """As time_namespaces(7) writes it; there is none without a file."""
    assert offset == offset_ns(text)


def test_an_offset_is_subtracted(monkeypatch):
    """So that the host's time comes out."""
    monkeypatch.setattr(module, "offset_ns", lambda _: 10**18)
    assert boot_clock().now_ns() < time.clock_gettime_ns(time.CLOCK_BOOTTIME) - 10**17


def test_a_kernel_without_time_namespaces_has_no_offset(monkeypatch, tmp_path):
    """Then the file is not there."""
    monkeypatch.setattr(module, "OFFSETS", tmp_path / "none")
    assert boot_clock().now_ns() > 0


def test_a_system_that_names_no_start_is_refused(monkeypatch, tmp_path):
    """Without it, times of another start would be taken for ours."""
    monkeypatch.setattr(module, "BOOT_ID", tmp_path / "none")
    with pytest.raises(ReachProblem, match="is /proc mounted"):
        boot_clock()
    monkeypatch.setattr(module, "BOOT_ID", tmp_path)
    with pytest.raises(ReachProblem, match="cannot be read"):
        boot_clock()
    with pytest.raises(ReachProblem, match="no clock for a shared ledger on plan9"):
        boot_clock("plan9")
