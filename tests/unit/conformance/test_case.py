# SPDX-License-Identifier: Apache-2.0
"""Case files with right answers."""

from __future__ import annotations

import pytest

from truegreen.conformance.case import read_case
from truegreen.core.errors import UsageProblem

WHOLE = """\
id: p01-x
title: A title
part: 1
source: [somewhere]
what_happened: |
  Something.
input:
  answer: no
right_answer:
  verdict: hold
  expect: {n: 1}
  why: Because.
trap: A trap.
verified_by: reasoned
"""


def test_a_case_is_its_input_and_its_right_answer():
    """Values mean what YAML 1.2 says; text for people is left alone."""
    case = read_case(WHOLE.encode(), name="c.yaml")
    assert ("p01-x", "1", {"answer": "no"}) == (case.id, case.part, case.input)
    assert ("hold", {"n": 1}) == (case.verdict, case.expect)


def test_little_is_needed():
    """Id, input and the verdict."""
    case = read_case(b"id: a\ninput: {}\nright_answer: {verdict: admit}\n", name="c.yaml")
    assert ("", {}) == (case.part, case.expect)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        WHOLE + "---\n" + WHOLE,
        WHOLE + "extra: 1\n",
        WHOLE.replace("verdict: hold", "verdict: perhaps"),
        WHOLE.replace("verdict: hold", "word: hold"),
        WHOLE.replace("input:\n  answer: no", "input: text"),
        WHOLE.replace("expect: {n: 1}", "expect: [n]"),
        WHOLE.replace("id: p01-x", "id: 5"),
        WHOLE.replace("id: p01-x", "id: ''"),
    ],
)
def test_what_is_no_case_is_refused(text):
    """Nothing is guessed from half a case."""
    with pytest.raises(UsageProblem) as caught:
        read_case(text.encode(), name="c.yaml")
    assert "bad-conformance-case" == caught.value.code
