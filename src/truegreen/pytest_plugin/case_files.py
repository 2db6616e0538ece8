# SPDX-License-Identifier: Apache-2.0
"""Which YAML files are case files.

What it decides: whether a file is read as cases. What it leaves: reading it, to ``sampling.case_file``.

- A file named on the command line, and every YAML file in a folder called ``cases``, is one.
- Any other below a lane's tests is one if its top level, or that of its list items, has at least two of the
  keys ``id``, ``input``, ``prompt`` and ``expect``: a misspelt key makes an error, not a file that nobody reads.
- Everything else is data and left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

SUFFIXES = frozenset({".yaml", ".yml"})
FOLDER = "cases"
KEYS = ("id", "input", "prompt", "expect")
ENOUGH = 2
READ_CHARS = 65_536
_KEY = rf"[\"']?(?P<key>{'|'.join(KEYS)})[\"']?\s*:"
_TOP_KEY = re.compile(rf"^{_KEY}", re.MULTILINE)
_ITEM_KEY = re.compile(rf"^(?:-\s+| +){_KEY}", re.MULTILINE)
_FLOW_KEY = re.compile(rf"[{{,]\s*{_KEY}")

_PATTERNS = ((("{", "["), _FLOW_KEY), ("-", _ITEM_KEY), ("", _TOP_KEY))
"""How a document may begin, and where its keys stand then; the first that fits."""


def is_case_file(path: Path, places: Iterable[Path]) -> bool:
    """Whether the file is read as cases, if it lies at or below one of these absolute places."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    holders = [place for place in places if path == place or place in path.parents]
    if not holders:
        return False
    return path in holders or path.parent.name == FOLDER or looks_like_cases(_beginning(path))


def looks_like_cases(text: str) -> bool:
    """Whether enough of a case's keys stand at the top."""
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "---"))
    ]
    first = lines[0].lstrip() if lines else ""
    pattern = next(found for start, found in _PATTERNS if first.startswith(start))
    return len({found["key"] for found in pattern.finditer("\n".join(lines))}) >= ENOUGH


def _beginning(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(READ_CHARS).removeprefix("\ufeff")
    except OSError:
        return ""
