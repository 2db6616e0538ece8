# SPDX-License-Identifier: Apache-2.0
"""The endpoint's page lists every key that a scenario may have, from the table that the reader uses."""

from pathlib import Path

import pytest

from truegreen.endpoint.scenario_keys import LISTS, TABLES

PAGE = Path(__file__).parents[2] / "docs" / "endpoint.md"


def _header(name):
    return "at the top" if not name else f"`[[{name}]]`" if name in LISTS else f"`{name}`"


def _rows(name):
    for key, row in TABLES[name].items():
        asked = row.shape.words().replace("|", "\\|")
        yield f"| `{key}` | {asked} | {row.meaning}{' (required)' if row.is_required else ''} |"


@pytest.mark.parametrize("name", TABLES)
def test_every_key_stands_on_the_page(name):
    """With its shape in the reader's words, under the heading of its table."""
    text = PAGE.read_text(encoding="utf-8")
    wanted = "\n".join([f"{_header(name)}:", "", "| key | value | meaning |", "|---|---|---|", *_rows(name)])
    assert wanted in text
