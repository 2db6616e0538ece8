# SPDX-License-Identifier: Apache-2.0
"""Plain forms: one for each value, none for two."""

import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.cassettes.plain import Ignored, by_value, decimal_of, pieces, plain, value_of
from truegreen.core.canonical import Spelled, read_json, read_spelled, write_json
from truegreen.core.errors import EvidenceProblem

DIFFERENT = (
    *(
        b"0",
        b"0.0",
        b"-0",
        b"-0.0",
        b"false",
        b'"0"',
        b"null",
        b"1",
        b"1.0",
        b"true",
        b'"1"',
        b"-1",
        b"1.5",
        b"15",
    ),
    *(
        b"100",
        b"1e2",
        b"1e3",
        b"12345678901234567890",
        b"12345678901234567891",
        b"12345678901234567890.0",
        b"1e400",
    ),
    *(
        b"1e-400",
        b"0.1",
        b"0.1000000000000000055511151231257827",
        b"9007199254740993",
        b"[]",
        b"{}",
        b'""',
        b"[[]]",
    ),
    *(b'{"$number":"0.0"}', b'{"$$number":"0.0"}', b'{"$text":["a"]}', b'"a"', b'{"a":1}', b'{"a":1.0}'),
)
"""JSON texts of which no two mean the same."""
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)


def canonical(text):
    """The canonical bytes of a JSON text's plain form."""
    return write_json(plain(read_spelled(text)))


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(DIFFERENT, 2)))
def test_different_values_have_different_forms(one, other):
    """Types and every digit are kept."""
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"1.50", b"1.5"),
        (b"1e2", b"100.0"),
        (b"1E+2", b"1e2"),
        (b"15e-1", b"1.5"),
        (b'"\\u0061"', b'"a"'),
        (b"0e5", b"0.0"),
    ],
)
def test_one_value_in_two_spellings_has_one_form(one, other):
    """A decimal is its value, a text its characters."""
    assert canonical(one) == canonical(other)


def test_ordinary_values_stand_as_they_are():
    """A reviewer meets a mark only where JSON would lose something."""
    text = b'{"a":[0,0.7,"x",null,true],"b":{}}'
    assert text == canonical(text)


@given(NUMBERS, NUMBERS)
def test_numbers_are_told_apart_exactly_where_mathematics_does(one, other):
    """Whole numbers by their digits, others by their exact decimal; a whole number is never a decimal."""

    def meaning(text):
        is_whole = not set(text) & set(".eE")
        value = Decimal(text)
        return is_whole, text if is_whole else (value.is_signed(), value)

    same = canonical(one.encode()) == canonical(other.encode())
    assert (meaning(one) == meaning(other)) == same


@given(NUMBERS)
def test_a_number_comes_back_with_its_value_and_type(text):
    """What a form holds can be sent again."""
    form = plain(Spelled(text))
    again = value_of(read_json(write_json(form)))
    assert plain(again) == form
    assert Decimal(text) == Decimal(again.text)


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=12) | NUMBERS.map(Spelled),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet="$anumbertx", max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON, st.booleans())
def test_a_value_comes_back_whole(value, lines):
    """Names that look like marks are names, also when long texts stand in pieces."""
    form = plain(value, lines=lines)
    assert write_json(plain(value)) == write_json(plain(value_of(read_json(write_json(form)))))


@given(st.text(alphabet="ab \n", max_size=400))
def test_pieces_make_up_their_text(text):
    """No piece is empty or longer than a line, and a line end ends a piece."""
    cut = list(pieces(text))
    assert text == "".join(cut)
    assert all(0 < len(piece) <= 100 and "\n" not in piece[:-1] for piece in cut)


def test_a_long_text_stands_in_pieces_only_where_a_file_is_written():
    """A key has the text itself."""
    text = "word " * 30
    assert (text, {"$text": [text[:100], text[100:]]}) == (plain(text), plain(text, lines=True))


@pytest.mark.parametrize(
    "form",
    [
        {"$number": 1},
        {"$number": "x"},
        {"$number": "1", "a": 1},
        {"$text": "a"},
        {"$text": [1]},
        {"$a": 1},
        {1},
    ],
)
def test_a_mark_that_means_nothing_is_refused(form):
    """Nobody guesses what a file means."""
    with pytest.raises(EvidenceProblem) as caught:
        value_of(form)
    assert "cassette-shape" == caught.value.code


def test_a_very_long_number_stands_as_it_is_spelled():
    """No arithmetic on what somebody sent."""
    text = "1." + "0" * 500
    assert {"$number": text} == plain(Spelled(text))
    assert ("-", "15", -3) == decimal_of("-0.0150")


def test_an_element_that_is_left_out_leaves_a_mark():
    """Its neighbours keep their places."""
    assert [1, {"$ignored": True}] == plain([1, Ignored()])


def test_numbers_can_be_told_apart_by_value_alone():
    """As RFC 8785 writes them, and exactly where it refuses; other types stay apart."""
    one = [canonical_by_value(text) for text in (b"1", b"1.0", b"1e0", b"10e-1")]
    zero = [canonical_by_value(text) for text in (b"0", b"-0", b"0.0", b"-0e5")]
    assert [{b"[1]"}, {b"[0]"}] == [set(one), set(zero)]
    apart = (
        b"1",
        b"true",
        b'"1"',
        b"1.5",
        b"9007199254740993",
        b"9007199254740992",
        b"1e500",
        b"1e501",
        b"null",
    )
    assert len(apart) == len({canonical_by_value(text) for text in apart})
    long = Spelled("1." + "0" * 500)
    assert long is by_value(long)


def canonical_by_value(text):
    """The canonical bytes of a list with this value, types of numbers ignored."""
    return write_json(plain(by_value(read_spelled(b"[" + text + b"]"))))
