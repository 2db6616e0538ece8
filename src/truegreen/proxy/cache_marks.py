# SPDX-License-Identifier: Apache-2.0
"""Whether response headers say that a response cache answered.

What it decides: which headers are marks, by the table ``cache_marks.toml`` (each row with its source). What it
leaves: the consequence (a marked answer is no sample), to the sampler.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

MAX_SHOWN: Final = 80
WORD: Final = re.compile(r"[a-z0-9_]+")
NUMBER: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?", re.ASCII)
SPEAKER: Final = re.compile(r"\bfrom \S+")  # "MISS from hit.example" is a miss


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """One row of the table."""

    header: str
    """Name in lower case."""
    says: str
    """``word``, ``present`` or ``positive``."""
    words: frozenset[str]
    """For ``word``: the words that mean a hit."""
    source: str
    """Where the header is documented."""

    def is_in(self, value: str) -> bool:
        """Whether this value says that a cache answered."""
        text = value.strip().lower()
        if self.says == "present":
            return bool(text)
        if self.says == "positive":
            return bool(NUMBER.fullmatch(text)) and float(text) > 0
        return not self.words.isdisjoint(WORD.findall(SPEAKER.sub("", text)))


@cache
def table() -> dict[str, Mark]:
    """The table by header name."""
    text = (files("truegreen.proxy") / "cache_marks.toml").read_text(encoding="utf-8")
    rows = [
        Mark(
            header=row["header"],
            says=row["says"],
            words=frozenset(row.get("words", ())),
            source=row["source"],
        )
        for row in tomllib.loads(text)["mark"]
    ]
    return {row.header: row for row in rows}


def marks_in(headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Marks among ``(name, value)`` headers with lower-case names, as ``name: value``, sorted."""
    marks = table()
    found = {
        f"{name}: {value.strip()[:MAX_SHOWN]}"
        for name, value in headers
        if name in marks and marks[name].is_in(value)
    }
    return tuple(sorted(found))
