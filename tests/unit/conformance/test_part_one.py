# SPDX-License-Identifier: Apache-2.0
"""Shapes of part 1, through the product's own functions."""

from __future__ import annotations

import pytest

from truegreen.conformance.shapes import UNSUPPORTED, answer
from truegreen.wiring.conformance import shapes

JSON = {"format": "json", "required_keys": ["label"]}


def found(given: dict) -> tuple[str, str | None]:
    """Verdict and reason."""
    said = answer(given, shapes())
    return said.verdict, said.facts.get("reason")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"expectations": JSON, "output": '{"label": "x"}'}, ("admit", None)),
        ({"expectations": JSON, "output": '{"label": "x"}', "note": "fine"}, ("admit", None)),
        ({"expectations": JSON, "output": "{}"}, ("block", "missing-key")),
        ({"expectations": JSON, "output": ""}, ("block", "empty-output")),
        (
            {"expectations": JSON, "output": '{"label": "x"}', "finish_reason": "length"},
            ("hold", "finish-reason-length"),
        ),
        (
            {"expectations": JSON, "sample": {"output": '{"label": "x"}', "stop_reason": "end_turn"}},
            ("admit", None),
        ),
        (
            {"expectations": JSON, "sample": {"output": '{"label": 1}', "finish_reason": "content_filter"}},
            ("block", "refusal"),
        ),
        ({"expectations": JSON, "sample": {"status": "error", "http": 503}}, ("hold", "status-503")),
        (
            {"expectations": JSON, "sample": {"status": "error", "http": 404, "output": "{}"}},
            ("hold", "status-404"),
        ),
        ({"expectations": JSON, "sample": {"status": "timeout"}}, ("block", "time-limit")),
        ({"expectations": JSON, "sample": {"error_category": "sandbox_error"}}, ("hold", "claimed-outage")),
        (
            {"expectations": JSON, "sample": {"http": 200, "output": '{"label": "x"}', "passed": True}},
            ("admit", None),
        ),
        (
            {"expectations": JSON, "sample": {"http": 200, "output": "{}", "passed": True}},
            ("block", "missing-key"),
        ),
    ],
)
def test_one_answer_is_judged(given, expected):
    """Admit, block, or hold what is no evidence."""
    assert expected == found(given)


@pytest.mark.parametrize(
    "given",
    [
        {"expectations": JSON},
        {"expectations": JSON, "output": 5},
        {"expectations": JSON, "sample": {"status": "ok"}},
        {"expectations": JSON, "sample": {"output": "{}", "stream_ended": False}},
        {"expectations": JSON, "output": "{}", "tool": "x"},
        {"expectations": "json", "output": "{}"},
        {"expectations": {"sounds_nice": True}, "output": "{}"},
        {"expectations": {}, "output": "{}"},
        {"policy": {"n": 3, "k": 3, "source": "junit"}, "junit": "<x/>"},
        {"policy": {"n": "3"}, "samples": []},
        {"policy": {"n": 3, "k": True}, "samples": []},
        {"policy": {"n": 3, "threshold": "high"}, "samples": []},
        {"policy": {"n": 3, "colour": "red"}, "samples": []},
        {"policy": {"n": 3}, "samples": [{"label": "x"}]},
        {"policy": {"n": 3}, "samples": ["pass"]},
        {"policy": {"k": 3}, "samples": []},
        {"base_params": "open('x')", "head_params": "[]"},
        {"base_params": "[1", "head_params": "[]"},
        {"base_params": "[" * 200 + "]" * 200, "head_params": "{}"},
        {"base_params": 5, "head_params": "[]"},
        {"base_params": "[]", "head_params": "[]", "ledger_history": "x"},
        {"base_params": "[]" + " " * 10_001, "head_params": "[]"},
    ],
)
def test_what_is_not_understood_is_unsupported(given):
    """An unknown key, expectation or type is never guessed at."""
    assert UNSUPPORTED == answer(given, shapes()).verdict


def rows(text: str) -> list[dict]:
    """``"PFE"`` as rows: pass, fail, error."""
    kinds = {"P": {"verdict": "pass"}, "F": {"verdict": "fail"}, "E": {"status": "error", "http": 500}}
    return [{"sample": place, **kinds[letter]} for place, letter in enumerate(text)]


@pytest.mark.parametrize(
    ("text", "k", "expected"),
    [
        ("PPPPP", 4, "admit"),
        ("PPPPF", 4, "admit"),
        ("PPPFF", 4, "block"),
        ("PPPEF", 4, "hold"),
        ("PPP", 4, "hold"),
        ("PPPP", 4, "admit"),
        ("FFF", 3, "block"),
        ("", 1, "hold"),
        ("PPPPPF", 5, "admit"),
    ],
)
def test_k_of_n_is_decided_when_no_completion_changes_it(text, k, expected):
    """Errors and missing rows are neither passes nor failures; rows beyond n are left."""
    said = answer({"policy": {"n": 5, "k": k}, "samples": rows(text)}, shapes())
    assert (expected, 5) == (said.verdict, said.facts["sum"])


def test_without_k_all_of_n_have_to_pass():
    """The article's rule."""
    assert "admit" == found({"policy": {"n": 3}, "samples": rows("PPP")})[0]
    assert "block" == found({"policy": {"n": 3}, "samples": rows("PPF")})[0]


def test_rewards_pass_from_the_threshold_on():
    """Full reward unless the policy says otherwise."""
    given = {"policy": {"n": 1, "threshold": 0.5}, "samples": [{"reward": 0.7}]}
    assert "admit" == found(given)[0]
    assert "block" == found({**given, "policy": {"n": 1}})[0]


def test_a_number_that_comes_twice_blocks():
    """The rows contradict each other, whatever they say."""
    twice = [{"n": 1, "verdict": "pass"}, {"n": 1, "verdict": "pass"}]
    assert ("block", "sample-number-twice") == found({"policy": {"n": 2}, "samples": twice})


def test_a_policy_that_decides_nothing_holds():
    """Six of five can never pass: that says nothing of the change."""
    assert ("hold", "rule-out-of-range") == found({"policy": {"n": 5, "k": 6}, "samples": rows("PPPPP")})


@pytest.mark.parametrize(
    ("base", "head", "history", "expected"),
    [
        ("['a', 'b']", "['b', 'a']", {"test[a]": "stable"}, ("admit", None)),
        ("['a', 'b']", "['b']", {"test[b]": "stable"}, ("admit", None)),
        ("['a', 'b']", "['b']", {"test[a]": "quarantined"}, ("hold", "tests-removed")),
        ("['1', 2]", "['1', 2, 3]", {}, ("admit", None)),
        ("[1, 2]", "['1', 2]", {}, ("hold", "unstable-id")),
        ("[1, '1']", "[1, '1']", {}, ("hold", "unstable-id")),
        ("[[1], [2]]", "[[2], [1]]", {}, ("hold", "unstable-id")),
        (["a"], ["a", "c"], {"nothing": 1}, ("admit", None)),
    ],
)
def test_history_is_joined_only_by_ids_that_mean_one_case(base, head, history, expected):
    """Order and additions change nothing; counters, places, other values and lost history hold."""
    assert expected == found({"base_params": base, "head_params": head, "ledger_history": history})
