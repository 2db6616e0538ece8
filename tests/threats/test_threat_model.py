# SPDX-License-Identifier: Apache-2.0
"""Every row of the threat model names a test that exists, and every expected failure has its row."""

import ast
import re
from pathlib import Path

from truegreen.wiring.rehearsal.ways import WAYS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "threat-model.md"
ROW = re.compile(r"^\| (\d+) \|.*\| `(tests/[\w/]+\.py)::(\w+)(?:\[([\w-]+)\])?` \|$", re.MULTILINE)


def rows():
    """Number, file, test and parameter of each row."""
    return ROW.findall(PAGE.read_text(encoding="utf-8"))


def names_in(path):
    """Names of the tests in a file."""
    syntax = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        node.name
        for node in syntax.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_all_rows_are_there_in_order():
    """Twenty-six rows, none twice, none lost in the table's syntax."""
    assert [str(number) for number in range(1, 27)] == [number for number, *_ in rows()]


def test_every_row_names_a_test_that_exists():
    """A row without a test is a promise without one."""
    assert [] == [(path, name) for _, path, name, _ in rows() if name not in names_in(path)]


def test_every_way_that_a_row_names_is_tried():
    """A parameter of a row is a row of the self-test."""
    ways = {way.id for way in WAYS}
    assert [] == [way for _, path, _, way in rows() if way and way not in ways]


def test_every_expected_failure_has_its_row():
    """What is expected to fail is said on the page."""
    named = {name for _, path, name, _ in rows() if path.endswith("test_later.py")}
    assert named == names_in("tests/threats/test_later.py")
