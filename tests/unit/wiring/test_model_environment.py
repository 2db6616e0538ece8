# SPDX-License-Identifier: Apache-2.0
"""Which endpoints an environment means."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.wiring.model_environment import read_model_environment, without_proxy

HERE, THERE = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


def _upstreams(**environment):
    return {one.url: one.names for one in read_model_environment(environment).upstreams}


@pytest.mark.parametrize("name", ["MODEL_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_one_name_stands_for_all_of_one_kind(name):
    """Whoever exports one of them has every client observed."""
    assert {HERE: ("MODEL_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE")} == _upstreams(
        **{name: f" {HERE} "}
    )


def test_names_that_differ_are_two_endpoints():
    """Each client keeps its own."""
    assert {
        HERE: ("MODEL_BASE_URL", "OPENAI_API_BASE"),
        THERE: ("OPENAI_BASE_URL",),
    } == _upstreams(MODEL_BASE_URL=HERE, OPENAI_BASE_URL=THERE)


def test_a_vendor_s_own_key_beside_a_model_s_means_the_vendor():
    """A client that knows no address goes where it would go without us."""
    told = _upstreams(MODEL_BASE_URL=HERE, MODEL_API_KEY="k", OPENAI_API_KEY="l")
    assert {
        HERE: ("MODEL_BASE_URL", "OPENAI_API_BASE"),
        "https://api.openai.com/v1": ("OPENAI_BASE_URL",),
    } == told
    assert {HERE} == set(_upstreams(MODEL_BASE_URL=HERE, MODEL_API_KEY="k", OPENAI_API_KEY="k"))
    assert {HERE} == set(_upstreams(MODEL_BASE_URL=HERE, OPENAI_API_KEY="l"))


def test_a_key_alone_means_its_vendor():
    """And another vendor's address is one more endpoint."""
    assert {"https://api.openai.com/v1"} == set(_upstreams(OPENAI_API_KEY="k"))
    assert {"https://api.anthropic.com": ("ANTHROPIC_BASE_URL",)} == _upstreams(ANTHROPIC_API_KEY="k")
    assert [HERE, THERE] == list(
        _upstreams(MODEL_BASE_URL=HERE, ANTHROPIC_BASE_URL=THERE, ANTHROPIC_API_KEY="k")
    )


@pytest.mark.parametrize("environment", [{}, {"MODEL_BASE_URL": " "}, {"MODEL_NAME": "m"}])
def test_nothing_named_is_an_error(environment):
    """Nobody is asked by default."""
    with pytest.raises(UsageProblem) as caught:
        read_model_environment(environment)
    assert "no-endpoint" == caught.value.code


def test_keys_and_models_are_known_by_both_names():
    """What is set stays; the lane's model goes before the environment's."""
    read = read_model_environment({"MODEL_BASE_URL": HERE, "MODEL_API_KEY": "k", "OPENAI_MODEL": "m"})
    assert {"OPENAI_API_KEY": "k", "MODEL_NAME": "m"} == read.stand_ins
    both = {"MODEL_BASE_URL": HERE, "MODEL_API_KEY": "k", "OPENAI_API_KEY": "l"}
    assert {} == read_model_environment(both).stand_ins
    lane = read_model_environment({"MODEL_BASE_URL": HERE, "MODEL_NAME": "m"}, model="n")
    assert {"MODEL_NAME": "n", "OPENAI_MODEL": "n"} == lane.stand_ins


def test_calls_to_this_machine_do_not_go_through_a_proxy():
    """Only where there is one."""
    assert {} == without_proxy({"NO_PROXY": "a"})
    joined = "a,127.0.0.1,localhost"
    assert {"NO_PROXY": joined, "no_proxy": joined} == without_proxy({"HTTP_PROXY": "p", "no_proxy": "a, "})
    assert "127.0.0.1,localhost" == without_proxy({"https_proxy": "p", "all_proxy": "q"})["NO_PROXY"]
