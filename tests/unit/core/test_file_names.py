# SPDX-License-Identifier: Apache-2.0
"""Raw file names as text."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.digest import file_name_text
from truegreen.core.file_names import nfc


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a/b.txt", "a/b.txt"),
        ("é".encode(), "é"),
        (b"caf\xe9", "caf%E9"),
        (b"\xff\xfe", "%FF%FE"),
        (b"\xed\xa0\x80", "%ED%A0%80"),
        (b"100%.txt", "100%.txt"),
        (b"a%20b", "a%20b"),
        (b"caf%E9", "caf%25E9"),
        (b"caf%25E9", "caf%2525E9"),
        (b"caf%e9", "caf%e9"),
        (b"%\xff", "%%FF"),
        (b"%25\xff", "%25%FF"),
        (b"%2\xff", "%2%FF"),
    ],
)
def test_bytes_that_are_no_utf8_are_written_as_percent_escapes(raw, text):
    """Everything else stays, except a literal that reads like such an escape."""
    assert text == file_name_text(raw)


def raw_of(text: str) -> bytes:
    """The other way, to show that nothing was lost."""
    pieces = re.split("(%(?:25)*[89A-F][0-9A-F])", text)
    return b"".join(_written(piece) if number % 2 else piece.encode() for number, piece in enumerate(pieces))


def _written(escape: str) -> bytes:
    """One escaped byte, or a literal escape that had a 25 put in."""
    return bytes.fromhex(escape[1:]) if len(escape) == 3 else ("%" + escape[3:]).encode()


@given(
    st.lists(
        st.sampled_from([b"%", b"2", b"5", b"25", b"F", b"E9", b"\xff", b"\xe9", b"\xc3\xa9", b"a", b"/"])
    ).map(b"".join)
)
def test_no_two_raw_names_give_one_text(raw):
    """The raw bytes can be had back from the text."""
    assert raw == raw_of(file_name_text(raw))


@given(st.binary())
def test_any_bytes_have_a_text_that_utf8_can_carry(raw):
    """A name never breaks the record that holds it."""
    assert raw == raw_of(file_name_text(raw))
    assert file_name_text(raw).encode().decode() == file_name_text(raw)


@given(st.text())
def test_nfc_is_the_composed_form(name):
    """As the Unicode standard has it."""
    assert unicodedata.normalize("NFC", name) == nfc(name)
