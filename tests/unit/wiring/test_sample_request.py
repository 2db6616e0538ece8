# SPDX-License-Identifier: Apache-2.0
"""Options before the article's variables before the policy."""

from pathlib import Path

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.core.policy_read import read_policy
from truegreen.gate.decide import RULES
from truegreen.sampling.sequential import fixed, smoke
from truegreen.wiring.sample_request import SampleRequest, count_in, flaky_budget, rule_of


def _lane(more=""):
    text = f'schema = "truegreen/policy/v1"\n[lanes.a]\ntests = "t"\n{more}\n'
    return read_policy(text.encode(), kinds=RULES.facts()).lanes[0]


def _rule(lane=None, environment=None, **asked):
    return rule_of(SampleRequest(cwd=Path(), **asked), lane or _lane(), environment or {})


def test_the_policy_decides_where_nothing_else_does():
    """Rule, cap and n of the lane."""
    assert smoke() == _rule()
    assert smoke(40) == _rule(_lane("cap = 40"))
    assert fixed(7) == _rule(_lane('rule = "fixed"\nsamples = 7'))


def test_options_go_before_variables_before_the_policy():
    """A number means the fixed rule."""
    assert fixed(3) == _rule(environment={"SAMPLE_RUNS": "3"})
    assert fixed(9) == _rule(environment={"SAMPLE_RUNS": "3"}, runs=9)
    assert fixed(9) == _rule(rule="fixed", runs=9)
    assert fixed(5) == _rule(rule="fixed")
    assert smoke() == _rule(environment={"SAMPLE_RUNS": "3"}, rule="smoke")


def test_a_number_and_smoke_contradict_each_other():
    """Nobody guesses which was meant."""
    with pytest.raises(UsageProblem) as caught:
        _rule(rule="smoke", runs=3)
    assert "rules-contradict" == caught.value.code


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "five", "10001", "٣", "1e3", "99999999999999999999"])
def test_what_is_no_count_is_an_error(text):
    """Never the default."""
    with pytest.raises(UsageProblem) as caught:
        _rule(environment={"SAMPLE_RUNS": text})
    assert "bad-count" == caught.value.code


def test_an_unset_budget_is_none_and_zero_is_zero():
    """An empty variable is not set."""
    assert None is flaky_budget({})
    assert None is flaky_budget({"FLAKY_BUDGET": " "})
    assert 0 == flaky_budget({"FLAKY_BUDGET": "0"})
    assert 10_000 == count_in({"X": "10000"}, "X", least=1)
