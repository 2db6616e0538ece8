# SPDX-License-Identifier: Apache-2.0
"""Which rule answers which request."""

import re

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.endpoint.scenario import Match, Rule, Scenario, matches, rule_for


@pytest.mark.parametrize(
    ("match", "is_meant"),
    [
        (Match(), True),
        (Match(contains="Change"), True),
        (Match(contains="change"), False),
        (Match(model="m-1"), True),
        (Match(model="m"), False),
        (Match(pattern=re.compile("^Änd|log$")), True),
        (Match(pattern=re.compile("^log")), False),
        (Match(contains="Change", model="m-2"), False),
        (Match(contains="Change", model="m-1", pattern=re.compile("log")), True),
    ],
)
def test_everything_that_is_given_must_hold(match, is_meant):
    """Texts as they are, models whole, expressions anywhere."""
    assert is_meant is matches(match, prompt="Changelog", model="m-1")


def test_the_first_rule_that_matches_decides():
    """Later ones wait for what it leaves."""
    rules = (
        Rule(id="a", when=Match(contains="x"), answer="1"),
        Rule(id="b", when=Match(contains="xy"), answer="2"),
        Rule(id="c", when=Match(model="m"), answer="3"),
    )
    scenario = Scenario(seed="s", rules=rules)
    assert "a" == rule_for(scenario, prompt="xy", model="m").id
    assert "c" == rule_for(scenario, prompt="z", model="m").id
    assert None is rule_for(scenario, prompt="z", model="n")


@pytest.mark.parametrize(
    "options",
    [
        {"pass_rate": 0.5},
        {"pass_rate": 0.9, "refuse_rate": 0.2, "fails": ("x",)},
        {"pass_rate": 1.1},
        {"pass_rate": -0.1, "fails": ("x",)},
    ],
)
def test_a_rule_whose_failures_have_no_answer_is_none(options):
    """A failing sample that got the passing answer would make the oracle lie."""
    with pytest.raises(UsageProblem) as caught:
        Rule(id="r", answer="a", **options)
    assert "bad-scenario" == caught.value.code


def test_decimals_that_sum_to_one_are_one():
    """0.7 + 0.2 + 0.1 is not 1 in binary."""
    assert 0.7 == Rule(id="r", answer="a", pass_rate=0.7, refuse_rate=0.2, truncate_rate=0.1).pass_rate
