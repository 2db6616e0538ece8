# SPDX-License-Identifier: Apache-2.0
"""Strict reading of TOML with lines."""

import tomllib

import pytest
import toml_texts
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core import toml
from truegreen.core.errors import UsageProblem
from truegreen.core.toml import MAX_BYTES, dotted, read_toml
from truegreen.core.toml_lines import Place


@given(toml_texts.documents())
def test_a_text_reads_as_the_standard_library_reads_it(document):
    """Ours adds lines and refusals, no reading of its own."""
    assert repr(tomllib.loads(document.text)) == repr(read_toml(document.text.encode(), "x.toml").root)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xef\xbb\xbfa = 1", "x.toml:1: starts with a byte order mark, bytes ef bb bf"),
        (b"a = 1\nb = '\xff'", "x.toml:2: byte 11 is 0xff, which is not UTF-8 there"),
        (b"\xff\xfea\x00", "x.toml:1: byte 0 is 0xff, which is not UTF-8 there"),
        (b"a = 1\n\na = 2\nb = 3\n", "x.toml:3: no TOML at column 6: cannot overwrite a value"),
        (b"[a]\n[a]\n", "x.toml:2: no TOML at column 3: cannot declare ('a',) twice"),
        (b"a = 1\nb\n", "x.toml:2: no TOML at column 2: expected '=' after a key in a key/value pair"),
        (b'a = 1\nb = """\nx', "x.toml:3: no TOML where the file ends: unterminated string"),
        (b"a = 2026-02-30\n", "x.toml:1: no TOML at column 5: invalid date or datetime"),
        (b'a = "\x00"', "x.toml:1: no TOML at column 6: illegal character '\\x00'"),
        (b"\n" * (MAX_BYTES + 1), f"x.toml: {MAX_BYTES + 1} bytes, more than the {MAX_BYTES} that are read"),
    ],
)
def test_what_is_no_toml_is_said_with_its_line(data, said):
    """One sentence, one line number, one code."""
    with pytest.raises(UsageProblem) as caught:
        read_toml(data, "x.toml")
    assert (said, "bad-toml") == (caught.value.message, caught.value.code)


def test_a_number_of_more_digits_than_python_reads_is_no_crash():
    """The standard library raises another error here."""
    with pytest.raises(UsageProblem, match=r"^x\.toml: no TOML: exceeds the limit"):
        read_toml(b"a = " + b"1" * 5000, "x.toml")


@given(st.binary(max_size=80))
def test_any_bytes_give_a_document_or_one_error(data):
    """Nothing else comes out."""
    try:
        text, code = read_toml(data, "x.toml").text, ""
    except UsageProblem as problem:
        text, code = "", problem.code
    assert (text.encode(), code) in [(data, ""), (b"", "bad-toml")]


def test_a_place_that_cannot_be_proved_is_not_shown(monkeypatch):
    """Were the scanner wrong about one value or one key, the file's name stands alone."""
    text = b"a = 1\nb = 1.0\nc = [2]\nd = nan\n"
    places = toml.places_of(text.decode(), "x.toml")
    for wrong in [
        places | {("a",): Place(line=2, raw="1.0")},
        places | {("a",): Place(line=2, raw="2")},
        places | {("a",): Place(line=2, raw="?")},
        places | {("d",): Place(line=4, raw="1.0")},
        places | {("c",): Place(line=2, raw="1")},
        places | {("a",): Place(line=2, raw=None)},
        places | {("e",): Place(line=2, raw="1")},
        {path: place for path, place in places.items() if path != ("a",)},
    ]:
        monkeypatch.setattr(toml, "places_of", lambda *_, wrong=wrong: wrong)
        file = read_toml(text, "x.toml")
        assert ({}, "x.toml") == (file.lines, file.at(("a",)))


def test_a_missing_key_is_shown_at_the_table_around_it():
    """The nearest place that exists; the whole document has no line."""
    file = read_toml(b"\n[a.b]\nc = 1\n", "x.toml")
    assert ("x.toml:3", "x.toml:2", "x.toml") == tuple(
        file.at(path) for path in [("a", "b", "c"), ("a", "b", "z", 0), ("z",)]
    )


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("lanes", "a-1", "branches", 0), "lanes.a-1.branches[0]"),
        (("lanes", "a b", "é"), 'lanes."a b"."é"'),
        (("a\x1b[31m",), '"a\\x1b[31m"'),
        (("",), '""'),
        ((), ""),
    ],
)
def test_a_path_is_written_as_one_writes_it(path, shown):
    """Names that are no bare keys stand in quotes, with nothing in them that a terminal obeys."""
    assert shown == dotted(path)
