# SPDX-License-Identifier: Apache-2.0
"""YAML where a cassette is asked: refused, and never loaded in a way that could run anything.

What it decides: whether bytes that are no JSON are YAML with a tag. What it leaves: importing other tools'
recordings, to the importer.

- A tag can name a function that a careless loader calls. It is refused by name (``yaml-tag``, contradictory), read
  from parser events, never from constructed objects.
"""

from __future__ import annotations

from typing import Final

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

MAX_BYTES: Final = 1 << 20
"""How much of a file is looked at."""


def tag_in(data: bytes) -> str | None:
    """The first tag of a YAML text, or None if it has none or is no YAML."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import, needed for files of other tools only
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - as above

    if b"!" not in data[:MAX_BYTES]:
        return None
    try:
        for event in YAML(typ="safe", pure=True).parse(data[:MAX_BYTES].decode("utf-8", "replace")):
            tag = getattr(event, "tag", None)
            if tag:
                return str(tag)
    except YAMLError:
        return None
    return None


def refuse_tags(data: bytes, name: str) -> None:
    """Refuse YAML with a tag.

    Raises: EvidenceProblem ``yaml-tag``.
    """
    tag = tag_in(data)
    if tag is not None:
        raise EvidenceProblem(
            "yaml-tag",
            f"{quoted(name)} holds the YAML tag {quoted(tag)}, which could run code when it is loaded; JSON is asked",
            contradictory=True,
        )
