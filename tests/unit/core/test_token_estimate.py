# SPDX-License-Identifier: Apache-2.0
"""How many tokens a request may cost."""

import json

import pytest

from truegreen.core.token_estimate import MOST, tokens_of


@pytest.mark.parametrize(
    ("document", "output"),
    [
        ({}, 0),
        ({"max_tokens": 5}, 5),
        ({"max_tokens": 1, "max_completion_tokens": 10_000}, 10_000),
        ({"max_output_tokens": 7, "n": 3}, 21),
        ({"max_tokens": -5, "n": -1}, 0),
        ({"max_tokens": True}, 0),
        ({"max_tokens": "12"}, 0),
        ({"max_tokens": 10**30}, MOST),
        ([1], 0),
        ("text", 0),
    ],
)
def test_the_largest_cap_times_the_answers_is_reserved(document, output):
    """B12: two caps are not added and the smaller does not win; B11: no cap, nothing made up."""
    body = json.dumps(document).encode()
    assert (-(-len(body) // 4), output) == tokens_of(body)


@pytest.mark.parametrize("body", [b"", b"\xff", b"[" * 100_000, b"{"])
def test_a_body_that_is_no_json_counts_by_its_length(body):
    """And is no error."""
    assert (-(-len(body) // 4), 0) == tokens_of(body)
