# SPDX-License-Identifier: Apache-2.0
"""The walk over every combination of facts."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.table_walk import MAX_COMBINATIONS, combinations, unreachable


@st.composite
def tables(draw):
    """Up to four fields of up to four values, and conditions over them."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=4))
    fields = {f"f{place}": tuple(f"v{number}" for number in range(size)) for place, size in enumerate(sizes)}
    when = st.fixed_dictionaries(
        {},
        optional={
            field: st.lists(st.sampled_from(values), min_size=1, unique=True)
            for field, values in fields.items()
        },
    )
    return fields, draw(st.lists(when, max_size=8))


@given(tables())
def test_unreached_conditions_are_those_that_a_loop_never_reaches(table):
    """Against the product, walked one combination at a time."""
    fields, whens = table
    every = [dict(zip(fields, values, strict=True)) for values in itertools.product(*fields.values())]
    assert len(every) == combinations(fields)
    reached = {
        next((place for place, when in enumerate(whens) if all(facts[f] in v for f, v in when.items())), None)
        for facts in every
    }
    assert tuple(sorted(set(range(len(whens))) - reached)) == unreachable(fields, whens)


def test_a_million_combinations_are_walked():
    """The largest product that is allowed: only the last of all combinations is left for the second condition."""
    fields = {f"f{number}": (False, True) for number in range(20)}
    assert MAX_COMBINATIONS == combinations(fields)
    some_false = [{f"f{number}": (False,)} for number in range(20)]
    all_true = dict.fromkeys(fields, (True,))
    assert () == unreachable(fields, [*some_false, all_true])
    assert (21,) == unreachable(fields, [*some_false, all_true, {}])
