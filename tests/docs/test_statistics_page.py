# SPDX-License-Identifier: Apache-2.0
"""The page about statistics: every table is what the product's own rules give."""

import re
from pathlib import Path

import pytest
from statistics_tables import ORDINARY, TABLES, outcomes, percent

from truegreen.sampling.sequential import smoke
from truegreen.sampling.states import State

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "statistics.md").read_text(encoding="utf-8")
CAP_PAGE = (DOCS / "adr" / "0003-cap-of-the-smoke-rule.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_page_is_computed(name):
    """``python tests/docs/statistics_tables.py`` prints what belongs there."""
    shown = re.search(rf"<!-- table: {name} -->\n\n((?:\|.*\n)+)", PAGE)
    assert list(TABLES[name]()) == (shown[1].splitlines() if shown else [])


def test_no_table_of_the_page_is_made_by_hand():
    """Every table has its mark."""
    assert len(TABLES) == len(re.findall(r"^\|---", PAGE, re.MULTILINE)) == PAGE.count("<!-- table: ")


def test_the_figures_of_the_text_are_computed():
    """What stands in sentences: a case at .95 under 5 of 5."""
    assert "in 23 of 100 runs" in PAGE
    assert 0.226 == round(1 - 0.95**5, 3)


@pytest.mark.parametrize("cap", [20, 25, 30, 33, 38, 60])
def test_the_reasons_for_the_cap_are_computed(cap):
    """Each row of the decision record: admitted, undecided, samples, worst case."""
    rule = smoke(cap=cap)
    rows = [(count, *outcomes(rule, p)) for count, p in ORDINARY]
    admitted = 1.0
    for count, found, _ in rows:
        admitted *= found[State.STABLE_PASS] ** count
    undecided = 1 - (1 - outcomes(rule, 0.95)[0][State.INCONCLUSIVE]) ** 12
    samples = sum(count * each for count, _, each in rows)
    worst = max(outcomes(rule, hundredths / 100)[1] for hundredths in range(50, 96))
    cells = [percent(admitted), f"{undecided * 100:.2f} %", f"{samples:.1f}", f"{worst:.1f}"]
    (row,) = re.findall(rf"^\| \**{cap}\** \| (.*) \|$", CAP_PAGE, re.MULTILINE)
    assert cells == [cell.strip("* ") for cell in row.split("|")]
