# SPDX-License-Identifier: Apache-2.0
"""Conformance: the shapes with the product's functions in them, and the files of a folder.

- Case files are the ``*.yaml`` and ``*.yml`` regular files of the folder and the folders below it, by name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from truegreen.conformance import part_four
from truegreen.conformance.case import LIMITS
from truegreen.conformance.part_one import KOfN, OneAnswer, ParameterIds
from truegreen.conformance.run import Report, run
from truegreen.conformance.shapes import Shape
from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted
from truegreen.sampling import foreign, param_ids
from truegreen.sampling.expect import Judgement, judge
from truegreen.sampling.expect_read import expect_of
from truegreen.sampling.ledger import Sample
from truegreen.sampling.quorum import check_quorum, quorum
from truegreen.wiring import conformance_limits, conformance_recordings
from truegreen.wiring.reading import bytes_of

SUFFIXES = (".yaml", ".yml")


def shapes() -> tuple[Shape, ...]:
    """Every shape of this version, with the product's own functions."""
    return (
        OneAnswer(judge=_judge, read_row=_row),
        KOfN(read_row=_row, count=foreign.counted, quorum=_quorum),
        ParameterIds(compare=param_ids.moved),
        part_four.OneRequest(conformance_limits.bucket),
        part_four.RequestsAtOnce(conformance_limits.bucket),
        part_four.Contract(conformance_limits.bucket),
        part_four.TwoLayers(conformance_limits.stack),
        part_four.ToldWaits(conformance_limits.rule),
        part_four.Exchanges(conformance_limits.rule),
        part_four.AnAnswer(conformance_limits.read),
        *conformance_recordings.shapes(),
    )


def run_folder(folder: Path) -> Report:
    """The report over the case files of a folder.

    Raises: UsageProblem ``no-cases`` if it is no folder or holds none; ReachProblem ``file-unreadable``.
    """
    files = list(_files(folder)) if folder.is_dir() else []
    if not files:
        raise UsageProblem("no-cases", f"{quoted(str(folder))} holds no file named *.yaml or *.yml")
    return run(files, shapes())


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for above, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = Path(above, name)
            if file.suffix.lower() in SUFFIXES and file.is_file():
                yield file.relative_to(folder).as_posix(), bytes_of(file, LIMITS.max_bytes + 1)


def _judge(expectations: Mapping[str, Any], output: str, ended: str | None) -> Judgement:
    return judge(expect_of(expectations), output, finish_reason=ended)


def _row(row: Mapping[str, Any], number: int, full_reward: float) -> Sample:
    return foreign.sample_of_row(row, number, full_reward=full_reward)


def _quorum(passed: int, unknown: int, needed: int, n: int) -> str:
    check_quorum(needed, n)
    return quorum(passed, unknown, needed=needed).value
