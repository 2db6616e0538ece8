# SPDX-License-Identifier: Apache-2.0
"""From numbered samples to states: buckets, gaps, copies, cold and warm, attempts."""

from __future__ import annotations

from itertools import permutations, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.sampling.bounds import anytime_low, exact_high, exact_low
from truegreen.sampling.ledger import Sample
from truegreen.sampling.sequential import Ruling, fixed, named, read, smoke
from truegreen.sampling.states import (
    Cause,
    State,
    disqualified,
    in_order,
    joined,
    state,
    tally,
)

BUCKET = {"P": "pass", "F": "fail", "I": "invalid", "T": "transport", "C": "claimed-transport"}


def samples(text: str, *, first: int = 1) -> tuple[Sample, ...]:
    """``"PPF"`` as samples numbered from ``first``; a blank leaves its number out; ``p`` and ``f`` are warm."""
    return tuple(
        Sample(n=number, bucket=BUCKET[letter.upper()], cached_tokens=512 if letter.islower() else 0)
        for number, letter in enumerate(text, start=first)
        if letter != " "
    )


def found(text: str, rule=None, *, cases: int = 12, **also) -> tuple[str, str]:
    """State and cause of a sequence, as words."""
    case = state(samples(text), rule or smoke(), cases=cases, **also)
    return case.state.value, case.cause.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PPPPPP", ("stable-pass", "")),
        ("FFF", ("never-passed", "")),
        ("PFFFF", ("flaky-mostly-failing", "")),
        ("PPPPFPPPPPP", ("stable-pass", "")),
        ("PF" * 4, ("flaky-mostly-failing", "")),
        ("PPPPP", ("inconclusive", "missing")),
        ("", ("inconclusive", "missing")),
    ],
)
def test_states_of_a_sequential_rule(text, expected):
    """PASS, FAIL without and with a pass, and a sequence that ends too early."""
    assert expected == found(text)


def test_a_high_rate_at_the_fail_stop_is_mostly_passing():
    """16 of 23 with the failures spread: FAIL, and .60 is rejected too; the same with one pass fewer is not."""
    assert ("flaky-mostly-passing", "") == found("PPPFPPPFPPPFPPPFPPFPFPF")
    assert ("flaky-mostly-failing", "") == found("PPPFPPPFPPPFFF")


def test_the_cap_is_inconclusive_whatever_the_rate():
    """A middling sequence that crosses neither bound in 33 samples gets no verdict by point estimate."""
    text = ("PPPF" * 9)[:33]
    assert 33 == len(text)
    assert ("inconclusive", "cap") == found(text)
    assert ("inconclusive", "cap") == found(text + "FFFFFFFFFF")


@pytest.mark.parametrize("text", ["".join(row) for row in product("PF", repeat=5)])
def test_states_of_the_fixed_rule_are_the_articles_rows(text):
    """All outcomes of five: 5 stable, 0 never, from .60 mostly passing (3 of 5), else mostly failing."""
    passes = text.count("P")
    expected = {0: "never-passed", 5: "stable-pass"}.get(
        passes, "flaky-mostly-passing" if passes >= 3 else "flaky-mostly-failing"
    )
    assert (expected, "") == found(text, fixed(5))
    assert ("inconclusive", "missing") == found(text[:4], fixed(5))


@given(st.lists(st.booleans(), max_size=40))
def test_plain_sequences_agree_with_the_rule(outcomes):
    """With passes and failures only, the state is what ``read`` says of the outcomes."""
    text = "".join("P" if passed else "F" for passed in outcomes)
    verdict = read(outcomes, smoke(), cases=12)
    case = state(samples(text), smoke(), cases=12)
    kinds = {
        Ruling.PASS: {State.STABLE_PASS},
        Ruling.FAIL: {State.NEVER_PASSED, State.MOSTLY_PASSING, State.MOSTLY_FAILING},
        Ruling.UNDECIDED: {State.INCONCLUSIVE},
    }
    assert case.state in kinds[verdict.ruling]
    assert (verdict.at, verdict.passes) == (case.tally.read, case.tally.passed)
    assert len(outcomes) == case.tally.read + case.tally.left


BETTER = {"F": "ICP", "I": "P", "C": "P"}


