# SPDX-License-Identifier: Apache-2.0
"""The lock on a file."""

import os
import signal
import subprocess
import sys

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.limiter.file_lock import lock, unlock

HOLD = """
import os, sys, time
from truegreen.limiter.file_lock import lock
lock(os.open(sys.argv[1], os.O_RDWR), "it")
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    """A file."""
    (tmp_path / "locked").write_bytes(b"")
    return str(tmp_path / "locked")


@pytest.fixture
def file(path):
    """It, open."""
    number = os.open(path, os.O_RDWR)
    yield number
    os.close(number)


def test_a_holder_that_is_stopped_is_told_and_not_waited_for_without_end(path, file):
    """One line that says what to look for; once it is killed the lock is free."""
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(ReachProblem, match=r"another process has held it for 0.1 s: is one stopped\?"):
            lock(file, "it", patience_s=0.1)
        holder.kill()
        holder.wait()
    lock(file, "it")


def test_it_excludes_and_is_let_go(path, file):
    """Another open file of the same name waits."""
    other = os.open(path, os.O_RDWR)
    lock(file, "it")
    with pytest.raises(ReachProblem):
        lock(other, "it", patience_s=0.01)
    unlock(file)
    lock(other, "it", patience_s=0.01)
    os.close(other)
