# SPDX-License-Identifier: Apache-2.0
"""The catalogue of reasons: whole, strict, and readable."""

import re

import pytest

from truegreen.core.decision import Cause
from truegreen.core.errors import EvidenceProblem
from truegreen.core.outcome import Word
from truegreen.report.reasons import (
    ALWAYS,
    LONGEST_ACTION,
    catalogue,
    facts_of,
    nearest,
    read_catalogue,
    reason_of,
)

ENTRY = """
[late-bus]
stage = "decide"
word = "hold"
facts = ["minutes"]
title = "Late"
line = "{case} is {minutes} late"
cause = "It is   late:\\n {minutes}."
action = "wait"
next = ["truegreen sample {case}"]
rule = "Buses are on time."
"""


def test_an_entry_is_read_with_its_code_and_in_one_line():
    """White space of the file's layout does not reach a reader."""
    [reason] = read_catalogue(ENTRY).values()
    assert ("late-bus", "It is late: {minutes}.") == (reason.code, reason.cause)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Late"\n', "", "title"),
        ('title = "Late"', 'title = "Late"\ntitel = "Late"', "titel"),
        ('title = "Late"', "title = 3", "title"),
        ('title = "Late"', 'title = ""', "a text is empty"),
        ("[late-bus]", "[Late_bus]", "lower-case words"),
        ("\n[late-bus]", 'retired = ["late-bus"]\n[late-bus]', "retired"),
        ('"decide"', '"later"', "not one of"),
        ('"hold"', '"stop"', "take only"),
        ('"hold"', '"hold"\nalso = ["stop"]', "take only"),
        ("{minutes} late", "{hours} late", "hours in braces"),
        ("sample {case}", "sample {file}", "file in braces"),
        ('"wait"', '"wait {minutes}"', "no facts"),
        ('"wait"', f'"{"w" * (LONGEST_ACTION + 1)}"', "longer than"),
        ('"wait"', '""', "without an action"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_refused(old, new, said):
    """Unknown and missing keys, wrong types, undeclared facts, retired codes: each by name."""
    assert old in ENTRY
    with pytest.raises(EvidenceProblem) as caught:
        read_catalogue(ENTRY.replace(old, new))
    assert ("bad-catalogue", True) == (caught.value.code, said in caught.value.message)


def test_a_value_where_an_entry_belongs_is_refused():
    """A key at the top that is no table is not skipped."""
    with pytest.raises(EvidenceProblem, match="'late' is no table"):
        read_catalogue(f"late = 1\n{ENTRY}")


def test_the_line_of_a_reason_has_no_jargon():
    """The line speaks to a person who has five seconds: no seals, digests or attempts."""
    jargon = re.compile(
        r"\b(?:seal|digest|attempt|ruler|subject|harness|payload|sha|schema|canonical)", re.IGNORECASE
    )
    spoken = {
        code: re.sub(r"\{\w+\}", "", f"{reason.line} {reason.action}") for code, reason in catalogue().items()
    }
    assert [] == [code for code, words in spoken.items() if jargon.search(words)]


def test_every_code_has_a_line_and_a_command():
    """No reader is left without a next step."""
    assert [] == [code for code, reason in catalogue().items() if not (reason.line and reason.next)]


@pytest.mark.parametrize("code", ["bus-of-the-future", "Not Kebab", "a]\nstage = 1\n[b", ""])
def test_an_unknown_code_still_reads_as_a_sentence(code):
    """A decision of a newer version is shown, not refused; what is no code at all finds no entry by accident."""
    reason = reason_of(code)
    assert (code, "Unknown reason") == (reason.code, reason.title)
    assert "code" in reason.facts


def test_facts_of_a_cause_have_lane_case_and_owner():
    """Fields of the cause count as facts; what the gate gives stands over them."""
    cause = Cause(code="c", word=Word.HOLD, lane="l", facts={"n": 1, "owner": "@given"})
    assert {"lane": "l", "code": "c", "n": 1, "owner": "@given"} == facts_of(cause, owner="@row")
    assert {"lane", "case", "owner"} == ALWAYS


def test_nearest_codes_are_those_that_look_alike():
    """A typing mistake finds its code; noise finds nothing."""
    assert "case-flaky" == nearest("case-flakey")[0]
    assert "CASE-BROKEN".lower() == nearest("CASE-BROKEN")[0]
    assert () == nearest("xyzzy")


@pytest.mark.parametrize("code", catalogue())
def test_an_entry_read_alone_is_the_entry(code):
    """Reading one entry without the others gives the same words."""
    assert catalogue()[code] == reason_of(code)
