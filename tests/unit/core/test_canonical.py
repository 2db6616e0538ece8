# SPDX-License-Identifier: Apache-2.0
"""Strict reading and canonical writing of JSON."""

import decimal
import json
import math
import struct
from pathlib import Path

import msgspec
import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from truegreen.core.canonical import (
    MAX_SAFE_INTEGER,
    Limits,
    Spelled,
    is_canonical,
    read_json,
    read_spelled,
    write_json,
)
from truegreen.core.errors import EvidenceProblem

VECTORS = Path(__file__).parents[2] / "vectors" / "rfc8785"
VECTOR_NAMES = sorted(path.name for path in (VECTORS / "input").iterdir())
NUMBERS = [line.split(" ") for line in (VECTORS / "numbers.txt").read_text().splitlines()]

SAFE = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not number.is_integer() or abs(number) >= 1e21
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | SAFE | DOUBLES | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


def code_of(data: bytes, limits: Limits | None = None) -> tuple[str, bool]:
    """The code with which the bytes are refused, and whether they contradict themselves."""
    with pytest.raises(EvidenceProblem) as caught:
        read_json(data, limits or Limits())
    return caught.value.code, caught.value.contradictory


@pytest.mark.parametrize("name", VECTOR_NAMES)
def test_the_published_vectors_come_out_byte_for_byte(name):
    """What RFC 8785's own test data asks for."""
    expected = bytes.fromhex((VECTORS / "outhex" / name).with_suffix(".txt").read_text())
    assert expected == (VECTORS / "output" / name).read_bytes()
    assert expected == write_json(read_json((VECTORS / "input" / name).read_bytes()))
    assert is_canonical(expected)


def test_all_six_published_vectors_are_here():
    """An empty folder would pass every vector."""
    assert [
        "arrays.json",
        "french.json",
        "structures.json",
        "unicode.json",
        "values.json",
        "weird.json",
    ] == VECTOR_NAMES


@pytest.mark.parametrize(("bits", "expected"), NUMBERS)
def test_the_published_number_table(bits, expected):
    """Appendix B of the RFC; whole numbers that could not be read back as integers are refused."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    if expected == "refused" or (expected.lstrip("-").isdigit() and len(expected.lstrip("-")) >= 16):
        with pytest.raises(EvidenceProblem, match="number-out-of-range"):
            write_json(number)
    else:
        assert expected.encode() == write_json(number)
        assert expected.encode() == write_json(read_json(expected.encode()))


def test_the_number_table_is_whole():
    """All 26 rows of Appendix B, five of which are whole numbers from 2^53 up."""
    written = [expected for _, expected in NUMBERS if expected.lstrip("-").isdigit() and len(expected) >= 16]
    assert (26, 5) == (len(NUMBERS), len(written))
    assert ["295147905179352830000"] == [
        rfc8785.dumps(struct.unpack(">d", bytes.fromhex(bits))[0]).decode()
        for bits, _ in NUMBERS
        if bits.startswith("443")
    ]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"\xef\xbb\xbf{}", "byte-order-mark"),
        (b'\xff\xfe"\x00a\x00"\x00', "byte-order-mark"),
        ("1".encode("utf-32"), "byte-order-mark"),
        ('"a"'.encode("utf-16-le"), "not-json"),
        (b'"\xe9"', "not-utf8"),
        (b'"\xc3', "not-utf8"),
        (b'"\xc0\x80"', "not-utf8"),
        (b'"\xed\xa0\x80"', "not-utf8"),
        (rb'"\ud800"', "not-utf8"),
        (rb'"\udc00\ud800"', "not-utf8"),
        (rb'{"\uDFFF": 1}', "not-utf8"),
        (rb'"\\\ud83d\\ude00"', "not-utf8"),
        (b'{"a": [1, 2', "not-json"),
        (b'{"a": 1}}', "not-json"),
        (b"{}{}", "not-json"),
        (b"{}\x00", "not-json"),
        (b"[1,]", "not-json"),
        (b'{"a": 1,}', "not-json"),
        (b"{a: 1}", "not-json"),
        (b"{1: 1}", "not-json"),
        (b"['a']", "not-json"),
        (b"01", "not-json"),
        (b"+1", "not-json"),
        (b".5", "not-json"),
        (b"1.", "not-json"),
        (b"0x10", "not-json"),
        (b'"\x07"', "not-json"),
        (b'"a\nb"', "not-json"),
        (rb'"\x41"', "not-json"),
        (rb'"\u12 4"', "not-json"),
        (b"// a\n1", "not-json"),
        (b"True", "not-json"),
        (b"\xa01".decode("latin-1").encode(), "not-json"),
        (b"NaN", "not-json"),
        (b"[Infinity]", "not-json"),
        (b'{"a": -Infinity}', "not-json"),
        (b"nan", "not-json"),
        (b"]" * 200, "not-json"),
        (b"9007199254740992", "number-out-of-range"),
        (b"-9007199254740992", "number-out-of-range"),
        (b"9" * 10_000, "number-out-of-range"),
        (b"9007199254740992.0", "number-out-of-range"),
        (b"1e20", "number-out-of-range"),
        (b"1e400", "number-out-of-range"),
        (b"-1e400", "number-out-of-range"),
        (b"1e-400", "number-out-of-range"),
        (b"-0.00000001e-400", "number-out-of-range"),
    ],
)
def test_what_is_not_one_plain_json_value_is_refused(data, code):
    """Each with its own code; none of them contradicts itself."""
    assert (code, False) == code_of(data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1, "a": 1}',
        b'{"a": 1, "b": {}, "a": 2}',
        b'[[{"x": [{"a": 1, "a": null}]}]]',
        rb'{"a": 1, "\u0061": 2}',
        rb'{"\ud83d\ude00": 1, "' + "😀".encode() + b'": 2}',
        b'{"": 1, "": 1}',
        b'{"a": {"b": 1}, "c": [], "d": {"e": {}, "e": {}}}',
    ],
)
def test_a_name_twice_in_one_object_contradicts_itself(data):
    """At any depth, however the second one is spelled: two readers would see two values."""
    assert ("duplicate-key", True) == code_of(data)


@pytest.mark.parametrize(
    "data",
    [
        b'[{"a": 1}, {"a": 1}]',
        b'{"a": {"a": {"a": 1}}}',
        '{"é": 1, "e\u0301": 2}'.encode(),
        b'{"a": "a", "A": 1}',
    ],
)
def test_one_name_in_different_objects_is_no_duplicate(data):
    """Only one object's own names are compared, character by character."""
    assert json.loads(data) == read_json(data)


