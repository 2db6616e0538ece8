# SPDX-License-Identifier: Apache-2.0
"""Explanations for pages and tools."""

import json

from hypothesis import given, settings

from factories import decisions as made
from factories.hostile import MARKER, TEXTS, hostile_decisions
from simulators.forge_page import page_from
from simulators.github_runner import commands_in
from truegreen.core.outcome import Outcome, Word
from truegreen.report.explained import explain_code, explain_decision
from truegreen.report.explanation_pages import MOST, SCHEMA, explanation_json, explanation_markdown
from truegreen.report.line import line_of
from truegreen.report.reasons import catalogue
from truegreen.report.story import Story

SOUND = TEXTS.map(lambda text: text.encode("utf-8", "replace").decode())
"""A record is UTF-8: half a character cannot be read out of one."""


def test_the_json_has_what_the_screen_has_and_the_facts_as_they_were():
    """Versioned, with the decision's digest and line."""
    decision = made.broken_case()
    told = json.loads(
        explanation_json(explain_decision(Story(decision)), line_of(decision), made.digest("d"))
    )
    assert (SCHEMA, made.digest("d"), line_of(decision)) == (told["schema"], told["decision"], told["line"])
    lead, note = told["reasons"]
    assert ("case-broken", "block", "fix it", "note") == (
        lead["code"],
        lead["word"],
        lead["action"],
        note["word"],
    )
    assert (0, 5) == (lead["facts"]["passed"], lead["facts"]["asked"])
    assert made.digest("a") == lead["evidence"][1]["record"]


def test_a_code_alone_has_no_decision():
    """Empty line, no digest."""
    told = json.loads(explanation_json([explain_code(catalogue()["case-flaky"])]))
    assert ("", None, ["case-flaky"]) == (
        told["line"],
        told["decision"],
        [one["code"] for one in told["reasons"]],
    )


def test_the_markdown_names_cause_action_command_rule_and_evidence():
    """A section a reason, the decision's line above."""
    decision = made.broken_case()
    text = explanation_markdown(explain_decision(Story(decision)), line_of(decision))
    assert text.startswith("### `BLOCK test_tone never passed here: 0 of 5 ·")
    for part in (
        "#### case-broken (block): Never passed\n",
        "- Owner: `@ana`\n- Next: fix it\n- Command: `truegreen sample --check tests/llm/test_notes.py::test_tone`\n",
        "- Evidence: lane `model-tests`, part `all`, run 4711, attempt 2, standing `present`",
    ):
        assert part in text


def test_very_many_reasons_and_pieces_are_shown_in_part():
    """The rest is counted."""
    rows = tuple(made.broken(f"t{n}") for n in range(MOST + 3))
    members = tuple(made.member(run_id=number) for number in range(30))
    lanes = (made.lane(rows, Outcome.FAILS, "x", members=members),)
    decision = made.decision(
        Word.BLOCK, tuple(made.of_case(row, Word.BLOCK) for row in rows), lanes, notes=()
    )
    text = explanation_markdown(explain_decision(Story(decision)))
    assert text.endswith("\n3 more reasons stand in the decision's record.\n")
    assert "- And 20 more pieces of evidence\n" in text


@given(hostile_decisions(text=SOUND))
@settings(max_examples=40)
def test_hostile_text_is_code_on_a_page_and_data_in_json(decision):
    """No element, link or mention; no command in either form."""
    told, line = explain_decision(Story(decision)), line_of(decision)
    markdown, as_json = explanation_markdown(told, line), explanation_json(told, line)
    page = page_from(markdown)
    assert MARKER not in page.outside
    assert page.tags <= {"h3", "h4", "p", "ul", "li", "code"}
    assert [] == commands_in(markdown) + commands_in(as_json)
    assert as_json.removesuffix("\n").isprintable()
    assert [one.facts for one in told] == [one["facts"] for one in json.loads(as_json)["reasons"]]
