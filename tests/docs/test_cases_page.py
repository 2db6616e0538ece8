# SPDX-License-Identifier: Apache-2.0
"""The page about cases: its cases are read, its answers are judged, its tables name every key."""

import json
import re
from pathlib import Path

import pytest

from truegreen.sampling import case_file, expectations
from truegreen.sampling.case_file import read_case_file
from truegreen.sampling.expect import judge
from truegreen.sampling.expect_read import expect_of

PAGE = (Path(__file__).parents[2] / "docs" / "cases.md").read_text(encoding="utf-8")
CASES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
ANSWERS = re.findall(r"^\| `(\{.*?\})` \| `(.*?)` \| (passed|failed)(?:: ([a-z-]+))? \|$", PAGE, re.MULTILINE)


def _first_column(heading):
    table = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}


@pytest.mark.parametrize("text", CASES)
def test_every_case_of_the_page_is_read(text, tmp_path):
    """In a repository that has the files which the page names."""
    for name in ("cases/mail.txt", "prompts/reply.md", "fixtures/changelog.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text\n", encoding="utf-8")
    file = tmp_path / "cases" / "c.yaml"
    file.write_text(text, encoding="utf-8")
    assert [] != read_case_file(file, tmp_path)


@pytest.mark.parametrize(("expect", "answer", "outcome", "code"), ANSWERS)
def test_every_answer_of_the_page_is_judged_as_it_says(expect, answer, outcome, code):
    """Outcome and leading reason."""
    judgement = judge(expect_of(json.loads(expect)), answer)
    assert (outcome, code) == (judgement.outcome, judgement.reasons[0].code if judgement.reasons else "")


def test_the_page_has_examples():
    """A table that is written otherwise would silently test nothing."""
    assert (2, 18) == (len(CASES), len(ANSWERS))


def test_the_page_names_every_key():
    """Keys of a case and of its expectations, no more and no fewer."""
    assert set(case_file.KEYS) == _first_column("Keys of a case")
    assert set(expectations.KEYS) == _first_column("Expectations")
    settings = PAGE.split("| `settings` |")[1].split("\n")[0]
    assert set(case_file.SETTINGS) == set(re.findall(r"`([a-z_]+)`", settings))
