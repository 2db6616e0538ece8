# SPDX-License-Identifier: Apache-2.0
"""The observer's page names every class, reason and cache header that the code knows."""

import re
from pathlib import Path

from truegreen.core import wire
from truegreen.core.wire import WireClass
from truegreen.observer.cache_marks import table

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "observer.md").read_text(encoding="utf-8")
VALUES = {"present": "any", "positive": "a number above zero"}


def test_every_class_and_reason_stands_on_the_page():
    """Read out of the source, so that a new one is missed here."""
    source = Path(wire.__file__).read_text(encoding="utf-8")
    reasons = set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', source))
    assert {"closed-without-end", "client-closed-first"} < reasons
    assert [] == sorted(word for word in reasons if f"`{word}`" not in PAGE)
    assert [] == [kind.value for kind in WireClass if f"`{kind.value}`" not in PAGE]


def test_every_cache_header_stands_on_the_page():
    """With its words and its source."""
    for mark in table().values():
        words = VALUES.get(mark.says) or ", ".join(f"`{word}`" for word in sorted(mark.words))
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{mark.header}` |"))
        _, _, value, source, _ = [cell.strip() for cell in row.split("|")]
        assert (set(words.split(", ")), mark.source) == (set(value.split(", ")), source)
