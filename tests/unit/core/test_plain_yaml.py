# SPDX-License-Identifier: Apache-2.0
"""YAML that people write: read alike by everyone, or refused with file and line."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from truegreen.core.errors import UsageProblem
from truegreen.core.plain_yaml import Limits, core_value, has_two_readings, read_yaml


def only(text: str | bytes, **also):
    """The value of the only document."""
    (document,) = read_yaml(text if isinstance(text, bytes) else text.encode(), name="f.yaml", **also)
    return document.value


def refused(data: str | bytes, **also) -> UsageProblem:
    """The problem that the reader raises."""
    with pytest.raises(UsageProblem) as caught:
        read_yaml(data if isinstance(data, bytes) else data.encode(), name="f.yaml", **also)
    return caught.value


def test_values_have_the_types_of_the_core_schema():
    """Texts, numbers, booleans and null; quoted scalars are texts whatever they look like."""
    text = """
    plain: some text
    quoted: "no"
    single: '3.10'
    whole: 12
    hex: 0x1F
    rate: 0.5
    exponent: 1.5e+3
    yes_: true
    nothing: ~
    empty:
    list: [a, 'b', -1]
    block: |
      two
      lines
    """
    expected = {
        "plain": "some text",
        "quoted": "no",
        "single": "3.10",
        "whole": 12,
        "hex": 31,
        "rate": 0.5,
        "exponent": 1500.0,
        "yes_": True,
        "nothing": None,
        "empty": None,
        "list": ["a", "b", -1],
        "block": "two\nlines\n",
    }
    assert expected == only(text)


TWO_READINGS = [
    *("y", "n", "yes", "No", "ON", "off", "1e3", "1E+3", "1.5e3", "0o7", "010", "08", "00", "0b1", "1_000"),
    *(
        "1_0.5",
        "1:30",
        "190:20:30",
        "1:30.5",
        "2026-01-01",
        "2026-01-01 10:00:00",
        "2026-01-01T10:00:00Z",
        "=",
    ),
    *("-0x1F", "+0b11", "._0", "._", "-_0", "-.5"),
    *("._0", "._", "-_0"),
]


@pytest.mark.parametrize("scalar", TWO_READINGS)
def test_a_scalar_with_two_readings_is_refused_with_its_line(scalar):
    """As value, as item and as key; quoted it is a text."""
    for text in (f"a:\n  b: {scalar}\n", f"\n- {scalar}\n", f"a: 1\n? {scalar}\n: 1\n"):
        problem = refused(text)
        assert "yaml-two-readings" == problem.code
        assert problem.message.startswith("f.yaml:2: ")
    assert {"a": scalar} == only(f"a: '{scalar}'")
    assert has_two_readings(scalar)


@pytest.mark.parametrize(
    "scalar", ["3.10", "12", "-1", "0", "0x1F", "1.5e-3", ".5", "1.", "true", "~", "word", "1.2.3"]
)
def test_a_scalar_with_one_reading_is_taken(scalar):
    """Numbers, booleans and words that both versions read alike."""
    assert core_value(scalar) == only(f"a: {scalar}")["a"]


@given(st.text(alphabet="0123456789.eE+-_:xob ynNoTtrue~", min_size=1, max_size=8))
def test_what_is_taken_is_read_alike_by_both_versions(scalar):
    """Random scalars: whatever the strict reader takes, a YAML 1.1 and a YAML 1.2 reader load to the same value."""
    text = f"a: {scalar}\n"
    try:
        found = only(text)
    except UsageProblem:
        return
    for version in ("1.1", "1.2"):
        reader = YAML(typ="safe", pure=True)
        reader.version = version
        with suppress(ValueError, IndexError):  # what this reader takes for a number and then cannot read
            assert found == reader.load(io.StringIO(text))


def test_a_lenient_reader_takes_the_newer_reading():
    """For files that others wrote: the 1.2 value, and keys as they are written."""
    lenient = only("n: no\n1: 1e3\nnull: .inf\n", is_strict=False)
    assert {"n": "no", "1": 1000.0, "null": float("inf")} == lenient


def test_a_key_stands_where_it_is_written_and_not_where_its_value_begins():
    """Of a block that begins on a later line, people look for the key."""
    document = read_yaml(b"a:\n\n  b:\n    - 1\nc: |\n  text\n", name="f.yaml")[0]
    assert [1, 3, 4, 5] == [document.line_of(path) for path in (("a",), ("a", "b"), ("a", "b", 0), ("c",))]


def test_lines_are_kept_for_every_path():
    """Each value knows its line; a path that is not there has the line of the nearest value above."""
    (document,) = read_yaml(b"a: 1\nb:\n  - x\n  - c: 2\n", name="f.yaml")
    assert 1 == document.line_of(("a",))
    assert 3 == document.line_of(("b", 0))
    assert 4 == document.line_of(("b", 1, "c"))
    assert 4 == document.line_of(("b", 1, "c", "deeper"))
    assert 1 == document.line_of(("nowhere",))


def test_a_file_may_hold_several_documents():
    """Each with its own lines and anchors."""
    found = read_yaml(b"a: 1\n---\n- 2\n---\n", name="f.yaml")
    assert [{"a": 1}, [2], None] == [document.value for document in found]
    assert 3 == found[1].line_of((0,))
    assert "no finished anchor" in refused("a: &x 1\n---\nb: *x\n").message


def test_an_alias_is_the_value_of_its_anchor():
    """Scalars and containers may be named and used again."""
    assert {"a": [1, 2], "b": [1, 2], "c": "t", "d": "t"} == only("a: &l [1, 2]\nb: *l\nc: &t t\nd: *t\n")


def test_an_alias_bomb_is_refused():
    """Ten anchors that each use the one before ten times would be 10 billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "more than the 20000 values" in refused("\n".join(lines)).message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x [*x]", "no finished anchor"),
        ("a: *nope", "no finished anchor"),
        ("a: 1\na: 2", "stands twice"),
        ("a: {b: 1, 'b': 2}", "stands twice"),
        ("base: &b {x: 1}\na:\n  <<: *b", "merge key"),
        ("a: !!python/object/apply:os.system ['true']", "tags are not read"),
        ("a: !!str 5", "tags are not read"),
        ("a: !local [1]", "tags are not read"),
        ("%YAML 1.1\n---\na: b", "directives are not read"),
        ("a: b\n...\n%TAG ! tag:x,2000:\n---\na: c", "directives are not read"),
        ("? [a, b]\n: 1", "only texts are keys"),
        ("? {a: b}\n: 1", "only texts are keys"),
        ("x: &k key\n? *k\n: 1", "only texts are keys"),
        ("1: a", "is no text"),
        ("null: a", "is no text"),
        ("a: .inf", "no finite number"),
        ("a: -.INF", "no finite number"),
        ("a: .nan", "no finite number"),
        ("a: " + "9" * 41, "a number of 41 characters"),
        ("a: b: c", "no YAML"),
        ("a: 'open", "no YAML"),
        ("a: [1", "no YAML"),
        ("a:\n\t- b", "no YAML"),
        ("a: \x00", "no YAML"),
        ("[" * 33 + "]" * 33, "nested deeper"),
        ("[" * 50_000, "nested deeper"),
        ("- " * 40 + "x", "nested deeper"),
    ],
)
def test_what_readers_disagree_on_or_could_be_hurt_by_is_refused(text, words):
    """One line that names the file and what is wrong, for each."""
    problem = refused(text)
    assert words in problem.message
    assert problem.message.startswith("f.yaml:")
    assert "\n" not in problem.message


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"a: 1\nb: \xff\n", 2, "not UTF-8"),
        ("a: 1\n".encode("utf-16"), 1, "not UTF-8"),
        (b"x" * 300_000, 1, "more than the 262144"),
    ],
)
def test_bytes_that_are_no_text_of_ours_are_refused(data, line, words):
    """Not UTF-8, or too long."""
    problem = refused(data)
    assert words in problem.message
    assert problem.message.startswith(f"f.yaml:{line}: ")


