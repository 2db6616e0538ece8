# SPDX-License-Identifier: Apache-2.0
"""Parameter ids, with pytest itself as the oracle."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet
from _pytest.python import IdMaker
from hypothesis import given
from hypothesis import strategies as st

from truegreen.sampling.param_ids import ids_of, moved

VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-20, 20)
    | st.floats(allow_nan=False)
    | st.sampled_from(["None", "True", "1", "1.0", "a", "a0", "a1", "", "None0", "None1", "value0", "value1"])
    | st.text(max_size=4)
    | st.binary(max_size=3)
    | st.lists(st.integers(), max_size=1)
    | st.just("x" * 101)
)


@given(st.lists(VALUES, max_size=7))
def test_ids_are_pytests_own(values):
    """The same ids as the installed pytest makes, whatever the values."""
    maker = IdMaker(["value"], [ParameterSet.param(value) for value in values], None, None, None, None)
    assert maker.make_unique_parameterset_ids() == list(ids_of(values).ids)


def test_a_counter_makes_an_id_unstable():
    """The text None and the value None get one id and a counter each; the others keep theirs."""
    found = ids_of(["true", "None", None])
    assert (("true", "None0", "None1"), {"None0", "None1"}) == (found.ids, set(found.unstable))


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": 1}], ["x" * 101]])
def test_an_id_made_of_the_place_is_unstable(values):
    """Lists, mappings and long texts are named by their place."""
    assert set(ids_of(values).ids) == ids_of(values).unstable


def test_an_id_may_change_its_meaning_between_two_versions():
    """The same ids on both sides, and another value behind one of them."""
    found = moved(["true", "None", None], ["true", None, "None"])
    assert (("None0", "None1"), (), False) == (found.changed_meaning, found.gone, found.is_stable)


def test_ids_of_distinct_texts_carry_history():
    """Adding in front, reordering and removing change no meaning."""
    found = moved(["a", "b"], ["c", "b", "a"])
    assert ((), (), True) == (found.changed_meaning, found.gone, found.is_stable)
    assert ("b",) == moved(["a", "b"], ["a"]).gone
    assert ("1",) == moved([1], ["1"]).changed_meaning
    assert ("True",) == moved([True], ["True"]).changed_meaning


def test_a_counter_skips_ids_that_are_taken():
    """Beside a0, the two a become a1 and a2."""
    assert ("a1", "a2", "a0") == ids_of(["a", "a", "a0"]).ids
