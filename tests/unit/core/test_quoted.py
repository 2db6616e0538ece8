# SPDX-License-Identifier: Apache-2.0
"""How foreign values are shown in our sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.quoted import plainly, quoted


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("", '""'),
        ("plain é 😀", '"plain é 😀"'),
        ('say "hi"\\', r'"say \"hi\"\\"'),
        ("a\nb\r\t\0", r'"a\x0ab\x0d\x09\x00"'),
        ("\x1b[31mred\x9b0m", r'"\x1b[31mred\x9b0m"'),
        ("\u202egnp.exe\u2066", r'"\u{202e}gnp.exe\u{2066}"'),
        ("a\u2028b\u00adc\ufeff", r'"a\u{2028}b\xadc\u{feff}"'),
        ("\ud800\udcff", r'"\u{d800}\xff"'),
        ("\U000e0041", r'"\u{e0041}"'),
        (b"caf\xe9\xc3\xa9", r'"caf\xe9é"'),
    ],
)
def test_what_is_not_plainly_printable_is_escaped(value, shown):
    """Terminal escapes, line ends, direction marks, halves of characters and bytes that are not UTF-8."""
    assert shown == quoted(value)


def test_a_long_value_is_cut_and_says_so():
    """The message stays a line, and nobody takes the beginning for the whole."""
    assert '"aaaaa"… (6 characters)' == quoted("a" * 6, 5)
    assert '"aaaaa"' == quoted("a" * 5, 5)


def test_a_sentence_of_its_own_keeps_its_quotes():
    """It would be hard to read with every quote escaped; what a terminal would obey is escaped all the same."""
    assert r'added: "[\"a\"]" has \x1b[31m1\x0a' == plainly('added: "[\\"a\\"]" has \x1b[31m1\n')
    assert "aaaaa… (6 characters)" == plainly("a" * 6, 5)


@given(st.text() | st.binary())
def test_nothing_but_printable_characters_is_shown(value):
    """Whatever came in."""
    assert quoted(value).isprintable()
    assert plainly(str(value)).isprintable()