@given(
    st.text(alphabet="PFIC", max_size=36), st.integers(0, 35), st.sampled_from([smoke(), fixed(5), fixed(3)])
)
def test_a_worse_sample_never_makes_a_case_pass(text, where, rule):
    """Turning any pass into a failure, or into a sample without a verdict, never yields stable-pass."""
    if where >= len(text) or found(text, rule)[0] == "stable-pass":
        return
    for worse, betters in BETTER.items():
        if text[where] in betters:
            changed = text[:where] + worse + text[where + 1 :]
            assert "stable-pass" != found(changed, rule)[0] or found(text[: where + 1], rule) == found(
                changed[: where + 1], rule
            )


def test_invalid_and_claimed_samples_never_leave_the_denominator():
    """Six passes certify; with one sample without a verdict among them they do not, and four more passes do."""
    assert ("inconclusive", "missing") == found("PPPIPPP")
    assert ("inconclusive", "missing") == found("PPPCPPP")
    assert ("stable-pass", "") == found("PPPIPPPPPPP")
    assert ("stable-pass", "") == found("PPPCPPPPPPP")


def test_claimed_transport_says_nothing_towards_fail():
    """Two failures and claimed losses: not a FAIL; a third failure is one."""
    assert "inconclusive" == found("FCFC")[0]
    assert ("never-passed", "") == found("FCFCF")


def test_invalid_samples_soften_a_fail():
    """An invalid sample might have passed: three failures beside two are FAIL, beside three they are not yet."""
    assert ("never-passed", "") == found("IIFFF")
    assert "inconclusive" == found("IIIFFF")[0]
    assert ("never-passed", "") == found("IIIFFFF")


def test_a_cap_spoiled_by_invalid_samples_says_so():
    """At the cap the cause is the invalid samples if the others alone would have decided."""
    rule = smoke(cap=8)
    assert ("inconclusive", "invalid") == found("PPIPPIPP", rule)
    assert ("inconclusive", "cap") == found("PPFPPIPP", rule)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PPPPI", ("inconclusive", "invalid")),  # 4 or 5 of 5
        ("PPPFI", ("flaky-mostly-passing", "")),  # 3 or 4 of 5
        ("PPFFI", ("inconclusive", "invalid")),  # 2 or 3 of 5
        ("PFFFI", ("flaky-mostly-failing", "")),  # 1 or 2 of 5
        ("FFFFI", ("never-passed", "")),  # 0 or 1 of 5, and no pass was seen
        ("PPPPC", ("inconclusive", "claimed-transport")),
        ("PPIII", ("inconclusive", "invalid")),
        ("IIIII", ("inconclusive", "invalid")),
    ],
)
def test_under_fixed_both_readings_must_agree(text, expected):
    """A sample without a verdict is taken as a failure and as a pass; if that straddles, there is no verdict."""
    assert expected == found(text, fixed(5))


def test_a_transport_loss_ends_the_reading_where_it_stands():
    """What was lost was not measured, whatever came after it; a verdict before it stands."""
    assert ("inconclusive", "transport") == found("PPT" + "P" * 30)
    assert ("stable-pass", "") == found("PPPPPPT")
    assert ("inconclusive", "transport") == found("T", fixed(5))


def test_an_outage_blames_nobody():
    """Every sample lost: inconclusive by transport, with nothing claimed of the rate."""
    case = state(samples("TTTT"), smoke(), cases=12)
    assert (State.INCONCLUSIVE, Cause.TRANSPORT) == (case.state, case.cause)
    assert (0, 0, 1, 3) == (case.tally.passed, case.tally.failed, case.tally.transport, case.tally.left)
    assert (0.0, 1.0) == (case.bounds.low, case.bounds.high)


def test_too_many_redraws_withhold_pass_and_not_fail():
    """A fourth redraw under cap 33 turns a PASS into inconclusive; it does not excuse failures."""
    lucky = [Sample(n=n, bucket="pass", replaces=1 if n < 5 else 0) for n in range(1, 7)]
    assert Cause.TRANSPORT is state(lucky, smoke(), cases=12).cause
    assert State.STABLE_PASS is state(lucky, smoke(), cases=12, attempts=2).state
    assert State.STABLE_PASS is state(lucky[1:4] + lucky[4:] + lucky[:1], smoke(cap=60), cases=12).state
    dead = [Sample(n=n, bucket="fail", replaces=4) for n in range(1, 4)]
    assert State.NEVER_PASSED is state(dead, smoke(), cases=12).state


