# SPDX-License-Identifier: Apache-2.0
"""The table of what each layer stops; tests/threats/test_guards.py tries every cell."""

from pathlib import Path

from truegreen.guards import holds

PAGE = Path(__file__).parents[3] / "docs" / "guards.md"


def test_ids_are_given_once():
    """A row is one way."""
    ids = [row.id for row in holds.rows()]
    assert sorted(set(ids)) == sorted(ids)


def test_the_documentation_shows_the_table():
    """As it is read."""
    assert holds.page() in PAGE.read_text(encoding="utf-8")
