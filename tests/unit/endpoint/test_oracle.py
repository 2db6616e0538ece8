# SPDX-License-Identifier: Apache-2.0
"""Counts that tests compare with."""

import threading

import pytest

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


def _enter(oracle, request="r", told=None):
    return oracle.enter(request=request, told_retry=told)


def test_the_peak_stays():
    """In flight goes down again, its peaks do not; only calls that were taken count in the second."""
    oracle = Oracle()
    first, second = _enter(oracle, "a").number, _enter(oracle, "b").number
    oracle.take(first)
    assert [True, False] == [oracle.leave(number, is_sent=True) for number in (first, second)]
    third = _enter(oracle, "c").number
    counts = oracle.counts()
    assert (1, 2, 1) == (counts.in_flight, counts.in_flight_peak, counts.taken_peak)
    oracle.leave(third, is_sent=False)
    assert 0 == oracle.counts().in_flight


def test_what_is_kept_is_bounded_and_says_so(monkeypatch):
    """Counts go on, single calls are kept up to the limit."""
    monkeypatch.setattr(module, "MOST_CALLS", 2)
    oracle = Oracle()
    for sample in ("1", "2", "3"):
        oracle.reply(
            _enter(oracle, sample).number, _call(sample=sample, status=429 if sample == "3" else None)
        )
    counts = oracle.counts()
    assert (3, 2, 1) == (counts.calls, len(counts.kept), counts.too_many_requests)
    assert {"none": 2, "429": 1} == counts.statuses
    assert False is shown(counts)["kept_all"]


def _attempts(*replies):
    """Attempts that the oracle numbers, for one request after another: request, told, status, whether it was sent."""
    oracle, attempts = Oracle(), []
    for request, told, status, is_sent in replies:
        entered = _enter(oracle, request, told)
        oracle.reply(entered.number, _call(status=status))
        oracle.leave(entered.number, is_sent=is_sent)
        attempts.append(entered.attempt)
    return attempts, oracle.counts()


@pytest.mark.parametrize(
    ("replies", "attempts", "retries", "told", "requests"),
    [
        ([("a", None, 200, True), ("a", None, 200, True)], [1, 1], 0, 0, 1),
        ([("a", None, 429, True), ("a", None, 200, True), ("a", None, 200, True)], [1, 2, 1], 1, 0, 1),
        ([("a", None, 200, False), ("a", None, 200, True)], [1, 2], 1, 0, 1),
        ([("a", 0, 500, True), ("a", 1, 500, True), ("a", 0, 500, True), ("a", 1, 200, True)], [1, 2, 3, 4], 3, 2, 1),
        ([("a", 2, 200, True)], [3], 1, 1, 1),
        ([("a", None, 429, True), ("b", None, 200, True)], [1, 1], 0, 0, 2),
    ],
)  # fmt: skip
def test_a_retry_is_the_same_request_that_got_no_answer(replies, attempts, retries, told, requests):
    """Whether it says so or not; a request that was answered and comes again is another sample."""
    found, counts = _attempts(*replies)
    assert attempts == found
    assert (retries, told, requests) == (counts.retries, counts.told_retries, counts.requests)
    assert max(attempts) == counts.attempts_most


def test_two_attempts_that_fail_at_once_are_each_retried_once():
    """Neither hides behind the other."""
    oracle = Oracle()
    open_calls = [_enter(oracle).number for _ in range(2)]
    for number in open_calls:
        oracle.reply(number, _call(status=500))
        oracle.leave(number, is_sent=True)
    assert [2, 2, 1] == [_enter(oracle).attempt for _ in range(3)]


def test_outcomes_are_of_one_prompt():
    """Sample numbers of different prompts are not mixed up."""
    oracle = Oracle()
    oracle.reply(_enter(oracle).number, _call(sample="1", outcome="fail"))
    assert {"1": "fail"} == oracle.counts().outcomes()
    oracle.reply(_enter(oracle).number, _call(prompt="q", sample="1", outcome="pass"))
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
