# SPDX-License-Identifier: Apache-2.0
"""Runs cases and reports how many answers agree.

What it decides: the report. What it leaves: reading the folder and printing, to wiring and the command line.

- Beside our own score stand four that know nothing: always admit, hold, block or retry. A score that is no
  better than theirs shows nothing.
- An input that no shape has is ``unsupported`` and a file that is no case ``unreadable``: neither ever agrees.
- Two files with one id are both unreadable: their results could not be told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from truegreen.conformance.agreement import compare
from truegreen.conformance.case import Case, read_case
from truegreen.conformance.shapes import UNSUPPORTED, Answer, Shape, answer
from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted

UNREADABLE = "unreadable"
CONSTANTS = ("admit", "hold", "block", "retry")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One case and what came of it."""

    id: str
    """Its id; the file's name where the file is no case."""
    part: str
    """Its part."""
    expected: dict[str, Any]
    """``verdict`` and ``expect``, as the file has them."""
    found: dict[str, Any]
    """``verdict`` and ``facts``, as the product says."""
    agrees: bool
    """Verdict and every computed fact are right."""
    is_verdict_right: bool
    """The verdict alone is right."""
    not_computed: tuple[str, ...]
    """Expected facts that were not computed."""
    detail: str
    """What differs, or why there is no answer."""

    @property
    def is_answered(self) -> bool:
        """Whether the product gave an answer."""
        return self.found["verdict"] not in (UNSUPPORTED, UNREADABLE)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All results, by id."""

    results: tuple[Result, ...]
    """One for each file."""

    @property
    def summary(self) -> dict[str, Any]:
        """Counts over all cases, and verdicts beside those of constant answers over the answered ones."""
        answered = [one for one in self.results if one.is_answered]
        verdicts = Counter(one.expected["verdict"] for one in answered)
        return {
            "cases": len(self.results),
            "answered": len(answered),
            "agree": sum(one.agrees for one in answered),
            "disagree": sum(not one.agrees for one in answered),
            "unsupported": sum(one.found["verdict"] == UNSUPPORTED for one in self.results),
            "unreadable": sum(one.found["verdict"] == UNREADABLE for one in self.results),
            "verdicts_right": {
                "ours": sum(one.is_verdict_right for one in answered),
                **{f"always-{word}": verdicts[word] for word in CONSTANTS},
            },
        }

    @property
    def as_json(self) -> dict[str, Any]:
        """The report as JSON: ``cases`` and ``summary``."""
        return {
            "cases": [
                {
                    "id": one.id,
                    "expected": one.expected,
                    "found": one.found,
                    "agrees": one.agrees,
                    "detail": one.detail,
                }
                for one in self.results
            ],
            "summary": self.summary,
        }


def text_lines(report: Report) -> Iterator[str]:
    """The report for people: a line a case, then the counts."""
    for one in report.results:
        word = ("agrees" if one.agrees else "DIFFERS") if one.is_answered else one.found["verdict"]
        yield f"{word:<11} {quoted(one.id, 100)[1:-1]}" + (f": {one.detail[:300]}" if one.detail else "")
    total = report.summary
    yield ""
    yield (
        f"{total['agree']} of {total['answered']} answered cases agree, {total['disagree']} differ; "
        f"{total['unsupported']} unsupported and {total['unreadable']} unreadable of {total['cases']}"
    )
    right = ", ".join(f"{name} {count}" for name, count in total["verdicts_right"].items())
    yield f"verdicts right among the answered: {right}"


def run(files: Iterable[tuple[str, bytes]], shapes: Sequence[Shape]) -> Report:
    """The report over files, given as name and bytes."""
    read = [_read(name, data) for name, data in files]
    ids = Counter(one.id for one in read)
    results = [
        _unreadable(one.id, "two files have this id") if ids[one.id] > 1 else _result(one, shapes)
        for one in read
    ]
    return Report(results=tuple(sorted(results, key=lambda one: one.id)))


def _read(name: str, data: bytes) -> Case | Result:
    try:
        return read_case(data, name=name)
    except UsageProblem as err:
        return _unreadable(name, err.message)


def _unreadable(name: str, detail: str) -> Result:
    return Result(
        id=name,
        part="",
        expected={},
        found={"verdict": UNREADABLE, "facts": {}},
        agrees=False,
        is_verdict_right=False,
        not_computed=(),
        detail=detail,
    )


def _result(case: Case | Result, shapes: Sequence[Shape]) -> Result:
    if isinstance(case, Result):
        return case
    found: Answer = answer(case.input, shapes)
    agreement = compare(found, verdict=case.verdict, expect=case.expect)
    said = [*agreement.differing, found.detail]
    if agreement.not_computed:
        names = ", ".join(quoted(name, 40)[1:-1] for name in agreement.not_computed)
        said.append(f"not computed: {names}")
    return Result(
        id=case.id,
        part=case.part,
        expected={"verdict": case.verdict, "expect": dict(case.expect)},
        found={"verdict": found.verdict, "facts": found.facts},
        agrees=agreement.agrees,
        is_verdict_right=agreement.is_verdict_right,
        not_computed=agreement.not_computed,
        detail="; ".join(filter(None, said)),
    )
