# SPDX-License-Identifier: Apache-2.0
"""What this version would change in a folder of recordings: nothing, or which files and why.

What it decides: whether a file is read, keyed and written by this version as it stands. What it leaves: changing
files; there is one version of file and key so far, so nothing ever has to be.

- A file is **current** if it is read, has this version's key and schema, and would be written with the same bytes.
- Every other file is told: a key of another version, a schema of another version, other bytes, or what is wrong.
- No release changes a key or a reading silently: pinned recordings in the tests hold this version to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from truegreen.cassettes.cassette import SCHEMA
from truegreen.cassettes.cassette_file import sealed, write_cassette
from truegreen.cassettes.key import KEY_SCHEMA
from truegreen.cassettes.upkeep.listing import Seen

CURRENT: Final = "current"
OTHER_BYTES: Final = "would-be-rewritten"
OTHER_KEY: Final = "would-be-keyed-anew"
OF_OTHER_VERSION: Final = frozenset({"cassette-key-schema"})
"""Codes of the reader for a recording that another version made."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One file under this version."""

    file: str
    """Its name."""
    state: str
    """``current``, ``would-be-rewritten``, ``would-be-keyed-anew``, or the code of what is wrong with it."""
    message: str = ""
    """The sentence about it."""


def standing(looked: Iterable[tuple[Seen, bytes]]) -> tuple[Standing, ...]:
    """Each file, with its bytes, under this version."""
    return tuple(_standing(one, data) for one, data in looked)


def versions() -> tuple[str, str]:
    """Version of the file and of the key that this version writes."""
    return SCHEMA, KEY_SCHEMA


def _standing(one: Seen, data: bytes) -> Standing:
    if one.cassette is None:
        state = OTHER_KEY if one.problem in OF_OTHER_VERSION else one.problem
        return Standing(file=one.file, state=state, message=one.message)
    if write_cassette(sealed(one.cassette)) != data:
        sentence = "it says the same in other bytes: spacing, order or escapes"
        return Standing(file=one.file, state=OTHER_BYTES, message=sentence)
    return Standing(file=one.file, state=CURRENT)
