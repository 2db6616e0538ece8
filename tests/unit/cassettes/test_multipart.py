# SPDX-License-Identifier: Apache-2.0
"""Multipart bodies as parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.cassettes.multipart import Part, boundary_of, joined, parts_of

PART = Part(
    headers=(("content-disposition", 'form-data; name="file"; filename="a.bin"'),), data=b"\x00\r\n--x\xff"
)


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=3))
def test_parts_come_back_whole(contents):
    """Whatever bytes they hold."""
    parts = tuple(Part(headers=(("content-type", "text/plain"),), data=one) for one in contents)
    assert parts == parts_of(joined(parts, "bound-4c2f91"), "bound-4c2f91")


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("multipart/form-data; boundary=abc", "abc"),
        ('multipart/form-data; charset=x; BOUNDARY="a b"', "a b"),
        ("multipart/form-data", None),
    ],
)
def test_the_boundary_is_found(content_type, expected):
    """Bare or in quotes."""
    assert expected == boundary_of(content_type)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"preamble\r\n--b\r\na: b\r\n\r\nx\r\n--b--",
        b"--b\r\na: b\r\n\r\nx\r\n",
        b"--b\r\na: b\r\n\r\nx\r\n--b-",
        b"--b\r\nno blank line\r\n--b--",
        b"--b\r\nno colon\r\n\r\nx\r\n--b--",
        b"--b\r\n\xff: b\r\n\r\nx\r\n--b--",
        b"--b a: b\r\n\r\nx\r\n--b--",
    ],
)
def test_what_is_not_strictly_parts_is_none(body):
    """It is keyed as bytes then."""
    assert parts_of(body, "b") is None


def test_no_parts_are_parts_too():
    """An empty form."""
    assert () == parts_of(b"--b--\r\n", "b")
