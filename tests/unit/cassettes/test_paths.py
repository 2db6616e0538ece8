# SPDX-License-Identifier: Apache-2.0
"""Paths into a request, as people write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.cassettes.paths import leaves, matches, pattern_of, spelled
from truegreen.core.errors import UsageProblem

PATHS = st.lists(st.text(max_size=6) | st.integers(0, 10**9 - 1), min_size=1, max_size=5).map(tuple)


@given(PATHS)
def test_a_path_that_is_written_can_be_read(path):
    """Whatever its names hold."""
    assert path == pattern_of(spelled(path))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("body.messages[*].id", ("body", "messages", 3, "id"), True),
        ("body.messages[*].id", ("body", "messages", "3", "id"), False),
        ("body.tools.*", ("body", "tools", "x"), True),
        ("body.id", ("body", "user", "id"), False),
        ("body[0]", ("body", 0), True),
        ("body[1]", ("body", True), False),
    ],
)
def test_a_wildcard_stands_for_one_step(pattern, path, expected):
    """No pattern reaches any depth."""
    assert expected is matches(pattern_of(pattern), path)


@pytest.mark.parametrize(
    "text", ["", ".", "body.", "body[", "body[-1]", "body..a", "body messages", "body**", 'body"a"', "[1]a"]
)
def test_what_is_no_path_is_refused(text):
    """With the place at which it stops being one."""
    with pytest.raises(UsageProblem) as caught:
        pattern_of(text)
    assert "bad-json-path" == caught.value.code


def test_leaves_come_in_order_with_empty_containers():
    """An empty list is a leaf of its own."""
    value = {"b": [1, {"a": []}], "a": {}}
    assert [(("b", 0), 1), (("b", 1, "a"), []), (("a",), {})] == list(leaves(value))
    assert "the top" == spelled(())
