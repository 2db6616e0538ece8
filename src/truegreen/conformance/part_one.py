# SPDX-License-Identifier: Apache-2.0
"""Shapes of part 1: repeated samples of model-backed cases.

What it decides: how such an input becomes calls of the product's functions, and their results a verdict. What it
leaves: every judgement, to the functions that wiring hands in.

| shape | keys | admit | block | hold |
|---|---|---|---|---|
| one answer | expectations, output or sample | the answer passes | it fails | it is no evidence |
| k of n | policy (n, k), samples | k passed | k is out of reach | undecided |
| parameter ids | base_params, head_params | ids carry history | never | an id depends on its neighbours, means something else, or is gone with its history |

Evidence that contradicts itself blocks; a policy that cannot be used holds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from truegreen.conformance.ports import Compare, Counter, Judge, Judged, Quorum, Row, RowReader
from truegreen.conformance.shapes import UNSUPPORTED, Answer, has_keys
from truegreen.core.errors import EvidenceProblem, TruegreenProblem, UsageProblem

SAMPLE_KEYS = frozenset(
    {"sample", "i", "n", "index", "status", "verdict", "passed", "reward", "http", "error_category"}
    | {"finish_reason", "stop_reason", "output"}
)
"""What the row of one sample may say."""
NUMBER_KEYS = ("sample", "i", "n", "index")
"""Keys under which a row has its number."""
LONGEST_LITERAL = 10_000
"""Characters of a list of parameters."""
_BRACKETED = re.compile(r"\[(?P<id>.*)\]$", re.DOTALL)


class OneAnswer:
    """One output, or one sample with its output, judged by expectations."""

    name = "one answer"

    def __init__(self, judge: Judge, read_row: RowReader) -> None:
        """Judges with the product's own functions."""
        self._judge = judge
        self._read_row = read_row

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Expectations beside an output or a sample."""
        return any(
            has_keys(given, needed=frozenset({"expectations", key}), known=SAMPLE_KEYS - {"verdict"})
            and isinstance(given["expectations"], Mapping)
            for key in ("output", "sample")
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit what passes, block what fails, hold what is no evidence."""
        sample = given["sample"] if isinstance(given.get("sample"), Mapping) else given
        output = sample.get("output", given.get("output"))
        if not sample.keys() <= SAMPLE_KEYS | {"note", "notes", "comment", "expectations"}:
            return Answer(verdict=UNSUPPORTED, detail="the sample has keys that no shape reads")
        if _says_more_than_its_output(sample):
            row = self._read_row(sample, 1, 1.0)
            if row.bucket != "pass":
                return _of_row(row)
        if not isinstance(output, str):
            return Answer(verdict=UNSUPPORTED, detail="there is no output to judge")
        ended = sample.get("finish_reason", sample.get("stop_reason"))
        try:
            judged = self._judge(given["expectations"], output, ended)
        except UsageProblem as err:
            return Answer(verdict=UNSUPPORTED, detail=err.message)
        return _of_judgement(judged)


