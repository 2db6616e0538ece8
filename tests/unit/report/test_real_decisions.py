# SPDX-License-Identifier: Apache-2.0
"""Decisions of the real gate, on an honest pull request and on every known way to fool it, as people see them."""

import os

import pytest

from simulators.forge_page import page_from
from simulators.github_runner import commands_in
from truegreen.report.as_json import read_decision
from truegreen.report.explained import explain_decision, shown_plain
from truegreen.report.github import annotations_of, log_of
from truegreen.report.line import LIMIT, line_of
from truegreen.report.markdown import markdown_of
from truegreen.report.reasons import reason_of
from truegreen.report.sentence import names_in
from truegreen.report.story import Story
from truegreen.wiring.gate import decision_record
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import decide_stage, try_way
from truegreen.wiring.rehearsal.ways import WAYS

ENVIRONMENT = {"PATH": os.environ["PATH"]}
NAMES = ("honest", *(way.id for way in WAYS))


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """The gate's decision by the name of the way."""
    folder = tmp_path_factory.mktemp("stage")
    actors = honest(folder, ENVIRONMENT)
    made = {"honest": decide_stage(actors.stage, folder / "honest", ENVIRONMENT)}
    return made | {way.id: try_way(way, actors, folder / way.id, ENVIRONMENT) for way in WAYS}


@pytest.mark.parametrize("name", NAMES)
def test_no_sentence_lacks_a_fact(decided, name):
    """The gate brings every fact that the catalogue's words need: no reader meets a question mark."""
    story = Story(decided[name])
    for cause in (*story.causes, *story.decision.notes):
        reason = reason_of(cause.code)
        sentences = (reason.line, reason.cause, *reason.next)
        needed = frozenset[str]().union(*(names_in(text, needed=True) for text in sentences))
        assert (cause.code, set()) == (cause.code, needed - story.facts(cause).keys())


@pytest.mark.parametrize("name", NAMES)
def test_every_form_of_it_is_sound(decided, name):
    """The line fits, the page is well formed, the log holds our annotations and nothing else, the record reads back."""
    decision = decided[name]
    assert (decision.line, True) == (line_of(decision), len(decision.line) <= LIMIT)
    assert [] == page_from(markdown_of(decision)).unclosed
    assert [one.message for one in annotations_of(decision)] == [
        one.data for one in commands_in(log_of(decision))
    ]
    assert decision == read_decision(decision_record(decision, "test"))[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_reason_is_explained_with_what_it_rests_on(decided, name):
    """Cause, command and rule are told; the leading cause of an admit names its records."""
    told = explain_decision(Story(decided[name]))
    assert [] == [one.reason.code for one in told if not (one.paragraph(shown_plain) and one.commands())]
    if name == "honest":
        assert any("digest" in piece for piece in told[0].evidence)
