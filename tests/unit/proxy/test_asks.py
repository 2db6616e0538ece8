# SPDX-License-Identifier: Apache-2.0
"""What a request asks of the limiter."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.proxy.asks import tokens_of


@pytest.mark.parametrize(
    ("document", "output"),
    [
        ({"max_tokens": 5}, 5),
        ({"max_tokens": 1, "max_completion_tokens": 10_000}, 10_000),
        ({"max_output_tokens": 7, "n": 3}, 21),
        ({}, 0),
        ({"max_tokens": None}, 0),
        ({"max_tokens": True, "n": True}, 0),
        ({"max_tokens": -5}, 0),
        ({"max_tokens": "9"}, 0),
        ([1], 0),
    ],
)
def test_the_largest_cap_counts_for_every_answer(document, output):
    """A request without a cap reserves none, and a value of another type is none."""
    assert output == tokens_of(json.dumps(document).encode())[1]


@given(st.binary())
def test_any_body_has_an_estimate(body):
    """Four bytes a token, rounded up, whatever they are."""
    prompt, output = tokens_of(body)
    assert (-(-len(body) // 4), True) == (prompt, output >= 0)
