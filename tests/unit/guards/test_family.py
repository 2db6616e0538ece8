# SPDX-License-Identifier: Apache-2.0
"""A family of processes: whoever left its group or session is found and ended too."""

import os
import signal
import subprocess
import sys
import time

import pytest

from truegreen.guards import family

HEAD = """
import json, os, subprocess, sys
from truegreen.guards import family, kernel
kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
pids = json.loads(child.stdout.readline())
child.wait()
below = set(family.descendants(os.getpid()))
ended = family.end_descendants(os.getpid(), parting_s=0.2)
alive = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
print(json.dumps([sorted(below) == sorted(pids), ended, alive]))
"""
DEAF_ORPHANS = """
import json, os, signal, subprocess, sys
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
one = subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True, stdout=subprocess.PIPE)
two = subprocess.Popen(["sleep", "600"], process_group=0)
one.stdout.readline()
print(json.dumps([one.pid, two.pid]), flush=True)
"""


def test_orphans_in_other_sessions_are_ended(elsewhere):
    """One of them does not hear SIGTERM; none is left."""
    assert [True, 2, []] == elsewhere(HEAD, DEAF_ORPHANS)


def test_nobody_below_is_nobody_to_end():
    """A process without children."""
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        assert 0 == family.end_descendants(sleeper.pid)
        assert [] == list(family.descendants(sleeper.pid))
        assert None is sleeper.poll()
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.parametrize(
    ("ends", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)]
)
def test_an_end_is_told_as_shells_tell_it(ends, code):
    """A signal is 128 and its number."""
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", ends], os.environ)
    assert code == family.exit_code(os.waitpid(pid, 0)[1])


WAIT = """
import json, os, signal, sys
from truegreen.guards import family
before = family.hold_signals()
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"],
    os.environ, setsigmask=())
status = family.outlive(pid)
print(json.dumps(family.exit_code(status)), flush=True)
"""


def test_a_signal_that_somebody_sent_is_passed_on():
    """The child decides what it does with it."""
    head = subprocess.Popen([sys.executable, "-c", WAIT], stdout=subprocess.PIPE, text=True)
    assert "ready\n" == head.stdout.readline()
    head.send_signal(signal.SIGTERM)
    assert ("9\n", 0) == (head.stdout.readline(), head.wait(30))
    head.stdout.close()


PARENT = """
import ctypes, os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=sys.stdout)
print(child.pid, flush=True)
sys.stdin.readline()
"""
ORPHAN = """
import os, subprocess
from truegreen.guards import family, kernel
family.hold_signals()
kernel.prctl(kernel.PR_SET_PDEATHSIG, family.PARENT_DIED)
child = subprocess.Popen(["sleep", "600"])
print("waits", flush=True)
found = family.outlive(child.pid)
child.kill()
print("orphan" if found is None else found, flush=True)
"""


def test_a_head_whose_parent_died_hears_of_it():
    """However the parent died."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    said = {parent.stdout.readline().strip() for _ in range(2)}
    assert "waits" in said
    parent.kill()
    parent.wait()
    start = time.monotonic()
    assert "orphan\n" == parent.stdout.readline()
    assert time.monotonic() - start < 60
    parent.stdout.close()
    parent.stdin.close()
