# SPDX-License-Identifier: Apache-2.0
"""Ids of commits and trees."""

import pytest

from truegreen.core.subject import is_object_id


@pytest.mark.parametrize("length", [40, 64])
def test_a_whole_id_is_accepted(length):
    """SHA-1 and SHA-256, in lower case."""
    assert is_object_id("0123456789abcdef" * 4 if length == 64 else "0123456789abcdef" * 2 + "01234567")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1234567",
        "a" * 39,
        "a" * 41,
        "a" * 63,
        "a" * 65,
        "A" * 40,
        "g" * 40,
        "a" * 40 + "\n",
        "\n" + "a" * 40,
        "\u0661" * 40,
    ],
)
def test_anything_else_is_no_id(text):
    """Abbreviations, capitals, other digits and line ends."""
    assert not is_object_id(text)
