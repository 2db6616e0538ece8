# SPDX-License-Identifier: Apache-2.0
"""The scheduler on a virtual clock: error rates with slow failures, order, redraws, interruption, cost."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from truegreen.core.errors import UsageProblem
from truegreen.sampling.ledger import Sample
from truegreen.sampling.schedule import Progress, Scheduler, Start
from truegreen.sampling.sequential import Ruling, fixed, read, sequential, smoke
from truegreen.sampling.states import Cause, State, joined, state

SLOTS = 16
SEQUENCES = 2000
STANDARD = sequential("standard", p_good="0.95", p_bad="0.80", alpha="0.0625", beta="0.05", cap=60)
"""The .95/.80 rule with its first sequence tested at .05, as the published figures have it."""

Law = Callable[[bool, Random], float]
LAWS: dict[str, Law] = {
    "constant, failures 3 times slower": lambda passed, _: 1.0 if passed else 3.0,
    "constant, failures 10 times slower": lambda passed, _: 1.0 if passed else 10.0,
    "exponential, failures 3 times slower": lambda passed, chance: chance.expovariate(
        1.0 if passed else 1 / 3
    ),
    "constant, passes 3 times slower": lambda passed, _: 3.0 if passed else 1.0,
}
"""Seconds on the virtual clock that one sample takes."""


class Run:
    """One suite sampled through the real scheduler; time passes only in a heap of ends."""

    def __init__(
        self, scheduler: Scheduler, outcome: Callable[[Start], str], law: Law, chance: Random
    ) -> None:
        """Samples until nothing is wanted."""
        self.scheduler = scheduler
        self.clock = 0.0
        self.started: list[Start] = []
        self.ends: list[tuple[str, Sample]] = []
        self.most_in_flight = 0
        ends: list[tuple[float, int, Start, str]] = []
        while True:
            for start in scheduler.starts():
                bucket = outcome(start)
                due = self.clock + law(bucket == "pass", chance)
                heapq.heappush(ends, (due, len(self.started), start, bucket))
                self.started.append(start)
            self.most_in_flight = max(self.most_in_flight, scheduler.in_flight)
            if not ends:
                break
            self.clock, _, start, bucket = heapq.heappop(ends)
            sample = Sample(n=start.n, bucket=bucket)
            self.ends.append((start.case, sample))
            scheduler.ended(start.case, sample)


def sampled(cases: dict[str, float], rule, law: Law, chance: Random, **also) -> Run:
    """A suite whose cases pass with the given rates, independently."""
    return Run(
        Scheduler(list(cases), rule, slots=SLOTS, **also),
        lambda start: "pass" if chance.random() < cases[start.case] else "fail",
        law,
        chance,
    )


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_slow_failures_do_not_buy_a_pass(law):
    """True p = .80 under .95/.80, 16 in flight, 2,000 sequences: PASS in at most 5 %, whatever the latency law."""
    chance, passed = Random(1), 0
    for _ in range(SEQUENCES):
        run = sampled({"case": 0.80}, STANDARD, law, chance)
        passed += state(run.scheduler.samples("case"), STANDARD, cases=1).state is State.STABLE_PASS
    assert passed / SEQUENCES <= 0.05


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_slow_failures_do_not_buy_a_pass_under_smoke(law):
    """Twelve cases at p = .50 share 16 slots, 2,004 sequences: PASS in at most alpha_1 = 4 %."""
    chance, passed, cases = Random(2), 0, {f"case-{number}": 0.5 for number in range(12)}
    for _ in range(167):
        run = sampled(cases, smoke(), law, chance)
        passed += sum(
            state(run.scheduler.samples(case), smoke(), cases=12).state is State.STABLE_PASS for case in cases
        )
    assert passed / 2004 <= 0.04


@pytest.mark.parametrize(
    ("law", "at_least"),
    [("constant, failures 3 times slower", 0.9), ("exponential, failures 3 times slower", 0.2)],
)
def test_reading_in_the_order_of_completion_would(law, at_least):
    """The same samples read as they end: a false PASS in most runs. This is what the numbers are for."""
    chance, passed = Random(3), 0
    for _ in range(300):
        ends: list[tuple[float, int, bool]] = []
        outcomes: list[bool] = []
        clock, number = 0.0, 0
        while read(outcomes, STANDARD, cases=1).ruling is Ruling.UNDECIDED and len(outcomes) < STANDARD.cap:
            while len(ends) < SLOTS:
                success = chance.random() < 0.80
                number += 1
                heapq.heappush(ends, (clock + LAWS[law](success, chance), number, success))
            clock, _, success = heapq.heappop(ends)
            outcomes.append(success)
        passed += read(outcomes, STANDARD, cases=1).ruling is Ruling.PASS
    assert passed / 300 >= at_least


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_the_suite_costs_what_the_rule_asks_and_little_more(law):
    """A hundred cases under .95/.80: speculative samples are at most 3 % of all calls."""
    rates = [0.995] * 90 + [0.95] * 5 + [0.88] * 3 + [0.2] * 2
    run = sampled({f"case-{n}": rate for n, rate in enumerate(rates)}, STANDARD, law, Random(4))
    needed = sum(run.scheduler.progress(f"case-{n}").read for n in range(100))
    assert needed <= len(run.started) <= 1.03 * needed


def test_the_slots_are_kept_busy():
    """Latency L, C slots: the whole takes at most 1.15 calls times L over C."""
    rates = [0.995] * 90 + [0.95] * 5 + [0.88] * 3 + [0.2] * 2
    run = sampled({f"case-{n}": rate for n, rate in enumerate(rates)}, smoke(), lambda *_: 1.0, Random(5))
    assert run.clock <= 1.15 * len(run.started) / SLOTS
    assert SLOTS == run.most_in_flight


def test_the_state_does_not_depend_on_speed_or_slots():
    """Outcome by (case, number): whatever the law and the slots, each case comes to the same state and counts."""
    outcomes = {
        (f"case-{case}", number): "pass" if Random(f"{case}/{number}").random() < 0.8 else "fail"
        for case in range(6)
        for number in range(1, 40)
    }

    def states(slots: int, law: Law) -> list[object]:
        scheduler = Scheduler([f"case-{case}" for case in range(6)], smoke(), slots=slots)
        Run(scheduler, lambda start: outcomes[start.case, start.n], law, Random(6))
        kept = [state(scheduler.samples(f"case-{case}"), smoke(), cases=6) for case in range(6)]
        return [(one.state, one.cause, one.tally.read, one.tally.passed) for one in kept]

    expected = states(1, lambda *_: 1.0)
    for slots in (2, 7, 64):
        for law in LAWS.values():
            assert expected == states(slots, law)


def test_equal_histories_start_equal_samples():
    """Nothing but the order of ends decides what starts."""
    first, second = (
        sampled({"a": 0.7, "b": 0.9, "c": 1.0}, smoke(), LAWS["constant, failures 3 times slower"], Random(7))
        for _ in range(2)
    )
    assert first.started == second.started


def test_samples_are_numbered_before_they_start_and_spread_over_cases():
    """With three slots and two cases of equal need the starts alternate in the order of the cases."""
    scheduler = Scheduler(["b", "a"], smoke(), slots=3)
    expected = (Start(case="b", n=1, draw=1), Start(case="a", n=1, draw=1), Start(case="b", n=2, draw=1))
    assert expected == scheduler.starts()
    assert () == scheduler.starts()
    assert 3 == scheduler.in_flight


def test_no_more_is_started_than_the_verdict_needs():
    """One case, many slots: six samples at first, and after a failure the two that it takes more."""
    scheduler = Scheduler(["a"], smoke(), slots=50, suite=12)
    assert 6 == len(scheduler.starts())
    scheduler.ended("a", Sample(n=1, bucket="fail"))
    assert [7, 8, 9, 10] == [start.n for start in scheduler.starts()]


def test_a_started_sample_is_awaited_and_kept_after_the_decision():
    """Three failures decide; three more samples run, are awaited, and stand in the ledger as left."""
    scheduler = Scheduler(["a"], smoke(), slots=6, suite=12)
    scheduler.starts()
    for number in (1, 2, 3):
        scheduler.ended("a", Sample(n=number, bucket="fail"))
    assert () == scheduler.starts()
    assert not scheduler.is_done
    for number in (5, 4, 6):
        scheduler.ended("a", Sample(n=number, bucket="pass"))
    assert scheduler.is_done
    assert not scheduler.is_undecided
    kept = state(scheduler.samples("a"), smoke(), cases=12)
    assert (State.NEVER_PASSED, 3, 3) == (kept.state, kept.tally.read, kept.tally.left)


def test_an_early_end_waits_for_the_numbers_before_it():
    """Samples 2 to 6 pass while 1 still runs: nothing is read, nothing is decided."""
    scheduler = Scheduler(["a"], smoke(), slots=6, suite=12)
    scheduler.starts()
    for number in range(2, 7):
        scheduler.ended("a", Sample(n=number, bucket="pass"))
    assert Progress(passed=0, read=0, outstanding=6, is_open=True) == scheduler.progress("a")
    assert () == scheduler.starts()
    scheduler.ended("a", Sample(n=1, bucket="pass"))
    assert Progress(passed=6, read=6, outstanding=0, is_open=False) == scheduler.progress("a")


def test_transport_losses_are_drawn_again_under_their_number():
    """Three losses of one case are redrawn; the fourth stays, and ends the case without blame."""
    scheduler = Scheduler(["a"], smoke(), slots=1, suite=12)
    draws = []
    while starts := scheduler.starts():
        (start,) = starts
        draws.append((start.n, start.draw))
        scheduler.ended("a", Sample(n=start.n, bucket="transport"))
    assert [(1, 1), (1, 2), (1, 3), (1, 4)] == draws
    assert 3 == len(scheduler.lost("a"))
    assert [Sample(n=1, bucket="transport", replaces=3)] == list(scheduler.samples("a"))
    assert Cause.TRANSPORT is state(scheduler.samples("a"), smoke(), cases=12).cause
    assert scheduler.is_done


def test_a_redraw_that_works_counts_as_that_number():
    """Lost once, passed then: the sample says how many losses it replaces."""
    scheduler = Scheduler(["a"], smoke(), slots=6, suite=12)
    scheduler.starts()
    scheduler.ended("a", Sample(n=2, bucket="transport"))
    assert (Start(case="a", n=2, draw=2),) == scheduler.starts()
    scheduler.ended("a", Sample(n=2, bucket="pass"))
    assert (Sample(n=2, bucket="pass", replaces=1),) == scheduler.samples("a")


def test_after_the_decision_nothing_is_drawn_again():
    """A loss that can no longer matter is kept as it is."""
    scheduler = Scheduler(["a"], smoke(), slots=6, suite=12)
    scheduler.starts()
    for number in (1, 2, 3):
        scheduler.ended("a", Sample(n=number, bucket="fail"))
    scheduler.ended("a", Sample(n=4, bucket="transport"))
    assert () == scheduler.starts()
    assert ("transport", 0) == (scheduler.samples("a")[3].bucket, len(scheduler.lost("a")))


def test_stopping_starts_nothing_and_awaits_the_rest():
    """A budget that ran out: what runs is awaited, what was to be redrawn and what never ended is named."""
    scheduler = Scheduler(["a", "b"], smoke(), slots=4)
    scheduler.starts()
    scheduler.ended("a", Sample(n=1, bucket="transport"))
    scheduler.stop()
    assert () == scheduler.starts()
    assert not scheduler.is_done
    scheduler.ended("b", Sample(n=1, bucket="pass"))
    missing = [(start.case, start.n, start.draw) for start in scheduler.unended()]
    assert [("a", 1, 2), ("a", 2, 1), ("b", 2, 1)] == missing
    assert scheduler.is_undecided


def test_a_later_attempt_goes_on_where_the_earlier_stopped():
    """Numbers continue, lost ones are drawn again, and only the new samples are this attempt's."""
    earlier = {
        "a": tuple(Sample(n=n, bucket=b) for n, b in enumerate(("pass", "transport", "pass"), start=1))
    }
    scheduler = Scheduler(["a"], smoke(), slots=9, suite=12, earlier=earlier)
    assert [2, 4, 5, 6] == [start.n for start in scheduler.starts()]
    for number in (2, 4, 5, 6):
        scheduler.ended("a", Sample(n=number, bucket="pass"))
    assert [2, 4, 5, 6] == [sample.n for sample in scheduler.samples("a")]
    whole = joined([earlier["a"], scheduler.samples("a")], smoke())
    assert State.STABLE_PASS is state(whole, smoke(), cases=12, attempts=2).state
    assert scheduler.is_done


