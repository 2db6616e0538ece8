# SPDX-License-Identifier: Apache-2.0
"""Draws depend on what they say and on nothing else, and have the laws they say."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from truegreen.endpoint.draw import (
    Outcome,
    draw,
    fault_of,
    latency_s,
    outcome_of,
    prompt_digest,
    request_id,
    uniform,
)
from truegreen.endpoint.scenario import Fault, Latency, PrefixCache, ResponseCache, Rule, Scenario

DIGEST = prompt_digest([{"role": "user", "content": "x"}])
FLAKY = Rule(
    id="r", answer="good", fails=("bad", "worse"), pass_rate=0.7, refuse_rate=0.1, truncate_rate=0.05
)


def _scenario(rule, seed="s"):
    return Scenario(seed=seed, rules=(rule,))


def _drawn(rule, n=2000, *, seed="s", digest=DIGEST):
    scenario = _scenario(rule, seed)
    return [draw(scenario, rule, digest=digest, sample=str(number)) for number in range(1, n + 1)]


def test_a_draw_is_the_same_in_every_process():
    """Hash seeds, platforms and versions change nothing; the figures were made with sha256sum."""
    assert [0.44461574416028016, 0.8402411423050443] == [uniform("s", "1"), uniform("s", "2")]
    code = "from truegreen.endpoint.draw import uniform; print(repr(uniform('s', '1')))"
    shown = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "7")
    }
    assert {"0.44461574416028016\n"} == shown


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_draws_lie_in_the_unit_interval_and_differ_with_their_parts(one, other):
    """Parts are kept apart: moving a character from one to the next is another draw."""
    assert 0 <= uniform(*one) < 1
    assert (uniform(*one) == uniform(*other)) is (one == other)


def test_draws_are_uniform_and_independent_of_their_neighbours():
    """Against scipy: a Kolmogorov-Smirnov test, and the correlation with the next draw."""
    numbers = [uniform("seed", DIGEST, str(n), "outcome") for n in range(5000)]
    assert stats.kstest(numbers, "uniform").pvalue > 0.01
    assert abs(stats.pearsonr(numbers[:-1], numbers[1:]).statistic) < 0.05


def test_outcomes_have_the_rates_of_the_rule():
    """Each within what a binomial law of the same size allows."""
    drawn = _drawn(FLAKY)
    rates = {Outcome.PASS: 0.7, Outcome.REFUSAL: 0.1, Outcome.LENGTH: 0.05, Outcome.FAIL: 0.15}
    for outcome, rate in rates.items():
        count = sum(one.outcome is outcome for one in drawn)
        assert stats.binomtest(count, len(drawn), rate).pvalue > 0.001
    texts = [one.text for one in drawn if one.outcome is Outcome.FAIL]
    assert stats.binomtest(texts.count("bad"), len(texts), 0.5).pvalue > 0.001
    assert {"bad", "worse"} == set(texts)


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1), st.floats(0, 1))
def test_a_sample_that_passes_passes_at_every_higher_rate(u, low, high):
    """So that two scenarios of one seed differ only where their rates do."""
    low, high = sorted((low, high))
    one, other = (Rule(id="r", answer="a", fails=("b",), pass_rate=rate) for rate in (low, high))
    if outcome_of(one, u) is Outcome.PASS:
        assert Outcome.PASS is outcome_of(other, u)


@pytest.mark.parametrize(("rate", "outcome"), [(0.0, Outcome.FAIL), (1.0, Outcome.PASS)])
def test_certain_rates_are_certain(rate, outcome):
    """No sample of thousands escapes."""
    rule = Rule(id="r", answer="a", fails=("b",), pass_rate=rate)
    assert {outcome} == {one.outcome for one in _drawn(rule)}


def test_prompts_and_seeds_have_sequences_of_their_own():
    """The same sample number of another prompt or seed is another draw."""
    mine = [one.outcome for one in _drawn(FLAKY, 200)]
    assert mine == [one.outcome for one in _drawn(FLAKY, 200)]
    assert mine != [one.outcome for one in _drawn(FLAKY, 200, seed="t")]
    assert mine != [
        one.outcome for one in _drawn(FLAKY, 200, digest=prompt_digest([{"role": "user", "content": "y"}]))
    ]


@pytest.mark.parametrize(
    ("latency", "law"),
    [
        (Latency(law="exponential", ms=200), stats.expon(scale=0.2)),
        (Latency(law="lognormal", ms=200, sigma=0.5), stats.lognorm(s=0.5, scale=0.2)),
    ],
)
def test_latencies_have_their_law(latency, law):
    """Against scipy's distributions with the same parameters."""
    times = [latency_s(latency, Outcome.PASS, uniform("t", str(n))) for n in range(3000)]
    assert stats.kstest(times, law.cdf).pvalue > 0.01


