# SPDX-License-Identifier: Apache-2.0
"""Measures the promises about speed and size, prints them beside their targets and writes them as JSON.

usage: run.py [--json FILE] [ROW ...]

A ROW is the name of a module in ``rows``; without one all are measured. Exit 0 if every row is met, 1 if one
misses its target or was not measured, 2 if there is no such row.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import measuring
from rows import (
    cassettes,
    gate,
    limiter,
    limiter_remote,
    limiter_together,
    proxy,
    retries,
    sampling,
    start_up,
)

ROWS: tuple[ModuleType, ...] = (
    start_up,
    gate,
    sampling,
    limiter,
    limiter_together,
    retries,
    proxy,
    cassettes,
    limiter_remote,
)
"""Modules with a function ``rows(folder)``, in the order of the table. ``folder`` is theirs for this run."""

SCHEMA = "truegreen/bench/v1"
COLUMNS = "{:<44} {:<34} {:>8} {:>8} {:>8} {:>8}  {}"


def main() -> int:
    """Measure, print, write."""
    asked = _arguments()
    known = {_name(module): module for module in ROWS}
    unknown = [name for name in asked.rows if name not in known]
    if unknown:
        print(f"bench: no row {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    print(COLUMNS.format("ours", "÷ peer", "min", "median", "max", "target", "state"))
    results = []
    for name in asked.rows or known:
        with tempfile.TemporaryDirectory(prefix="truegreen-bench-") as folder:
            for row in known[name].rows(Path(folder)):
                results.append(measuring.measured(row))
                print(line(results[-1]), flush=True)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(document(results), indent=2) + "\n", encoding="utf-8")
    print(f"written to {asked.json}")
    return code(results)


def code(results: list[measuring.Result]) -> int:
    """0 if there is a row and every one is met."""
    return 0 if results and all(result.is_met for result in results) else 1


def line(result: measuring.Result) -> str:
    """One line of the table."""
    row, ratio = result.row, result.ratio
    shown = [f"{value:.2f}" for value in (ratio.least, ratio.median, ratio.most)] if ratio else ["-"] * 3
    state = f"{result.word}: {result.missing}" if result.missing else result.word
    return COLUMNS.format(row.name, row.peer_name, *shown, f"≤ {row.target:g}", state)


def document(results: list[measuring.Result]) -> dict[str, object]:
    """The results with what they depend on."""
    return {
        "schema": SCHEMA,
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cpus": os.cpu_count(),
        },
        "rows": [_row(result) for result in results],
    }


def _row(result: measuring.Result) -> dict[str, object]:
    spreads = {"ours": result.ours, "peer": result.peer, "ratio": result.ratio}
    return {
        "name": result.row.name,
        "peer_name": result.row.peer_name,
        "unit": result.row.unit,
        "rounds": result.row.rounds,
        "target": result.row.target,
        "state": result.word,
        "missing": result.missing,
        **{key: asdict(spread) if spread else None for key, spread in spreads.items()},
    }


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Measured ratios beside their targets.")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
