# SPDX-License-Identifier: Apache-2.0
"""What a difference between a recording and today's answer weighs."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from factories.contracts import SCHEMA, contract_files
from truegreen.cassettes.contracts import read_contracts
from truegreen.cassettes.upkeep.decisions import decided
from truegreen.cassettes.upkeep.drift import (
    MOST_FINDINGS,
    WEIGHTS,
    compared,
    lines,
    turn,
    unknown,
    verdict,
    with_models,
)

BUG = {"label": "bug", "reason": "x"}
OPEN = {"schema": {name: rule for name, rule in SCHEMA.items() if name in ("$schema", "type")}}


def _decided(value, **more):
    text = value if isinstance(value, str) else json.dumps(value)
    body = json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": text}}]}).encode()
    return decided(read_contracts(contract_files(**more)).of("labels"), body, "application/json")


def _compared(today, *recorded, **more):
    return compared(
        "a.json", "labels", [_decided(one, **more) for one in recorded or (BUG,)], _decided(today, **more)
    )


def _codes(result):
    return [one.code for one in result.findings]


def test_other_words_are_no_drift():
    """Prose is never compared."""
    result = _compared(BUG | {"reason": "entirely other words"})
    assert ([], False) == (_codes(result), result.is_flipped)


@pytest.mark.parametrize(
    ("today", "codes"),
    [
        (BUG | {"severity": 3}, ["field-new"]),
        ({"label": "bug"}, ["contract-broken", "field-removed"]),
        (BUG | {"reason": 3}, ["contract-broken", "field-type"]),
        (BUG | {"label": "feature"}, ["decision-flip"]),
        (BUG | {"label": "other"}, ["contract-broken", "decision-flip"]),
        ("I think it is a bug.", ["contract-broken"]),
        ('{"label": "bug"', ["contract-broken"]),
    ],
)
def test_each_difference_has_its_code(today, codes):
    """By contract, by shape, by declared decision."""
    assert codes == _codes(_compared(today))


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        (1, 1.5, []),
        (1, "1", ["field-type"]),
        (True, 1, ["field-type"]),
        (None, "x", ["field-null"]),
        ("x", None, ["field-null"]),
        ({"a": 1}, [1], ["field-new", "field-removed", "field-type"]),
        ([1, 2], [1], []),
        ([], [{"a": 1}], ["field-new"]),
        ({"a": {"b": 1}}, {}, ["field-removed"]),
        ([1], ["x"], ["field-type"]),
    ],
)
def test_shapes_are_types_by_path(old, new, codes):
    """Lists by their elements, null as nothing known, a removed object told once."""
    result = _compared({"x": new}, {"x": old}, decision=(), **OPEN)
    assert codes == sorted(_codes(result))


def test_a_decision_that_was_recorded_once_is_no_flip():
    """The same request was recorded with two answers: either may come."""
    assert _compared(BUG | {"label": "feature"}, BUG, BUG | {"label": "feature"}).is_flipped is False
    assert _compared(BUG | {"label": "feature"}, BUG, BUG).is_flipped is True


def test_without_declared_fields_nothing_can_flip():
    """And nothing is claimed."""
    result = _compared(BUG | {"label": "feature"}, decision=())
    assert (None, 0) == (result.is_flipped, verdict([result]).decisions)


def test_another_model_that_answers_is_a_note():
    """Unless any recorded answer came from it, or nobody says who answered."""
    same = _compared(BUG)
    assert ["model-served"] == _codes(with_models(same, ["m-1"], "m-2"))
    for recorded, today in ((["m-1", "m-2"], "m-2"), ([], "m-2"), (["m-1"], None)):
        assert [] == _codes(with_models(same, recorded, today))


def _results(flips, asked):
    return [_compared(BUG | {"label": "feature" if n < flips else "bug"}) for n in range(asked)]


@pytest.mark.parametrize(
    ("flips", "asked", "word"),
    [
        (0, 10, "no-drift-shown"),
        (1, 10, "no-drift-shown"),
        (2, 10, "no-drift-shown"),
        (3, 10, "drift"),
        (1, 1, "no-drift-shown"),
        (2, 2, "drift"),
    ],
)
def test_one_flip_is_an_accident_and_several_are_drift(flips, asked, word):
    """As soon as the exact lower bound is above what is allowed, by an independent computation."""
    found = verdict(_results(flips, asked))
    assert word == found.word
    low = binomtest(flips, asked, alternative="greater").proportion_ci(0.95, method="exact").low
    assert (word == "drift") is (low > 0.05 + 1e-9)
    assert abs(float(found.flips_at_least.removesuffix(" %")) / 100 - low) < 2e-4


def test_what_is_allowed_is_the_callers():
    """Half of the decisions may flip where somebody says so."""
    assert "no-drift-shown" == verdict(_results(3, 10), Fraction(1, 2)).word


def test_a_broken_contract_is_drift_whatever_else():
    """One is enough, and it is named."""
    found = verdict([*_results(0, 9), _compared("no JSON")])
    assert ("drift", True) == (found.word, "contract-broken" in found.because)


@pytest.mark.parametrize(
    ("judged", "lost", "word"),
    [(1, 1, "no-drift-shown"), (1, 2, "unknown"), (0, 0, "unknown"), (0, 5, "unknown")],
)
def test_fewer_than_half_is_no_answer(judged, lost, word):
    """And nothing at all is none either."""
    results = [*_results(0, judged), *(unknown("a.json", "labels", "not-asked", "503") for _ in range(lost))]
    found = verdict(results)
    assert (word, judged, judged) == (found.word, found.asked, found.judged)


def test_drift_that_was_seen_outweighs_what_was_not():
    """A broken contract among outages is drift."""
    results = [_compared("no JSON"), *(unknown("b.json", "labels", "not-judged", "br") for _ in range(9))]
    assert "drift" == verdict(results).word


def test_a_hostile_answer_fills_no_page_and_shows_no_secret():
    """Names of fields come from the model."""
    secret = "sk-proj-0aB1cD2eF3gH4iJ5kL6mN7oP"
    result = _compared(BUG | {f"f{n}": n for n in range(500)} | {secret: 1, "y" * 5000: 1})
    assert MOST_FINDINGS == len(result.findings)
    everything = "\n".join(lines(verdict([result]), [result]))
    assert (False, True) == (secret in everything, len(everything) < 10_000)


@given(count=st.integers(1, 60), size=st.integers(1, 70), start=st.integers(0, 10**6))
def test_a_round_asks_every_recording(count, size, start):
    """Whatever their number: after so many turns each had its turn, and no turn asks one twice."""
    keys = [f"{n:03}" for n in range(count)]
    rounds = [turn(keys, size, start + n) for n in range(-(-count // min(size, count)) + 1)]
    assert set(keys) == {key for one in rounds for key in one}
    assert all(len(set(one)) == len(one) == min(size, count) for one in rounds)


def test_a_turn_does_not_depend_on_the_order_of_names():
    """Only on the keys."""
    assert turn(["c", "a", "b"], 2, 4) == turn(["a", "b", "c"], 2, 4)
    assert () == turn([], 3, 1)


def test_the_heaviest_comes_first():
    """Drift, then warnings, then notes."""
    weights = [line.split()[0] for line in lines(verdict([]), [_compared({"label": "other", "extra": 1})])][
        2:
    ]
    assert weights == sorted(weights, key=["drift", "warning", "note", "unknown"].index)
    assert set(weights) <= {weight.value for weight in WEIGHTS.values()}