def test_a_gap_ends_the_prefix():
    """Numbers 1, 2, 4 …: only two samples are read; the others are disclosed as left."""
    case = state(samples("PP PPPPP"), smoke(), cases=12)
    assert (State.INCONCLUSIVE, Cause.MISSING) == (case.state, case.cause)
    assert (2, 5) == (case.tally.read, case.tally.left)
    assert (0, 6) == (tally(samples(" PPPPPP")).read, tally(samples(" PPPPPP")).left)


def test_the_reason_for_stopping_early_is_kept():
    """A budget that ran out is the cause, not a missing sample; it never overrides a decision or the cap."""
    assert ("inconclusive", "budget") == found("PP", truncated=Cause.BUDGET)
    assert ("stable-pass", "") == found("PPPPPP", truncated=Cause.BUDGET)
    assert ("inconclusive", "cap") == found("PPPF" * 2, smoke(cap=8), truncated=Cause.BUDGET)


def test_the_order_of_arrival_does_not_matter():
    """Samples are read by number however they are handed over."""
    numbered = samples("PFPPF")
    expected = state(numbered, smoke(), cases=12)
    for shuffled in permutations(numbered):
        assert expected == state(shuffled, smoke(), cases=12)


def test_two_samples_with_one_number_contradict():
    """Equal or not, a number comes once: the error says that the evidence speaks against itself."""
    for second in ("pass", "fail"):
        with pytest.raises(EvidenceProblem) as caught:
            tally([Sample(n=1, bucket="pass"), Sample(n=1, bucket=second)])
        assert ("sample-number-twice", True) == (caught.value.code, caught.value.contradictory)


@pytest.mark.parametrize(
    "sample", [Sample(n=0, bucket="pass"), Sample(n=-3, bucket="fail"), Sample(n=1, bucket="ok")]
)
def test_impossible_samples_are_refused(sample):
    """A number below 1 or an unknown bucket is no evidence."""
    with pytest.raises(EvidenceProblem, match="cannot be"):
        in_order([sample])


def test_warm_passes_never_outvote_a_failing_cold_sample():
    """The first answer without the prefix cache fails, all later ones come from it and pass: no PASS."""
    assert ("inconclusive", "cold") == found("F" + "p" * 32)
    assert 10 == state(samples("F" + "p" * 32), smoke(), cases=12).tally.read
    assert ("flaky-mostly-failing", "") == found("Fpppp", fixed(5))


def test_cold_passes_may_outvote_a_cold_failure():
    """Nine cold passes certify beside one cold failure, however many warm passes stand between them."""
    assert ("stable-pass", "") == found("F" + "P" * 9)
    assert ("stable-pass", "") == found("Fppp" + "P" * 9)
    assert ("inconclusive", "cold") == found("Fppp" + "P" * 8 + "f" + "p" * 20)
    assert ("inconclusive", "cold") == found("FpppPPPPPPPP"[:12], smoke(cap=12))


def test_without_a_failing_cold_sample_warm_ones_count_as_any():
    """Passes after a cold pass, and a warm failure among them, are read like cold ones."""
    assert ("stable-pass", "") == found("PPpppp")
    assert ("stable-pass", "") == found("fppppppppp")
    assert ("flaky-mostly-failing", "") == found("Fpffff")


def test_warm_passes_beside_a_cold_failure_are_never_mostly_passing():
    """The sequence that is mostly passing when cold is mostly failing when its passes are warm."""
    assert ("flaky-mostly-failing", "") == found("pppFpppFpppFpppFppFpFpF")


def test_a_response_cache_mark_disqualifies_a_sample():
    """An answer out of a cache is no sample: it is invalid, towards PASS a failure."""
    marked = [Sample(n=n, bucket="pass", marks=("x-cache: hit",) if n == 2 else ()) for n in range(1, 7)]
    assert (5, 1) == (tally(marked).passed, tally(marked).invalid)
    assert State.STABLE_PASS is not state(marked, smoke(), cases=12).state


