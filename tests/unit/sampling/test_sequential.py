# SPDX-License-Identifier: Apache-2.0
"""The stopping rules against an oracle of their own, brute force and the published figures."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.sampling.sequential import (
    MAX_CAP,
    MOSTLY,
    Ruling,
    alpha_share,
    failures_still_needed,
    fixed,
    limits,
    mostly_passing_stops,
    named,
    passes_still_needed,
    read,
    sequential,
    smoke,
)

GRID = [hundredths / 100 for hundredths in range(1, 100)]


def pair(good: str, bad: str, *, alpha: str = "0.05", beta: str = "0.05", cap: int = 500):
    """A rule whose first sequence is tested at ``alpha`` exactly, as the published table has it."""
    whole = str(float(Fraction(alpha) * 5 / 4))
    return sequential("pair", p_good=good, p_bad=bad, alpha=whole, beta=beta, cap=cap)


def chances(rule, p: float, *, cases: int = 1, j: int = 1) -> tuple[float, float, float, float]:
    """P(PASS), P(FAIL), P(undecided), E[samples] of the rule's own integer table at pass rate ``p``."""
    table = limits(rule, cases=cases, j=j)
    passed = failed = samples = 0.0
    still_open = {0: 1.0}
    for outcomes in range(1, rule.cap + 1):
        samples += sum(still_open.values())
        following: dict[int, float] = {}
        for passes, weight in still_open.items():
            following[passes + 1] = following.get(passes + 1, 0.0) + weight * p
            following[passes] = following.get(passes, 0.0) + weight * (1 - p)
        still_open = {}
        for passes, weight in following.items():
            ruling = table.ruling(passes, outcomes)
            if ruling is Ruling.PASS:
                passed += weight
            elif ruling is Ruling.FAIL:
                failed += weight
            else:
                still_open[passes] = weight
    return passed, failed, sum(still_open.values()), samples


@pytest.mark.parametrize("cases", [1, 12, 100])
@pytest.mark.parametrize("j", [1, 2, 3, 7])
def test_the_integer_table_is_the_likelihood_ratio_test(walk_exactly, cases, j):
    """Whatever the suite and the sequence, the table gives the oracle's probabilities."""
    rule = smoke()
    share = float(alpha_share(rule.alpha, j))
    for p in (0.3, 0.5, 0.75, 0.95):
        oracle = walk_exactly(
            good=0.95, bad=0.5, pass_ratio=1 / share, fail_ratio=0.05 / cases, cap=rule.cap, p=p
        )
        expected = (oracle.passed, oracle.failed, oracle.undecided, oracle.samples)
        assert pytest.approx(expected, abs=1e-12) == chances(rule, p, cases=cases, j=j)


@pytest.mark.parametrize("rule", [smoke(), smoke(cap=MAX_CAP), pair("0.95", "0.80", cap=200)])
@pytest.mark.parametrize("cases", [1, 12, 100])
def test_no_error_rate_exceeds_its_share(rule, cases):
    """False PASS is at most alpha_j for every p <= p_bad, false FAIL at most beta/cases for every p >= p_good."""
    for j in (1, 2, 4):
        share = float(alpha_share(rule.alpha, j))
        for p in GRID:
            passed, failed, _, _ = chances(rule, p, cases=cases, j=j)
            assert p > rule.p_bad or passed <= share
            assert p < rule.p_good or failed <= rule.beta / cases


def test_all_sequences_of_a_pull_request_spend_alpha_and_no_more():
    """The shares add up to alpha in the limit: 0.8 for the first, the rest for all others together."""
    alpha = Fraction(1, 20)
    spent = sum(alpha_share(alpha, j) for j in range(1, 1001))
    assert alpha - spent == alpha / 5 / 1000
    assert alpha_share(alpha, 1) == Fraction(4, 100)
    assert alpha_share(alpha, 2) == Fraction(1, 200)


