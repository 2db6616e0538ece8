# SPDX-License-Identifier: Apache-2.0
"""The page: its head, its size, and that hostile text stays code. Whole pages stand under tests/golden/screens."""

import re

import msgspec
import pytest
from hypothesis import given, settings

from factories import decisions as made
from factories.hostile import MARKER, hostile_decisions
from simulators.forge_page import page_from
from simulators.github_runner import commands_in
from truegreen.core.decision import Cause
from truegreen.core.outcome import Outcome, Word
from truegreen.report.markdown import COMMENT_BYTES, ROWS, SUMMARY_BYTES, markdown_of

OURS = {
    *("h3", "p", "ul", "li", "strong", "code", "pre", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


def _head(page):
    return page.partition("<details>")[0]


def test_the_head_says_what_broke_whose_it_is_and_what_to_do():
    """Five seconds: the case, the counts, what they prove, the owner, the action."""
    head = _head(markdown_of(made.broken_case()))
    assert head.startswith(
        "### BLOCK `test_tone` never passed here: 0 of 5\n\nowner `@ana` · fix it, or: truegreen why\n"
    )
    assert (
        "| `test_tone` | 0 of 5 | works at most 46 % of the time (95 % sure) | `@ana` | never passed |"
        in head
    )
    assert "**You can:** fix the code and push · reproduce: `truegreen sample --check tests/llm/" in head


@pytest.mark.parametrize("defect", sorted(made.DEFECTS))
def test_the_head_has_no_jargon(defect):
    """Codes, digests and attempts stand in the last fold only."""
    if defect == "hostile-names":
        return
    head = _head(markdown_of(made.DEFECTS[defect]()))
    assert [] == re.findall(r"sha256|digest|attempt|seal|\bcase-\w+", head)


def test_a_flaky_case_offers_quarantine():
    """Where an excuse could count, it is named; for a broken case it is not."""
    assert "quarantine the unsteady case" in markdown_of(made.flaky_case())
    assert "quarantine the" not in _head(markdown_of(made.broken_case()))


def test_an_agent_is_told_what_it_must_not_edit():
    """Case, answer, command, and every file that judges."""
    [fold] = [
        part for part in markdown_of(made.several_defects()).split("<details>") if "coding agent" in part
    ]
    assert "- case `tests/llm/test_notes.py::test_tone`: passed 0 of 5\n" in fold
    assert "reproduce: `truegreen sample --check 'tests/llm/test_notes.py::test_json[de]'`" in fold
    for name in (
        "tests/llm/test_notes.py",
        "truegreen.toml",
        "truegreen.baseline.json",
        ".github/workflows/truegreen.yml",
    ):
        assert f"`{name}`" in fold.partition("Do not edit what judges: ")[2]


def test_where_no_case_failed_an_agent_is_told_so():
    """It gets the cause and the command, and no case to change."""
    page = markdown_of(made.outage())
    assert "This is not about a case: endpoint down: 31 of 40 calls failed" in page


def test_an_admit_is_its_line_and_one_fold():
    """No cause, no table, nothing to do."""
    page = markdown_of(made.admit())
    assert page.startswith(
        "### ADMIT 12 of 12 cases pass (each better than half the time)\n\n74 calls, 26 s · `3f2c1d9`\n"
    )
    assert 1 == page.count("<details>")
    assert "You can" not in page


@pytest.mark.parametrize("defect", sorted(made.DEFECTS))
def test_every_page_is_well_formed(defect):
    """Folds open and close, and there is nothing but what we use."""
    page = page_from(markdown_of(made.DEFECTS[defect]()))
    assert ([], [], set()) == (page.unclosed, page.comments, page.attributes - {"code class"})
    assert page.tags <= OURS


@given(hostile_decisions())
@settings(max_examples=40)
def test_hostile_text_is_code_wherever_it_stands(decision):
    """No element, link, mention or fold comes from a test, a model or a file name; printed, no command."""
    markdown = markdown_of(decision)
    page = page_from(markdown)
    assert MARKER not in page.outside
    assert ([], [], set()) == (page.unclosed, page.comments, page.attributes - {"code class"})
    assert page.tags <= OURS
    assert [] == commands_in(markdown)
    markdown.encode()


def _large(count, detail="x" * 400):
    rows = tuple(made.broken(f"test_{n:05}[{'é' * 80}]", detail=detail) for n in range(count))
    causes = tuple(made.of_case(row, Word.BLOCK) for row in rows)
    files = tuple(made.seen(name=f"{n}.truegreen.json") for n in range(count))
    return made.decision(Word.BLOCK, causes, (made.lane(rows, Outcome.FAILS, "case-broken"),), files=files)


@pytest.mark.parametrize(
    ("count", "limit"),
    [(3, SUMMARY_BYTES), (600, 256 * 1024), (300, COMMENT_BYTES)],
)
def test_a_page_is_below_its_limit_and_says_what_it_left_out(count, limit):
    """In bytes of UTF-8, folds closed, with the number of rows that are missing."""
    text = markdown_of(_large(count), limit)
    assert len(text.encode()) < limit
    assert [] == page_from(text).unclosed
    assert (count > 3) == (f"Left out to stay below {limit // 1024} KiB: " in text)
    if count > 3:
        rows = next(rows for rows in ROWS if f"{count - rows} cases, " in text)
        assert f"{count - rows} answers" in text
        assert "the decision's record has everything" in text


def test_as_much_is_shown_as_fits():
    """A page is not cut to its smallest form when a larger one has room."""
    assert len(markdown_of(_large(300), COMMENT_BYTES).encode()) > COMMENT_BYTES / 10


def test_a_page_without_room_is_its_word_and_a_notice():
    """Even then folds are whole, since there are none."""
    assert "### BLOCK\n\nThe page is left out: the decision's record has everything.\n" == markdown_of(
        made.broken_case(), 200
    )


def test_what_else_is_wrong_is_listed_with_its_action():
    """Causes that are no case's stand below the table; notes do not."""
    head = _head(markdown_of(made.several_defects()))
    assert "- tests are gone without a word (1): `tests/llm/test_notes.py::test_old` · name them in" in head
    assert "one that the change can edit" not in head


def test_a_case_that_the_rows_do_not_have_is_told_as_a_cause():
    """A cause about an unknown case is not lost."""
    lead = made.of_lane("never-started")
    other = Cause(
        code="case-flaky", word=Word.HOLD, lane="model-tests", case="gone", facts={"passed": 1, "asked": 2}
    )
    head = _head(markdown_of(made.decision(Word.HOLD, (lead, other))))
    assert "- `gone` is unsteady: 1 of 2 passed" in head


def test_a_missing_tip_is_said():
    """An unknown base is not an empty pair of backticks."""
    told = msgspec.structs.replace(made.no_policy(), about=made.about(base_tip="", workflow=""))
    assert "at an unknown commit" in markdown_of(told)
