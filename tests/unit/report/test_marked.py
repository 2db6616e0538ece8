# SPDX-License-Identifier: Apache-2.0
"""Untrusted text in Markdown, read back from the page that it becomes."""

import pytest
from hypothesis import given

from factories.hostile import MARKER, TEXTS
from simulators.forge_page import page_from
from truegreen.report.defused import cut, cut_middle, lines_of, plain, shell_word
from truegreen.report.marked import (
    BLOCK_COLUMNS,
    BLOCK_LINES,
    SHOWN_CHARACTERS,
    cell,
    code,
    command,
    fact,
    fenced,
    shell_fact,
    table,
    title,
    words,
)


def _shown(text):
    return cut_middle(plain(text), SHOWN_CHARACTERS)


@given(TEXTS)
def test_in_a_paragraph_it_is_one_stretch_of_code(text):
    """Nothing of it is text, an element, a comment or the end of anything."""
    page = page_from(f"before {code(text)} after")
    assert "before  after" == page.outside.strip()
    assert [_shown(text)] == page.inside
    assert ({"p", "code"}, set(), []) == (page.tags, page.attributes, page.comments)


@given(TEXTS, TEXTS)
def test_in_a_table_it_stays_in_its_cell(one, other):
    """Pipes do not end the cell, backticks do not reach the next one."""
    page = page_from("\n".join(table(("a", "b"), [(cell(one), cell(other))])))
    assert [_shown(one), _shown(other)] == page.inside
    assert {"table", "thead", "tbody", "tr", "th", "td", "code"} == page.tags
    assert "ab" == page.outside.replace("\n", "")


@given(TEXTS)
def test_in_a_block_it_is_the_block(text):
    """No fence inside ends it."""
    page = page_from("\n".join(["before", "", *fenced([text]), "", "after"]))
    wanted = [cut(part, BLOCK_COLUMNS) for part in lines_of(text)[:BLOCK_LINES]]
    assert "\n".join(wanted) + "\n" == page.inside[-1]
    assert MARKER not in page.outside
    assert {"p", "pre", "code"} == page.tags


@given(TEXTS)
def test_in_a_title_it_is_code(text):
    """Neither title nor fold end early."""
    page = page_from(f"<details><summary>x {title(text)}</summary>\n\nin it\n\n</details>")
    assert [_shown(text)] == page.inside
    assert {"details", "summary", "code", "p"} == page.tags
    assert [] == page.unclosed


@given(TEXTS)
def test_in_a_command_it_is_one_word(text):
    """The command is code whole; what a shell makes of the word is tested with ``shell_word``."""
    page = page_from(f"run: {command('truegreen sample ' + shell_fact('case', text))}")
    assert [f"truegreen sample {shell_word(cut(text, BLOCK_COLUMNS))}"] == page.inside
    assert MARKER not in page.outside


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("plain", "`plain`"),
        ("", ""),
        ("   ", ""),
        ("a`b", "`` a`b ``"),
        ("`", "`` ` ``"),
        (" a ", "`  a  `"),
        ("a``b```c", "```` a``b```c ````"),
        ("a|b", "`a|b`"),
        ("@ana", "`@ana`"),
    ],
)
def test_a_span_has_a_fence_that_it_does_not_hold(text, markdown):
    """Longer than any run inside, with spaces where the ends would be read otherwise."""
    assert markdown == code(text)


def test_words_of_ours_are_no_code():
    """A sentence about bounds reads as one; anything that could be more is code."""
    assert "works at most 46 % of the time (95 % sure)" == words("works at most 46 % of the time (95 % sure)")
    assert ["`a.b`", "`@ana`", "`a\\|b`"] == [words("a.b"), words("@ana"), words("a|b", in_table=True)]


def test_numbers_are_numbers():
    """A count is not code."""
    assert ["3", "`x`"] == [fact("n", 3), fact("n", "x")]


def test_a_table_without_rows_is_nothing():
    """A head alone says nothing."""
    assert [] == table(("a",), [])
