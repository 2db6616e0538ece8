# SPDX-License-Identifier: Apache-2.0
"""On which line each key and element of a TOML text stands."""

import pytest
import toml_texts
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import UsageProblem
from truegreen.core.toml import read_toml
from truegreen.core.toml_lines import MAX_DEPTH, places_of


@given(toml_texts.documents())
def test_every_key_of_a_text_is_found_on_its_line(document):
    """Quoted and dotted keys, tables, arrays of tables, inline tables and strings of several lines."""
    assert document.lines == read_toml(document.text.encode(), "x.toml").lines


def _lines(text):
    return {path: place.line for path, place in places_of(text, "x.toml").items()}


def test_a_header_stands_at_its_own_line_whatever_was_implied_before():
    """``[a.b]`` implies ``a`` on line 1; ``[a]`` then says it on line 2."""
    assert {("a",): 2, ("a", "b"): 1} == _lines("[a.b]\n[a]\n")


def test_a_table_below_an_array_of_tables_belongs_to_the_newest_element():
    """The index is part of the path."""
    found = _lines("[[a]]\n[a.b]\nc = 1\n[[a]]\n[a.b]\nc = 2\n")
    assert (3, 6) == (found["a", 0, "b", "c"], found["a", 1, "b", "c"])


def test_a_string_of_several_lines_moves_what_follows():
    """Brackets, quotes and equal signs inside it are text."""
    assert {("a",): 1, ("b",): 5} == _lines('a = """\n[x]\ny = 1\n\\""" z """\nb = 2\n')


@pytest.mark.parametrize(
    "text", ["a", "a =", "[a", "[[a]", "a = [1", 'a = """x', 'a = "x" b', "= 1", "a = {b", r'"\q" = 1']
)
def test_a_text_that_is_not_toml_has_no_places(text):
    """The scanner gives up without a word; what is wrong is said by the reader."""
    assert {} == places_of(text, "x.toml")


@given(st.text(alphabet="ab.=[]{}\"'\\\n#, 1é\r\t", max_size=60))
def test_whatever_the_text_the_scanner_ends(text):
    """It gives places or none, and nothing else."""
    assert all(1 <= place.line <= text.count("\n") + 1 for place in places_of(text, "x.toml").values())


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000,
        "a = " + "{a = " * 5000,
        "a." * 5000,
        "[" + "a." * 5000,
        "\n\n\n" + '"a" . ' * 5000 + "b = 1",
        "[[" + "'a'." * MAX_DEPTH + "b]]",
        "[" + "a." * 8 + "b]\n" + "c." * 8 + "d = 1",
    ],
)
def test_depth_is_refused_before_anything_recurses(text):
    """A hostile text costs no stack and no time."""
    with pytest.raises(UsageProblem, match=rf"x\.toml:\d+: nested {MAX_DEPTH + 1} deep") as caught:
        places_of(text, "x.toml")
    assert "bad-toml" == caught.value.code
