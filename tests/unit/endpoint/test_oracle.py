# SPDX-License-Identifier: Apache-2.0
"""Counts that tests compare with."""

import threading

from truegreen.endpoint import oracle as module
from truegreen.endpoint.oracle import Call, Oracle, shown


def _call(**changes):
    return Call(
        **{
            "rule": "r",
            "prompt": "p",
            "sample": "1",
            "arrival": 0,
            "status": 200,
            "outcome": "pass",
            "fault": None,
            "is_stored": False,
        }
        | changes
    )


def test_arrivals_are_counted_by_sample_prompt_and_endpoint():
    """Each count is of what came before."""
    oracle = Oracle()
    seen = [
        tuple(oracle.arrive(digest=digest, sample=sample).values())
        for digest, sample in [("p", "1"), ("p", "2"), ("q", "1"), ("p", "1")]
    ]
    assert [(0, 0, 0), (0, 1, 1), (0, 0, 2), (1, 2, 3)] == seen


def test_numbers_run_on_for_each_prompt():
    """From 1, whatever other prompts do."""
    oracle = Oracle()
    assert ["1", "1", "2"] == [oracle.number(digest) for digest in ("p", "q", "p")]


def test_the_peak_stays():
    """In flight goes down again, its peak does not."""
    oracle = Oracle()
    for step in (oracle.enter, oracle.enter, oracle.leave, oracle.enter, oracle.leave, oracle.leave):
        step()
    assert (0, 2) == (oracle.counts().in_flight, oracle.counts().in_flight_peak)


def test_what_is_kept_is_bounded_and_says_so(monkeypatch):
    """Counts go on, single calls are kept up to the limit."""
    monkeypatch.setattr(module, "MOST_CALLS", 2)
    oracle = Oracle()
    for sample in ("1", "2", "3"):
        oracle.reply(_call(sample=sample, status=429 if sample == "3" else None))
    counts = oracle.counts()
    assert (3, 2, 1) == (counts.calls, len(counts.kept), counts.too_many_requests)
    assert {"none": 2, "429": 1} == counts.statuses
    assert False is shown(counts)["kept_all"]


def test_outcomes_are_of_one_prompt():
    """Sample numbers of different prompts are not mixed up."""
    oracle = Oracle()
    oracle.reply(_call(sample="1", outcome="fail"))
    assert {"1": "fail"} == oracle.counts().outcomes()
    oracle.reply(_call(prompt="q", sample="1", outcome="pass"))
    assert {} == oracle.counts().outcomes()
    assert {"1": "pass"} == oracle.counts().outcomes("q")


def test_threads_lose_no_count():
    """Four threads, one sum."""
    oracle = Oracle()

    def work():
        for _ in range(500):
            oracle.arrive(digest="p", sample="1")
            oracle.other()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 2000 == oracle.counts().other_requests
    assert 2000 == oracle.arrive(digest="p", sample="1")["sample"]