class KOfN:
    """Rows of samples, of which k of n have to pass."""

    name = "k of n"

    def __init__(self, read_row: RowReader, count: Counter, quorum: Quorum) -> None:
        """Counts with the product's own functions."""
        self._read_row = read_row
        self._count = count
        self._quorum = quorum

    def fits(self, given: Mapping[str, Any]) -> bool:
        """A policy with n, and rows whose every key is known."""
        if not has_keys(given, needed=frozenset({"policy", "samples"})):
            return False
        policy, rows = given["policy"], given["samples"]
        return (
            isinstance(policy, Mapping)
            and has_keys(policy, needed=frozenset({"n"}), known=frozenset({"k", "threshold"}))
            and isinstance(rows, Sequence)
            and all(isinstance(row, Mapping) and row.keys() <= SAMPLE_KEYS | {"note"} for row in rows)
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit when k passed, block when k is out of reach, hold in between."""
        policy, rows = given["policy"], given["samples"]
        n, k = policy["n"], policy.get("k", policy["n"])
        full = policy.get("threshold", 1)
        if (
            not all(type(one) is int for one in (n, k))
            or isinstance(full, bool)
            or not isinstance(full, int | float)
        ):
            return Answer(verdict=UNSUPPORTED, detail="n, k and threshold are no numbers")
        try:
            samples = [self._read_row(row, number, float(full)) for row, number in _numbered(rows)]
            counted = self._count(samples, n)
            unknown = counted.outage + counted.invalid + counted.missing
            ruling = self._quorum(counted.passed, unknown, k, n)
        except EvidenceProblem as err:
            return _of_problem(err, "block" if err.contradictory else "hold")
        except UsageProblem as err:
            return _of_problem(err, "hold")
        facts = {
            "passed": counted.passed,
            "failed": counted.failed,
            "errored": counted.outage + counted.invalid,
            "infra": counted.outage,
            "invalid": counted.invalid,
            "missing": counted.missing,
            "sum": counted.passed + counted.failed + unknown,
            "n": n,
            "k": k,
            "rate_over_n": counted.passed / n,
            "can_still_reach_k": ruling != "fail",
        }
        return Answer(verdict={"pass": "admit", "fail": "block"}.get(ruling, "hold"), facts=facts)


class ParameterIds:
    """Two versions of a list of parameters, and history that is kept by their ids."""

    name = "parameter ids"

    def __init__(self, compare: Compare) -> None:
        """Compares with the product's own function."""
        self._compare = compare

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Parameters of base and head."""
        needed = frozenset({"base_params", "head_params"})
        return has_keys(given, needed=needed, known=frozenset({"ledger_history"}))

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit where history can be joined by id, hold where it cannot."""
        base, head = _parameters(given["base_params"]), _parameters(given["head_params"])
        history = given.get("ledger_history", {})
        if base is None or head is None or not isinstance(history, Mapping):
            return Answer(verdict=UNSUPPORTED, detail="the parameters are no list of plain values")
        moved = self._compare(base, head)
        unstable = moved.base.unstable | moved.head.unstable
        lost = {found["id"] for name in history if (found := _BRACKETED.search(name))} & set(moved.gone)
        facts = {
            "base_ids": list(moved.base.ids),
            "head_ids": list(moved.head.ids),
            "same_ids_different_case": bool(moved.changed_meaning),
            "unstable_ids": sorted(unstable),
            "gone_ids": list(moved.gone),
        }
        if moved.is_stable and not lost:
            return Answer(verdict="admit", facts=facts)
        code = "tests-removed" if moved.is_stable else "unstable-id"
        return Answer(verdict="hold", facts={**facts, "reason": code})


def _says_more_than_its_output(sample: Mapping[str, Any]) -> bool:
    status = str(sample.get("status", "ok")).lower()
    return (
        status not in ("ok", "done", "success", "completed") or "http" in sample or "error_category" in sample
    )


def _of_row(row: Row) -> Answer:
    if row.bucket == "fail":
        return Answer(verdict="block", facts={"sample": "fail", "reason": row.reason})
    return Answer(verdict="hold", facts={"sample": "no_evidence", "reason": row.reason})


def _of_judgement(judged: Judged) -> Answer:
    verdict, sample = {
        "passed": ("admit", "pass"),
        "failed": ("block", "fail"),
        "invalid": ("hold", "no_evidence"),
    }[judged.outcome]
    facts = {**judged.facts, "sample": sample}
    if not judged.reasons:
        return Answer(verdict=verdict, facts=facts)
    first = judged.reasons[0]
    facts |= {"reason": first.code} | ({"where": first.where} if first.where else {})
    return Answer(verdict=verdict, facts=facts, detail="; ".join(one.detail for one in judged.reasons))


def _of_problem(problem: TruegreenProblem, verdict: str) -> Answer:
    return Answer(verdict=verdict, facts={"reason": problem.code}, detail=problem.message)


def _numbered(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], int]]:
    """Rows with numbers from 1: their own, shifted if any of them is 0, or their place."""
    own = [next((row[key] for key in NUMBER_KEYS if type(row.get(key)) is int), None) for row in rows]
    shift = 1 if 0 in own else 0
    return [
        (row, place if number is None else number + shift)
        for place, (row, number) in enumerate(zip(rows, own, strict=True), start=1)
    ]


def _parameters(given: Any) -> list[Any] | None:
    """A list of plain values, or the Python text of one."""
    if isinstance(given, str) and len(given) <= LONGEST_LITERAL:
        try:
            given = ast.literal_eval(given.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    return list(given) if isinstance(given, list | tuple) else None
