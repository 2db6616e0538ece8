# SPDX-License-Identifier: Apache-2.0
"""The page of reason codes."""

import re

from truegreen.report.codes_page import page_of, with_names
from truegreen.report.reasons import STAGES, catalogue


def test_every_code_is_a_heading_once():
    """Its name is its anchor."""
    assert sorted(catalogue()) == sorted(re.findall(r"^### (.*)$", page_of(catalogue()), re.MULTILINE))


def test_the_page_follows_the_gates_order():
    """Groups stand as the gate asks."""
    assert list(STAGES.values()) == re.findall(r"^## (.*)$", page_of(catalogue()), re.MULTILINE)


def test_a_group_without_codes_has_no_heading():
    """The page of one code has one group."""
    only = {"case-flaky": catalogue()["case-flaky"]}
    assert [STAGES["decide"]] == re.findall(r"^## (.*)$", page_of(only), re.MULTILINE)


def test_facts_stand_in_capitals():
    """As in the help of a command; optional parts are shown."""
    assert "run CASE on HOST" == with_names("run {case}[ on {host}]")
