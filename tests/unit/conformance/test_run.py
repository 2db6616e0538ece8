# SPDX-License-Identifier: Apache-2.0
"""The report over a folder of cases, and the scores of answers that know nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from truegreen.conformance.run import Result, run, text_lines
from truegreen.wiring.conformance import run_folder, shapes

HERE = Path(__file__).parents[2] / "conformance"
SOURCE = Path(__file__).parents[3] / "src"


def case(verdict: str, output: str, *, name: str = "x", expect: str = "{}") -> bytes:
    """A case file about one answer."""
    return (
        f"id: {name}\ninput:\n  expectations: {{format: json, required_keys: [a]}}\n  output: '{output}'\n"
        f"right_answer:\n  verdict: {verdict}\n  expect: {expect}\n"
    ).encode()


def of_part(number: str, folder: str = "cases") -> list[Result]:
    """The results of one part."""
    return [one for one in run_folder(HERE / folder).results if one.part == number]


def test_every_case_of_the_first_part_agrees():
    """JUnit is not read yet; everything else is answered, and right in verdict and facts."""
    answered = [one for one in of_part("1") if one.is_answered]
    assert 10 == len(answered)
    assert [] == [one.id for one in answered if not one.agrees or one.not_computed]
    assert ["p01-junit-rerun-rows-look-like-passes"] == [
        one.id for one in of_part("1") if not one.is_answered
    ]


def test_every_case_of_the_fourth_part_agrees():
    """All are answered; what is not computed is prose, and a text that nobody keeps."""
    assert 9 == len(of_part("4"))
    assert [] == [one.id for one in of_part("4") if not one.agrees]
    assert ["null_means", "text_seen"] == sorted(name for one in of_part("4") for name in one.not_computed)


def test_every_case_of_the_fifth_part_agrees():
    """All are answered, and nothing that is expected is left uncomputed."""
    assert 9 == len(of_part("5"))
    assert [] == [one.id for one in of_part("5") if not one.agrees or one.not_computed]


def test_every_case_has_a_mended_neighbour_that_comes_out_otherwise():
    """A little changed, another verdict: no answer hangs on how a case looks."""
    cases = {one.id: one for one in run_folder(HERE / "cases").results}
    mended = {one.id.removesuffix("-mended"): one for one in run_folder(HERE / "mended").results}
    assert cases.keys() == mended.keys()
    for name, one in mended.items():
        assert one.agrees
        assert cases[name].expected["verdict"] != one.found["verdict"]
        assert cases[name].found["verdict"] != one.found["verdict"]


def test_nothing_of_a_case_stands_in_the_source():
    """No id, title or output of a case occurs in the product's code."""
    source = "\n".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py"))
    for file in (HERE / "cases").glob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        for name in ("id", "title", "output"):
            for value in re.findall(rf"^\s*{name}: (.{{12,}})$", text, re.MULTILINE):
                assert value.strip("'\"") not in source


def test_constant_answers_are_scored_beside_ours():
    """Three cases of two verdicts: always hold has one right, always block two."""
    files = [
        ("a.yaml", case("block", "{}", name="a")),
        ("b.yaml", case("block", "[]", name="b")),
        ("c.yaml", case("admit", '{"a": 1}', name="c")),
    ]
    right = run(files, shapes()).summary["verdicts_right"]
    constants = {"always-admit": 1, "always-hold": 0, "always-block": 2, "always-retry": 0}
    assert {"ours": 3, **constants} == right


def test_a_right_verdict_for_a_wrong_reason_does_not_agree():
    """The verdict alone is counted apart."""
    report = run([("a.yaml", case("block", "{}", expect="{reason: not_json}"))], shapes())
    summary = report.summary
    assert (0, 1, 1) == (summary["agree"], summary["disagree"], summary["verdicts_right"]["ours"])
    assert 'reason "missing-key", right is "not_json"' in report.results[0].detail


def test_unreadable_and_unsupported_never_agree():
    """A broken file, two files with one id, an input without a shape."""
    files = [
        ("broken.yaml", b"id: [a"),
        ("one.yaml", case("admit", '{"a": 1}', name="twice")),
        ("two.yaml", case("admit", '{"a": 1}', name="twice")),
        ("strange.yaml", b"id: s\ninput: {x: 1}\nright_answer: {verdict: hold}\n"),
    ]
    report = run(files, shapes())
    assert (4, 0, 1, 3) == tuple(
        report.summary[name] for name in ("cases", "answered", "unsupported", "unreadable")
    )
    assert [False] * 4 == [one.agrees for one in report.results]


def test_the_report_has_the_documented_fields():
    """Cases with id, expected, found, agrees and detail, and a summary."""
    (row,) = run([("a.yaml", case("block", "{}", expect="{missing: [a], colour: red}"))], shapes()).as_json[
        "cases"
    ]
    assert {"id", "expected", "found", "agrees", "detail"} == row.keys()
    assert ({"verdict": "block", "expect": {"missing": ["a"], "colour": "red"}}, True) == (
        row["expected"],
        row["agrees"],
    )
    assert (["a"], "not computed: colour") == (
        row["found"]["facts"]["missing"],
        row["detail"].split("; ")[-1],
    )


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ([("a.yaml", case("block", "{}"))], "agrees"),
        ([("a.yaml", case("admit", "{}"))], "DIFFERS"),
        ([("a.yaml", b"id: s\ninput: {x: 1}\nright_answer: {verdict: hold}\n")], "unsupported"),
        ([("a.yaml", b"\xff")], "unreadable"),
    ],
)
def test_a_line_a_case_and_the_counts(files, word):
    """What people read first."""
    lines = list(text_lines(run(files, shapes())))
    assert lines[0].startswith(word)
    assert lines[-1].startswith("verdicts right among the answered: ours ")