def test_a_case_that_was_decided_before_costs_nothing():
    """Earlier samples that already certify leave nothing to start."""
    earlier = {"a": tuple(Sample(n=n, bucket="pass") for n in range(1, 8))}
    assert () == Scheduler(["a"], smoke(), slots=9, suite=12, earlier=earlier).starts()


def test_later_sequences_need_more():
    """The second fresh sequence of a pull request is tested at a smaller share: nine passes, not six."""
    scheduler = Scheduler(["a", "b"], smoke(), slots=50, j={"b": 2})
    started = [start.case for start in scheduler.starts()]
    assert (6, 9) == (started.count("a"), started.count("b"))


def test_fixed_runs_all_of_its_samples():
    """Five each, no more and no fewer, whatever the outcomes."""
    run = sampled({"a": 0.0, "b": 1.0}, fixed(5), lambda *_: 1.0, Random(8))
    assert [(case, n) for case in "ab" for n in range(1, 6)] == sorted((s.case, s.n) for s in run.started)


@given(st.lists(st.sampled_from(["pass", "fail", "invalid", "transport", "claimed-transport"]), max_size=60))
@example(
    [
        "fail",
        "fail",
        "transport",
        "pass",
        "pass",
        "fail",
        "transport",
        "pass",
        "transport",
        "pass",
        "pass",
        "fail",
    ]
)
def test_every_started_sample_ends_in_the_ledger_once(buckets):
    """Whatever happens: numbers 1 to the last are there once each, and redrawn losses are counted."""
    fate = iter(buckets)
    run = Run(
        Scheduler(["a", "b"], smoke(), slots=5),
        lambda _: next(fate, "pass"),
        lambda *_: 1.0,
        Random(9),
    )
    total = 0
    for case in "ab":
        samples, lost = run.scheduler.samples(case), run.scheduler.lost(case)
        assert list(range(1, len(samples) + 1)) == [sample.n for sample in samples]
        assert len(lost) == sum(sample.replaces for sample in samples) <= 3
        total += len(samples) + len(lost)
    assert total == len(run.started)
    assert () == run.scheduler.unended()


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: Scheduler(["a"], smoke(), slots=0), "no-free-slot"),
        (lambda: Scheduler(["a", "a"], smoke(), slots=1), "case-twice"),
        (
            lambda: Scheduler(["a"], smoke(), slots=1, earlier={"a": [Sample(n=2, bucket="pass")]}),
            "earlier-samples-have-gaps",
        ),
        (
            lambda: Scheduler(["a"], smoke(), slots=1).ended("a", Sample(n=1, bucket="pass")),
            "sample-not-running",
        ),
        (
            lambda: Scheduler(["a"], smoke(), slots=1).ended("z", Sample(n=1, bucket="pass")),
            "sample-not-running",
        ),
    ],
)
def test_misuse_is_a_usage_problem(call, code):
    """No slot, a case twice, a sequence with gaps, an end without a start."""
    with pytest.raises(UsageProblem) as caught:
        call()
    assert code == caught.value.code


def test_an_empty_suite_is_done_at_once():
    """Nothing to sample is nothing to start; whether that is enough is for others to say."""
    scheduler = Scheduler([], smoke(), slots=4)
    assert () == scheduler.starts()
    assert scheduler.is_done


def test_a_loss_of_an_earlier_attempt_behind_the_decision_is_left_to_its_ledger():
    """Three failures decided before it: nothing starts, and nothing of the earlier attempt becomes ours."""
    buckets = ("fail", "fail", "fail", "transport")
    earlier = {"a": tuple(Sample(n=n, bucket=bucket) for n, bucket in enumerate(buckets, start=1))}
    scheduler = Scheduler(["a"], smoke(), slots=4, suite=12, earlier=earlier)
    assert () == scheduler.starts()
    assert ((), (), ()) == (scheduler.samples("a"), scheduler.lost("a"), scheduler.unended())
