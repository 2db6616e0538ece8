# SPDX-License-Identifier: Apache-2.0
"""The table of keys: whole, consistent with the types, and nobody in two places."""

import msgspec
import pytest

from truegreen.core import policy
from truegreen.core.policy import CassetteTrust, Check, Lane, LimiterPolicy, Policy
from truegreen.core.policy_keys import ANY_LANE, KEYS, LATER_KEYS, TABLES
from truegreen.core.policy_read import LANE_CONSTANTS
from truegreen.sampling import sequential

NOT_KEYS = {"name", "check", "lanes", "limiter", "digest", "text", "sources"}
"""Fields of the policy that are no keys of the file."""


def _names(kind):
    return set(msgspec.structs.fields(kind) and kind.__struct_fields__) - NOT_KEYS


@pytest.mark.parametrize(
    ("kind", "pattern", "more"),
    [
        (Policy, (), {"schema"}),
        (Check, ("check",), {"name"}),
        (CassetteTrust, ("cassettes",), set()),
        (LimiterPolicy, ("limiter",), set()),
        (Lane, ("lanes", ANY_LANE), set()),
    ],
)
def test_every_field_of_the_policy_is_a_key(kind, pattern, more):
    """A field without a key could not be set; a key without a field would do nothing."""
    keys = {path[-1] for path in KEYS if path[:-1] == pattern}
    apart = set(LANE_CONSTANTS) if kind is Lane else {"cassettes"}  # the table of that name
    assert keys == (_names(kind) | more) - apart


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: ".".join(key.path))
def test_every_default_is_a_value_that_could_be_written(key):
    """Leaving a key out means what writing its default means."""
    if key.default is not None:
        assert key.shape.wrong(key.default) is None
    else:
        assert key.is_required or key.default_words


def test_no_path_means_two_things():
    """Built, later or a table."""
    assert set() == (set(KEYS) & set(LATER_KEYS)) | (set(TABLES) & (set(KEYS) | set(LATER_KEYS)))


@pytest.mark.parametrize("key", [key for key in KEYS.values() if key.later], ids=lambda key: key.path[-1])
def test_a_later_value_is_none_that_is_built(key):
    """A value moves from one set to the other when it is built."""
    inner = getattr(key.shape, "item", key.shape)
    assert set() == set(inner.values) & set(key.later)


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: ".".join(key.path))
def test_every_key_says_what_it_does(key):
    """A sentence for the documentation."""
    assert key.meaning.endswith(".")


def test_the_cap_is_that_of_the_rule():
    """Default, bounds and the least cap under which an all-passing case can be certain."""
    certain_after = sequential.passes_still_needed(0, 0, sequential.smoke(), cases=1, j=1)
    assert (sequential.SMOKE_CAP, sequential.MAX_CAP, certain_after, sequential.FIXED_RUNS) == (
        policy.DEFAULT_CAP,
        policy.MOST_SAMPLES,
        policy.LEAST_CAP,
        KEYS["lanes", ANY_LANE, "samples"].default,
    )