def test_a_duplicate_is_shown_with_both_places():
    """Line and column of both, so that nobody has to search."""
    with pytest.raises(EvidenceProblem) as caught:
        read_json(b'{"x": {"b": 1,\n  "c": [{"b": 1}], "\\u0062": 2}}')
    assert (
        'the name "b" stands twice in one object, at line 1 column 8 and line 2 column 20 [duplicate-key]'
        == str(caught.value)
    )


def test_a_fault_is_shown_with_its_place_and_without_terminal_escapes():
    """A hostile record cannot repaint the terminal that shows its error."""
    with pytest.raises(EvidenceProblem) as caught:
        read_json(b'{"a": 1}\n\x1b[31m\xe2\x80\xaeok')
    assert r'not JSON at line 2 column 1: found "\x1b[31m\u{202e}ok"' == caught.value.message


def test_a_truncated_text_says_so():
    """Half an upload is not mistaken for a wrong one."""
    with pytest.raises(EvidenceProblem) as caught:
        read_json(b'{"a": [1,\n')
    assert "not JSON at line 2 column 1: the text ends before the value does" == caught.value.message


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":[1,'])
@pytest.mark.parametrize("count", [65, 1_000, 100_000])
def test_depth_is_refused_before_anything_recurses(opening, count):
    """Closed or not, and however deep: never a RecursionError."""
    closing = {b"[": b"]", b'{"a":': b"1}", b'[{"a":[1,': b"]}]"}[opening]
    assert ("too-deep", False) == code_of(opening * count)
    assert ("too-deep", False) == code_of(opening * count + closing * count)


def test_whole_characters_may_be_written_as_two_escapes():
    """Two halves in order are one character; an escaped backslash begins no escape."""
    assert ["\U0001f600", "\\ud800", "é"] == read_json(rb'["\ud83d\uDE00", "\\ud800", "\u00e9"]')


def test_depth_is_counted_exactly():
    """64 open at once are read, 65 are not; brackets in texts do not count."""
    assert code_of(b"[" * 65 + b"]" * 65)[0] == "too-deep"
    read_json(b"[" * 64 + b"]" * 64)
    wide = [[], {"a": {}}] * 100
    assert wide == read_json(json.dumps(wide).encode(), Limits(max_depth=3))
    assert code_of(json.dumps(wide).encode(), Limits(max_depth=2))[0] == "too-deep"
    texts = ["[" * 99, '"[{', '\\"[', "\\\\[", '["[[\\', "]]]"]
    assert texts == read_json(json.dumps(texts).encode(), Limits(max_depth=1))