@given(st.sampled_from(["constant", "exponential", "lognormal"]), st.floats(0, 1, exclude_max=True))
def test_other_outcomes_are_slower_by_their_factor(law, u):
    """And every time is finite and not negative, at the edges of the draw too."""
    latency = Latency(law=law, ms=100, fail_factor=3)
    quick = latency_s(latency, Outcome.PASS, u)
    assert math.isfinite(quick)
    assert quick >= 0
    for outcome in (Outcome.FAIL, Outcome.REFUSAL, Outcome.LENGTH):
        assert math.isclose(3 * quick, latency_s(latency, outcome, u))


def test_a_constant_time_is_constant():
    """In seconds, as asked in milliseconds."""
    assert 0.25 == latency_s(Latency(ms=250), Outcome.PASS, 0.9)


def test_a_stored_answer_is_one_answer():
    """All samples that the response cache answers get one and the same; the others are drawn as ever."""
    plain = _drawn(FLAKY, 300)
    cached = Rule(
        id="r", answer="good", fails=("bad", "worse"), pass_rate=0.7, refuse_rate=0.1, truncate_rate=0.05,
        response_cache=ResponseCache(share=0.5),
    )  # fmt: skip
    drawn = _drawn(cached, 300)
    stored = [one for one in drawn if one.is_stored]
    assert 100 < len(stored) < 200
    assert 1 == len({(one.outcome, one.text) for one in stored})
    assert all(
        one.outcome is other.outcome for one, other in zip(drawn, plain, strict=True) if not one.is_stored
    )


def test_warm_samples_report_cached_tokens():
    """With the share that the rule says; without the rule none does."""
    rule = Rule(id="r", answer="a", prefix_cache=PrefixCache(tokens=64, share=0.25))
    counts = [one.cached_tokens for one in _drawn(rule)]
    assert {0, 64} == set(counts)
    assert stats.binomtest(counts.count(64), len(counts), 0.25).pvalue > 0.001
    assert {0} == {one.cached_tokens for one in _drawn(FLAKY, 50)}


def _faults(rule, samples, arrivals=None):
    before = arrivals or {"sample": 0, "prompt": 0, "endpoint": 0}
    return [fault_of(_scenario(rule), rule, digest=DIGEST, sample=str(n), arrivals=before) for n in samples]


def test_faults_by_share_are_drawn_anew_for_each_arrival():
    """A retry of the same sample has its own chance; the same arrival always meets the same."""
    rule = Rule(id="r", answer="a", faults=(Fault(kind="status", share=0.3),))
    first = _faults(rule, range(1000))
    again = _faults(rule, range(1000), {"sample": 1, "prompt": 9, "endpoint": 9})
    assert first == _faults(rule, range(1000), {"sample": 0, "prompt": 9, "endpoint": 9})
    assert stats.binomtest(sum(map(bool, first)), 1000, 0.3).pvalue > 0.001
    both = sum(1 for one, other in zip(first, again, strict=True) if one and other)
    assert stats.binomtest(both, 1000, 0.09).pvalue > 0.001


@pytest.mark.parametrize("per", ["sample", "prompt", "endpoint"])
def test_first_faults_end_with_their_count(per):
    """Counted by what the fault says, whatever the other counts are."""
    rule = Rule(id="r", answer="a", faults=(Fault(kind="status", first=2, per=per),))
    others = {"sample": 9, "prompt": 9, "endpoint": 9}
    hit = [_faults(rule, [1], {**others, per: count})[0] is not None for count in range(4)]
    assert [True, True, False, False] == hit


def test_the_first_fault_that_hits_is_the_one():
    """Order in the file is order of precedence."""
    one, other = Fault(kind="status", share=1), Fault(kind="cut", share=1)
    assert [one] == _faults(Rule(id="r", answer="a", faults=(one, other)), [1])
    assert [other] == _faults(Rule(id="r", answer="a", faults=(Fault(kind="hang"), other)), [1])


def test_request_ids_are_the_arrivals_own():
    """Distinct for every seed, prompt, sample and arrival."""
    ids = {
        request_id(_scenario(FLAKY, seed), digest=digest, sample=sample, arrival=arrival)
        for seed in "ab"
        for digest in "cd"
        for sample in ("1", "2", "11")
        for arrival in range(3)
    }
    assert 36 == len(ids)


def test_equal_prompts_share_a_digest():
    """Order of names is no difference, every value is."""
    assert prompt_digest([{"a": 1, "b": 2}]) == prompt_digest([{"b": 2, "a": 1}])
    assert 4 == len({prompt_digest([{"a": value}]) for value in (1, "1", None, [1])})