def test_line_ends_and_one_byte_order_mark_are_noise():
    """CRLF and one mark do not change values; a second mark would be content, which readers see differently."""
    assert {"a": "x\ny\n", "b": 2} == only(b"\xef\xbb\xbfa: |\r\n  x\r\n  y\r\nb: 2\r\n")
    assert "more than one byte order mark" in refused(b"\xef\xbb\xbf\xef\xbb\xbfa: 1\n").message


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_line_ends_of_yaml_1_1_are_refused_or_ordinary(character):
    """The strict reader names the line; the lenient one keeps the character, wherever it stands."""
    text = f"a: |\n  x{character}  y\n  z\nb: 'p{character}q'\n\"k{character}\": r\ue000{character}s\n"
    problem = refused(text)
    assert ("yaml-two-readings", True) == (problem.code, problem.message.startswith("f.yaml:2: "))
    expected = {
        "a": f"x{character}  y\nz\n",
        "b": f"p{character}q",
        f"k{character}": f"r\ue000{character}s",
    }
    assert expected == only(text, is_strict=False)
    assert {"a": f"x{character}y"} == only(f'a: "x\\u{ord(character):04x}y"')


def test_an_empty_file_has_no_document():
    """Nothing, blanks and comments are no document; what that means is for the owner of the file."""
    for data in (b"", b"\n\n", b"# nothing\n"):
        assert () == read_yaml(data, name="f.yaml")


def test_limits_are_the_callers():
    """A caller may ask for less."""
    assert "nested deeper than the 1 " in refused("a: [1]", limits=Limits(max_depth=1)).message
    assert "more than the 2 values" in refused("[1, 2]", limits=Limits(max_values=2)).message


@given(st.binary(max_size=60) | st.text(alphabet="ab:- \n[]{}#&*!|>'\"%@`?,\\0", max_size=60).map(str.encode))
def test_any_bytes_are_values_or_one_problem(data):
    """Nothing but a UsageProblem ever leaves the reader."""
    try:
        read_yaml(data, name="f.yaml")
    except UsageProblem as problem:
        assert problem.code in ("bad-yaml", "yaml-two-readings")  # noqa: PT017 - both outcomes are fine


def test_dates_are_taken_as_their_text_where_they_are_asked():
    """Whether quoted or not; every other scalar with two readings stays refused."""
    (document,) = read_yaml(
        b"- 2026-10-02\n- '2026-10-02'\n- 2026-10-02T01:02:03Z\n", name="x", takes_dates=True
    )
    assert ["2026-10-02", "2026-10-02", "2026-10-02T01:02:03Z"] == document.value
    for text in (b"no", b"1e3", b"1_000"):
        with pytest.raises(UsageProblem, match="yaml-two-readings"):
            read_yaml(text, name="x", takes_dates=True)


def test_half_a_character_is_refused():
    """An escape could bring what no file can hold."""
    with pytest.raises(UsageProblem, match=r"^x:2: .* holds half a character"):
        read_yaml(b'- a\n- "\\ud800"\n', name="x")