def test_size_is_counted_in_bytes_before_anything_else():
    """At the limit it is read, a byte above it is not."""
    limits = Limits(max_bytes=4)
    assert "é" == read_json('"é"'.encode(), limits)
    assert ("too-large", False) == code_of('"é" '.encode(), limits)
    assert ("too-large", False) == code_of(b"\xff" * 5, limits)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"1.0", 1),
        (b"10e-1", 1),
        (b"1E3", 1000),
        (b"-0", 0),
        (b"-0.0", 0),
        (b"0e999", 0),
        (b"9007199254740991", MAX_SAFE_INTEGER),
        (b"-9007199254740991.0", -MAX_SAFE_INTEGER),
        (b"1e21", 1e21),
        (b"0.1", 0.1),
        (b"5e-324", 5e-324),
        (b"true", True),
    ],
)
def test_numbers_are_values_not_spellings(data, value):
    """1.0 and 1 are one number, and a whole number is an int."""
    read = read_json(data)
    assert (value, type(value)) == (read, type(read))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}', True),
        (b'{"a":1}\n', False),
        (b'{"b":1,"a":1}', False),
        (b"1.0", False),
        (b"-0", False),
        (rb'"\u0041"', False),
    ],
)
def test_canonical_bytes_are_recognised(data, expected):
    """One value has one text, without a line end."""
    assert expected == is_canonical(data)


def test_names_are_sorted_by_utf16_code_units():
    """A name beyond the basic plane comes before one at its end, unlike in code point order."""
    late, beyond = "\uff21", "\U0001d49c"
    assert f'{{"{beyond}":1,"{late}":2}}'.encode() == write_json({late: 2, beyond: 1})


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (MAX_SAFE_INTEGER + 1, "number-out-of-range"),
        ([-(10**5000)], "number-out-of-range"),
        (float("nan"), "number-out-of-range"),
        ({"a": float("-inf")}, "number-out-of-range"),
        (2.0**53, "number-out-of-range"),
        ("\ud800", "not-utf8"),
        ({"\ud800": 1}, "not-utf8"),
        ({"\ud800": 0.5}, "not-utf8"),
        ({1: 1}, "not-json"),
        ({None: 1}, "not-json"),
        (b"a", "not-json"),
        ({1, 2}, "not-json"),
        (object(), "not-json"),
    ],
)
def test_a_value_without_canonical_form_is_not_written(value, code):
    """Nothing is written that could not be read back."""
    with pytest.raises(EvidenceProblem) as caught:
        write_json(value)
    assert code == caught.value.code


def test_a_value_that_is_too_deep_or_holds_itself_is_not_written():
    """What the reader would refuse is refused by the writer."""
    ring: list[object] = []
    ring.append(ring)
    for value in (ring, json.loads("[" * 65 + "]" * 65)):
        with pytest.raises(EvidenceProblem, match="too-deep"):
            write_json(value)
    assert b"[" * 64 + b"]" * 64 == write_json(json.loads("[" * 64 + "]" * 64))
    assert b"[" * 63 + b"0" + b"]" * 63 == write_json(json.loads("[" * 63 + "0" + "]" * 63))


@given(VALUES)
def test_what_is_written_reads_back_as_it_was(value):
    """Reading undoes writing, and the bytes are canonical."""
    data = write_json(value)
    assert value == read_json(data)
    assert is_canonical(data)


@given(VALUES)
def test_both_writers_agree(value):
    """The fast path writes what the rfc8785 package writes."""
    assert rfc8785.dumps(value) == write_json(value)