PUBLISHED = [
    # good, bad, E[N] at good, at bad, at the worst p, all-pass stop, all-fail stop
    ("0.95", "0.50", 6.3, 4.6, 8.7, 5, 2),
    ("0.80", "0.50", 16.0, 13.9, 25.4, 7, 4),
    ("0.90", "0.70", 24.9, 20.5, 38.5, 12, 3),
    ("0.95", "0.80", 30.8, 23.5, 45.5, 18, 3),
    ("0.99", "0.90", 40.6, 24.8, 52.9, 32, 2),
    ("0.98", "0.90", 56.0, 39.4, 79.2, 36, 2),
    ("0.95", "0.85", 55.6, 44.3, 84.3, 27, 3),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_published_costs_come_out(row):
    """Expected samples and the shortest stops, against the figures of the sequential table."""
    good, bad, at_good, at_bad, worst, all_pass, all_fail = row
    rule = pair(good, bad)
    assert pytest.approx((at_good, at_bad), abs=0.06) == (
        chances(rule, float(good))[3],
        chances(rule, float(bad))[3],
    )
    between = [step / 100 for step in range(round(float(bad) * 100), round(float(good) * 100) + 1)]
    assert pytest.approx(worst, abs=0.5) == max(chances(rule, p)[3] for p in between)
    assert all_pass == passes_still_needed(0, 0, rule, cases=1)
    assert all_fail == failures_still_needed(0, 0, rule, cases=1)


def test_a_strict_fail_bound_keeps_a_good_suite_from_red_by_chance():
    """Dividing beta by the cases: P(any false red in 100 good cases) falls from 94 % to 3 %."""
    rule = pair("0.95", "0.80")
    loose, strict = chances(rule, 0.95)[1], chances(rule, 0.95, cases=100)[1]
    assert pytest.approx(0.94, abs=0.01) == 1 - (1 - loose) ** 100
    assert pytest.approx(0.03, abs=0.01) == 1 - (1 - strict) ** 100


def test_re_running_until_green_is_what_pooling_has_to_stop():
    """P(at least one PASS in 1, 5, 10 fresh runs) at .95/.80, cap 60: the reason why attempts share one sequence."""
    rule = pair("0.95", "0.80", cap=60)
    for p, expected in ((0.80, (0.04, 0.19, 0.35)), (0.85, (0.16, 0.58, 0.82)), (0.88, (0.32, 0.85, 0.98))):
        once = chances(rule, p)[0]
        assert pytest.approx(expected, abs=0.01) == tuple(1 - (1 - once) ** runs for runs in (1, 5, 10))


ORDINARY = ((9, 0.995), (2, 0.95), (1, 0.88))


def admitted(rule) -> float:
    """P(every case of the twelve ordinary tests passes)."""
    return prod(chances(rule, p, cases=12)[0] ** count for count, p in ORDINARY)


def test_twelve_ordinary_tests_are_admitted_on_most_pushes():
    """Under smoke 93 %, under .95/.80 with cap 30 some 7 %, under 5 of 5 a quarter."""
    assert pytest.approx(0.933, abs=0.001) == admitted(smoke())
    assert pytest.approx(0.067, abs=0.001) == admitted(pair("0.95", "0.80", cap=30))
    assert pytest.approx(0.252, abs=0.001) == admitted(fixed(5))


def test_the_cap_leaves_hardly_a_good_suite_undecided():
    """P(any of twelve cases at p_good is undecided) is .3 %, and a smaller cap admits less than 93 %."""
    undecided = chances(smoke(), 0.95, cases=12)[2]
    assert pytest.approx(0.0030, abs=0.0001) == 1 - (1 - undecided) ** 12
    assert admitted(smoke(cap=32)) < 0.93


def test_every_short_sequence_is_judged_by_its_first_crossing():
    """Brute force over all sequences of ten outcomes, in fractions."""
    rule, cases = smoke(), 12
    for outcomes in product((True, False), repeat=10):
        ratio, expected = Fraction(1), (Ruling.UNDECIDED, 10)
        for at, passed in enumerate(outcomes, start=1):
            ratio *= Fraction(19, 10) if passed else Fraction(1, 10)
            if ratio >= 25 or ratio <= Fraction(5, 1200):
                expected = (Ruling.PASS if ratio > 1 else Ruling.FAIL, at)
                break
        verdict = read(outcomes, rule, cases=cases)
        assert expected == (verdict.ruling, verdict.at)
        assert sum(outcomes[: verdict.at]) == verdict.passes


def test_what_follows_the_first_crossing_changes_nothing():
    """Six passes certify; twenty later failures are read by nobody."""
    verdict = read([True] * 6 + [False] * 20, smoke(), cases=12)
    assert (Ruling.PASS, 6, 6) == (verdict.ruling, verdict.at, verdict.passes)


def test_nothing_beyond_the_cap_is_read():
    """An undecided sequence stays undecided however much follows the cap."""
    rule = smoke(cap=3)
    assert Ruling.UNDECIDED is read([True] * 50, rule, cases=1).ruling
    assert 3 == read([True] * 50, rule, cases=1).at


def test_no_outcome_decides_nothing():
    """An empty sequence is undecided at 0."""
    verdict = read([], smoke(), cases=12)
    assert (Ruling.UNDECIDED, 0, 0) == (verdict.ruling, verdict.at, verdict.passes)


def test_five_passes_fall_just_short_of_the_bound():
    """1.9**5 = 24.76 is below 25 and 1.9**6 is above: decided on integers, not on a float near 25."""
    assert Ruling.UNDECIDED is read([True] * 5, smoke(), cases=12).ruling
    assert Ruling.PASS is read([True] * 6, smoke(), cases=12).ruling


def test_a_ratio_exactly_on_a_bound_decides():
    """LR = 1/alpha_1 and LR = beta/cases are reached exactly and count as reached."""
    rule = sequential("exact", p_good="0.8", p_bad="0.4", alpha="0.3125", beta="0.5", cap=20)
    assert Ruling.PASS is read([True, True], rule, cases=1).ruling  # 2**2 = 1/(0.8 * 0.3125)
    rule = sequential("exact", p_good="0.75", p_bad="0.5", alpha="0.05", beta="0.5", cap=20)
    assert Ruling.FAIL is read([False], rule, cases=1).ruling  # 0.5 = 0.5


@pytest.mark.parametrize("n", [1, 3, 5])
def test_fixed_passes_only_n_of_n_and_only_at_n(n):
    """The article's rule over all outcomes of n samples."""
    rule = fixed(n)
    for outcomes in product((True, False), repeat=n):
        verdict = read(outcomes, rule, cases=12)
        assert (Ruling.PASS if all(outcomes) else Ruling.FAIL) is verdict.ruling
        assert n == verdict.at
        assert Ruling.UNDECIDED is read(outcomes[:-1], rule, cases=12).ruling


def test_passes_still_needed_counts_down_and_knows_the_cap():
    """Six at first, one fewer after a pass, more after a failure, none once decided, None when out of reach."""
    rule = smoke()
    assert 6 == passes_still_needed(0, 0, rule, cases=12)
    assert 5 == passes_still_needed(1, 1, rule, cases=12)
    assert 9 == passes_still_needed(0, 1, rule, cases=12)
    assert 0 == passes_still_needed(6, 6, rule, cases=12)
    assert passes_still_needed(22, 32, rule, cases=12) is None
    assert 3 == passes_still_needed(2, 2, fixed(5), cases=12)


def test_failures_still_needed_depends_on_the_suite():
    """Two, three or four failures in a row end a case in a suite of 1, 12 or 100."""
    found = [failures_still_needed(0, 0, smoke(), cases=cases) for cases in (1, 12, 100)]
    assert [2, 3, 4] == found
    assert failures_still_needed(0, 0, smoke(cap=2), cases=12) is None


@pytest.mark.parametrize("cases", [1, 12, 100])
@pytest.mark.parametrize("rule", [smoke(), pair("0.95", "0.80", cap=100)])
def test_a_case_that_fails_mostly_is_rarely_called_mostly_passing(rule, cases, walk_exactly):
    """P(FAIL and called mostly passing) is at most alpha_j for every p <= .60, by the oracle."""
    for j in (1, 2):
        share = float(alpha_share(rule.alpha, j))
        stops = mostly_passing_stops(rule, cases=cases, j=j)
        assert all(Fraction(passes, outcomes) > MOSTLY for outcomes, passes in stops)
        for p in (0.1, 0.4, 0.55, 0.6):
            oracle = walk_exactly(
                good=float(rule.p_good),
                bad=float(rule.p_bad),
                pass_ratio=1 / share,
                fail_ratio=float(rule.beta) / cases,
                cap=rule.cap,
                p=p,
            )
            assert stops <= oracle.fail_stops.keys()
            assert sum(oracle.fail_stops[stop] for stop in stops) <= share


def test_mostly_passing_can_be_reached_and_takes_the_highest_rates():
    """Under smoke in a suite of twelve: six stops from 16 of 23 up; everything below stays mostly failing."""
    stops = mostly_passing_stops(smoke(), cases=12)
    assert {(23, 16), (27, 19), (28, 20), (30, 21), (31, 22), (32, 23)} == stops


def test_a_tiny_rule_has_no_room_for_mostly_passing():
    """If FAIL cannot happen above .60, nothing is called mostly passing."""
    assert frozenset() == mostly_passing_stops(smoke(cap=3), cases=12)
    assert frozenset() == mostly_passing_stops(smoke(cap=2), cases=12)


def test_ratio_table_is_monotone():
    """The fewest passes never fall and the most passes never fall as outcomes grow."""
    for cases, j in ((1, 1), (12, 1), (100, 5)):
        table = limits(smoke(), cases=cases, j=j)
        assert sorted(table.pass_at) == list(table.pass_at)
        assert sorted(table.fail_at) == list(table.fail_at)
        assert all(low < high for low, high in zip(table.fail_at, table.pass_at, strict=True))


@pytest.mark.parametrize(
    "call",
    [
        lambda: sequential("x", p_good="0.5", p_bad="0.5", alpha="0.05", beta="0.05", cap=9),
        lambda: sequential("x", p_good="1", p_bad="0.5", alpha="0.05", beta="0.05", cap=9),
        lambda: sequential("x", p_good="0.9", p_bad="0", alpha="0.05", beta="0.05", cap=9),
        lambda: sequential("x", p_good="0.9", p_bad="0.5", alpha="0", beta="0.05", cap=9),
        lambda: sequential("x", p_good="0.9", p_bad="0.5", alpha="0.05", beta="1", cap=9),
        lambda: smoke(cap=0),
        lambda: smoke(cap=MAX_CAP + 1),
        lambda: fixed(0),
        lambda: fixed(MAX_CAP + 1),
        lambda: limits(smoke(), cases=0),
        lambda: limits(smoke(), cases=1, j=0),
        lambda: limits(fixed(), cases=1, j=0),
    ],
)
def test_a_rule_out_of_range_is_a_usage_problem(call):
    """Rates, levels, caps, suites and sequences outside their range are refused with both values."""
    with pytest.raises(UsageProblem) as caught:
        call()
    assert "rule-out-of-range" == caught.value.code


def test_a_policy_names_its_rule():
    """Smoke takes the cap, fixed the samples, anything else is refused."""
    assert smoke(cap=20) == named("smoke", cap=20)
    assert fixed(3) == named("fixed", samples=3)
    with pytest.raises(UsageProblem, match="none of smoke, fixed"):
        named("lucky")


def test_peeking_at_an_interval_is_what_the_ratio_replaces():
    """True p = .80, stopping when a lower bound reaches .80: the exact interval is fooled 16 % of the time by n = 100."""
    rate = 0.80

    def exact_low_reached(passes: int, n: int) -> bool:
        return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(passes, n + 1)) <= 0.05

    def fooled(reached, n_max: int) -> float:
        still_open, stopped = {0: 1.0}, 0.0
        for n in range(1, n_max + 1):
            following: dict[int, float] = {}
            for passes, weight in still_open.items():
                following[passes + 1] = following.get(passes + 1, 0.0) + weight * rate
                following[passes] = following.get(passes, 0.0) + weight * (1 - rate)
            still_open = {}
            for passes, weight in following.items():
                if reached(passes, n):
                    stopped += weight
                else:
                    still_open[passes] = weight
        return stopped

    def wilson_low_reached(passes: int, n: int) -> bool:
        z, share = 1.6448536269514722, passes / n
        middle = share + z * z / (2 * n)
        spread = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
        return (middle - spread) / (1 + z * z / n) >= rate

    assert pytest.approx(0.16, abs=0.006) == fooled(exact_low_reached, 100)
    assert pytest.approx(0.22, abs=0.006) == fooled(wilson_low_reached, 100)
    assert chances(pair("0.95", "0.80", cap=100), rate)[0] <= 0.046
