# SPDX-License-Identifier: Apache-2.0
"""The call log as a file, and the budget that several jobs share through it."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from truegreen.core.call_log import CallEntry, entries_of, line_of
from truegreen.core.errors import ReachProblem
from truegreen.limiter.budget import Budget, BudgetRule
from truegreen.limiter.call_file import CallLog

WANTS = CallEntry(status=429, wants_again=True, reason="429-told")
OK = CallEntry(status=200, is_ok=True)
TIGHT = BudgetRule(reserve=2, percent=0)
JOB = """
import sys
from pathlib import Path
from truegreen.core.call_log import CallEntry
from truegreen.limiter.budget import BudgetRule
from truegreen.limiter.call_file import CallLog
log = CallLog(Path(sys.argv[1]), run="r", rule=BudgetRule(reserve=25, percent=0))
print(sum(log.add(CallEntry(job=sys.argv[2], status=429, wants_again=True)) for _ in range(40)))
"""


@pytest.fixture(params=["file", "memory"])
def log(request, tmp_path):
    """A log of run r with two repetitions."""
    made = CallLog(tmp_path / "calls.jsonl" if request.param == "file" else None, run="r", rule=TIGHT)
    yield made
    made.close()
    made.close()


def test_repetitions_are_granted_until_the_budget_is_spent(log):
    """An answered attempt wants none and is granted none."""
    assert [False, True, True, False] == [log.add(one) for one in (OK, WANTS, WANTS, WANTS)]
    assert Budget(requests=4, repeated=2, refused=1) == log.budget()
    assert ("r", TIGHT) == (log.run, log.rule)


def test_two_jobs_share_one_budget(tmp_path):
    """What one spends the other does not have, also if it started later or in another run."""
    path = tmp_path / "deep" / "calls.jsonl"
    one, other, foreign = (CallLog(path, run=run, rule=TIGHT) for run in ("r", "r", "s"))
    assert [True, True, False, True] == [log.add(WANTS) for log in (one, other, one, foreign)]
    late = CallLog(path, run="r", rule=TIGHT)
    assert Budget(requests=3, repeated=2, refused=1) == late.budget()
    assert late.budget() == one.budget() == other.budget()
    for log in (one, other, foreign, late):
        log.close()


def test_processes_at_once_get_no_token_twice(tmp_path):
    """Four processes want 160 repetitions of 25: 25 are granted, and every line is whole."""
    path = tmp_path / "calls.jsonl"
    jobs = [
        subprocess.Popen([sys.executable, "-c", JOB, str(path), str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    granted = sum(int(job.communicate(timeout=60)[0]) for job in jobs)
    assert (25, 160) == (granted, len(list(entries_of(path.read_text()))))


def test_threads_at_once_get_no_token_twice(log):
    """Eight threads, two tokens."""
    granted = []
    threads = [threading.Thread(target=lambda: granted.append(log.add(WANTS))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 2 == sum(granted)


def test_a_fork_goes_on_with_a_file_of_its_own(tmp_path):
    """The child's lines and the parent's count together."""
    log = CallLog(tmp_path / "calls.jsonl", run="r", rule=TIGHT)
    assert log.add(WANTS)
    child = os.fork()
    if not child:
        os._exit(0 if log.add(WANTS) else 1)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert not log.add(WANTS)
    log.close()


def test_a_line_that_a_kill_cut_costs_one_line(tmp_path):
    """The next writer begins on a line of its own, at whatever byte the cut is."""
    whole = line_of(WANTS, run="r")
    for cut in range(1, len(whole)):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole + whole[:cut])
        log = CallLog(path, run="r", rule=TIGHT)
        only_its_end_is_missing = cut == len(whole) - 1
        assert only_its_end_is_missing is not log.add(WANTS)
        log.close()
        assert 2 + only_its_end_is_missing == len(list(entries_of(path.read_text())))


def test_a_log_that_cannot_be_kept_is_an_error(tmp_path):
    """No budget is made up for it."""
    with pytest.raises(ReachProblem) as caught:
        CallLog(tmp_path)
    assert "call-log-failed" == caught.value.code


def test_a_log_that_was_closed_grants_nothing(tmp_path):
    """Neither written nor counted any more."""
    log = CallLog(tmp_path / "calls.jsonl")
    log.close()
    for ask in (lambda: log.add(WANTS), log.budget):
        with pytest.raises(ReachProblem, match="it was closed"):
            ask()


def test_a_line_that_finds_room_for_half_of_it_is_an_error(tmp_path, monkeypatch):
    """Nothing is granted for it, and the next line begins on its own."""
    log = CallLog(tmp_path / "calls.jsonl", rule=TIGHT)
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, data: write(file, data[:9]))
        with pytest.raises(ReachProblem, match="No space left"):
            log.add(WANTS)
    assert log.add(WANTS)
    log.close()
    assert 1 == len(list(entries_of((tmp_path / "calls.jsonl").read_text())))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_an_error():
    """A repetition that could not be taken down is not granted."""
    log = CallLog(Path("/dev/full"), run="r")
    with pytest.raises(ReachProblem, match="No space left"):
        log.add(WANTS)
    log.close()