@given(VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_canonical_form_does_not_depend_on_layout(value, ascii_only, indent):
    """Spaces, escapes and the order of names leave no trace."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, sort_keys=False)
    assert write_json(value) == write_json(read_json(text.encode()))


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(2.0**-24)
@example(5e-324)
@example(9.999999999999999e22)
@example(1e-4)
@example(math.nextafter(1e-4, 0))
@example(2.0**52 - 0.5)
def test_doubles_are_written_as_ecmascript_writes_them(number):
    """Against Number::toString as ECMA-262 words it, over the shortest digits."""
    if number.is_integer() and MAX_SAFE_INTEGER < abs(number) < 1e21:
        return
    assert ecmascript(number) == write_json(number).decode()


def ecmascript(number: float) -> str:
    """Number::toString (ECMA-262 §6.1.6.1.20) from the digits and exponent of the shortest decimal."""
    if number == 0:
        return "0"
    digits, n = _shortest(abs(number))
    k, sign = len(digits), "-" if number < 0 else ""
    if k <= n <= 21:
        return sign + digits + "0" * (n - k)
    if 0 < n <= 21:
        return sign + digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return sign + "0." + "0" * -n + digits
    shown = f"e{'+' if n > 0 else '-'}{abs(n - 1)}"
    return sign + digits[0] + ("." + digits[1:] if k > 1 else "") + shown


def _shortest(number: float) -> tuple[str, int]:
    """Digits s and exponent n with number = 0.s times 10^n: s as short as possible, then as close as possible.

    Both neighbours of each length are tried: below a power of two the correctly rounded one may miss.
    """
    with decimal.localcontext(decimal.Context(prec=1200)):
        exact = decimal.Decimal(number)
        for length in range(1, 18):
            step = decimal.Decimal(10) ** (exact.adjusted() + 1 - length)
            below = (exact / step).to_integral_value(decimal.ROUND_FLOOR)
            fitting = [digits for digits in (below, below + 1) if float(digits * step) == number]
            if fitting:
                closest = min(fitting, key=lambda digits: abs(digits * step - exact))
                shown = str(int(closest))
                return shown.rstrip("0"), exact.adjusted() + 1 + len(shown) - length
    raise AssertionError(number)


@given(st.binary(max_size=60))
def test_hostile_bytes_are_refused_by_name_or_read(data):
    """Nothing but our own error, whatever the bytes."""
    assert outcome_of(data) in CODES


def outcome_of(data: bytes) -> str:
    """The code with which the bytes are refused, or ``read``."""
    try:
        read_json(data)
    except EvidenceProblem as problem:
        return problem.code
    return "read"


CODES = {
    "read",
    "not-json",
    "not-utf8",
    "byte-order-mark",
    "duplicate-key",
    "number-out-of-range",
    "too-deep",
    "too-large",
    "empty",
}
PIECES = st.sampled_from(
    [
        *'{}[]:,"\\ \n',
        '"a"',
        '"a":',
        "1",
        "-",
        "0",
        ".5",
        "e9",
        "e400",
        "null",
        "true",
        "NaN",
        r"\u0061",
        r"\ud800",
        r"\udc00",
        "é",
        "😀",
        "\x00",
        "\ufeff",
        "[[[",
        "]]]",
        "9007199254740993",
        "//",
    ]
)


def oracle(text: str) -> object:
    """A second strict reader: the standard library with hooks, checked value by value afterwards."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    def integer(digits: str) -> int:
        assert abs(int(digits)) < 2**53
        return int(digits)

    def real(digits: str) -> float:
        value = float(digits)
        assert abs(value) < 2**53 or 1e21 <= abs(value) < float("inf")
        assert value or not set(digits.lower().split("e")[0]) & set("123456789")
        return value

    def constant(_: str) -> None:
        raise AssertionError

    value = json.loads(
        text, object_pairs_hook=unique, parse_int=integer, parse_float=real, parse_constant=constant
    )
    json.dumps(value, ensure_ascii=False).encode()
    assert depth_of(value) <= 3
    return value


def depth_of(value: object) -> int:
    """Arrays and objects around the deepest scalar."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(st.lists(PIECES, max_size=14).map("".join) | VALUES.map(json.dumps))
def test_two_strict_readers_accept_the_same_texts(text):
    """Ours and the standard library with hooks agree on yes, no and the value."""
    try:
        expected = oracle(text)
    except (ValueError, AssertionError):
        with pytest.raises(EvidenceProblem):
            read_json(text.encode(), Limits(max_depth=3))
    else:
        assert expected == read_json(text.encode(), Limits(max_depth=3))
        assert expected == msgspec.json.decode(text)


@pytest.mark.parametrize("text", ["0", "-0", "0.0", "1e2", "100", "12345678901234567890", "1e400", "0.10"])
def test_numbers_can_be_read_as_they_are_spelled(text):
    """Nothing is out of range, and no two spellings are one."""
    assert [Spelled(text), {"a": Spelled(text)}] == read_spelled(f'[{text}, {{"a": {text}}}]'.encode())


@given(st.lists(PIECES, max_size=14).map("".join) | VALUES.map(json.dumps))
def test_the_spelling_reader_is_as_strict(text):
    """It refuses what the other refuses, but for numbers out of range."""
    codes = []
    for reader in (read_json, read_spelled):
        try:
            reader(text.encode(), Limits(max_depth=3))
            codes.append("")
        except EvidenceProblem as err:
            codes.append(err.code)
    assert codes[0] == codes[1] or codes[0] == "number-out-of-range"