def test_copies_of_one_answer_are_one_answer():
    """A request id that comes again disqualifies its sample; blank ids say nothing."""
    copies = [Sample(n=n, bucket="pass", request_ids=("req-1",)) for n in range(1, 34)]
    assert Cause.INVALID is state(copies, smoke(), cases=12).cause
    assert (1, 4) == (
        state(copies, smoke(), cases=12).tally.passed,
        state(copies, smoke(), cases=12).tally.invalid,
    )
    blank = [Sample(n=n, bucket="pass", request_ids=("",)) for n in range(1, 7)]
    assert State.STABLE_PASS is state(blank, smoke(), cases=12).state
    twice_inside = [Sample(n=1, bucket="pass", request_ids=("req-1", "req-1"))]
    assert 1 == tally(twice_inside).invalid


def test_copies_are_found_across_the_cases_of_a_suite():
    """The first by case id and number keeps the id; every other sample that shows it is invalid."""
    suite = {
        "b": (
            Sample(n=1, bucket="fail", request_ids=("r1",)),
            Sample(n=2, bucket="pass", request_ids=("r2",)),
        ),
        "a": (Sample(n=2, bucket="transport"), Sample(n=1, bucket="pass", request_ids=("r1",))),
    }
    checked = disqualified(suite)
    assert ["a", "b"] == list(checked)
    assert ["pass", "transport"] == [sample.bucket for sample in checked["a"]]
    assert [("invalid", "repeated-request-id"), ("pass", "")] == [(s.bucket, s.reason) for s in checked["b"]]


def test_identical_outputs_are_counted():
    """Byte-identical passes are a fact that people should see: a stub answers so, and temperature 0 may."""
    same = "sha256:" + "a" * 64
    numbered = [Sample(n=n, bucket="pass", output_sha256=same if n < 4 else None) for n in range(1, 7)]
    assert 3 == tally(numbered).identical
    assert 0 == tally(samples("PPP")).identical


def test_attempts_are_one_sequence():
    """The second attempt goes on where the first stopped: together they certify what neither does alone."""
    whole = joined([samples("PPP"), samples("PPP", first=4)], smoke())
    assert State.STABLE_PASS is state(whole, smoke(), cases=12, attempts=2).state
    with pytest.raises(EvidenceProblem) as caught:
        joined([samples("PPF"), samples("PPP")], smoke())
    assert ("sample-number-twice", True) == (caught.value.code, caught.value.contradictory)


def test_a_later_attempt_fills_lost_slots_and_only_fixed_fills_missing_ones():
    """A failure is never redrawn; a missing sample may have been a slow failure, so a sequential rule keeps it."""
    again = samples("P", first=2)
    assert "PPP" == "".join(s.bucket[0].upper() for s in joined([samples("PTP"), again], smoke()))
    missing = (Sample(n=1, bucket="pass"), Sample(n=2, bucket="invalid", reason="missing"))
    assert 2 == len(joined([missing, again], fixed(5)))
    for attempts, rule in (
        ([missing, again], smoke()),
        ([samples("PF"), again], fixed(5)),
        ([samples("PI"), again], fixed(5)),
    ):
        with pytest.raises(EvidenceProblem, match="two attempts have a sample 2"):
            joined(attempts, rule)


def test_bounds_stand_for_what_was_read():
    """Anytime-valid after a sequential stop, exact after a fixed n, worst case where samples say nothing."""
    assert anytime_low(6, 6, smoke()) == state(samples("PPPPPPFF"), smoke(), cases=12).bounds.low
    five = state(samples("PPPPI"), fixed(5), cases=12).bounds
    assert (exact_low(4, 5), exact_high(5, 5)) == (five.low, five.high)
    assert state((), smoke(), cases=12).bounds is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PPPPPP", "works at least 57 % of the time (95 % sure)"),
        ("FFF", "works at most 82 % of the time (95 % sure)"),
        ("PFFFF", "works at most 85 % of the time (95 % sure)"),
        ("PP", "works at least 21 % of the time (95 % sure)"),
        ("", "not sampled"),
    ],
)
def test_states_read_as_sentences(text, words):
    """What was proved, for people."""
    assert words == state(samples(text), smoke(), cases=12).words


def test_false_pass_stays_below_alpha_with_every_bucket_at_work():
    """Half of the samples truly fail, some are lost or invalid or claimed at random: PASS in at most 4 %."""
    chance, rule, passed = Random(20261129), named("smoke"), 0
    for _ in range(4000):
        letters = "".join(chance.choices("PFIC", weights=(48, 48, 2, 2), k=33))
        passed += state(samples(letters), rule, cases=12).state is State.STABLE_PASS
    assert passed / 4000 <= 0.04
